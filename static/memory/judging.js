/* A person's word on a memory: useful, outdated or wrong. The memory learns from it; a second press takes it back. */
import { el } from "../site/dom.js";
import { post, put, remove } from "../site/api.js";
import { toast } from "../site/toast.js";
import { say } from "../site/words.js";

const WORDS = ["useful", "outdated", "wrong"];
const MOST = 500; // that the server answers for at once
const known = new Map(); // memory: word, or null
const listeners = new Set();
const sending = new Map(); // memory: the promise of what is on its way to the server
let asked = new Set();

function note(id, word) {
  known.set(id, word);
  for (const listener of listeners) listener(id);
}

/** Ask once for all rows that are drawn together. What cannot be read is simply not shown: judging works all the same. */
function learn(id) {
  if (known.has(id)) return;
  known.set(id, null);
  if (!asked.size) queueMicrotask(fetchWords);
  asked.add(id);
}

async function fetchWords() {
  const ids = [...asked];
  asked = new Set();
  for (let start = 0; start < ids.length; start += MOST) {
    try {
      const { words } = await post("/api/labels/memories/", { memories: ids.slice(start, start + MOST) });
      for (const [id, word] of Object.entries(words)) note(id, word);
    } catch {
      return;
    }
  }
}

/** One after the other for each memory, so that the last press is the one that holds. */
export function judge(id, word, recall) {
  const turn = (sending.get(id) ?? Promise.resolve()).then(() => press(id, word, recall));
  sending.set(id, turn);
  return turn;
}

async function press(id, word, recall) {
  const before = known.get(id) ?? null;
  const path = `/api/labels/memories/${id}/`;
  note(id, before === word ? null : word);
  try {
    await (before === word ? remove(path) : put(path, { word, recall: recall ?? null }));
    const former = before && before !== word ? before : word; // said again it comes back, or goes
    toast(say(before === word ? "unjudged" : "judged"), { label: say("undo"), run: () => judge(id, former, recall) });
  } catch (error) {
    note(id, before);
    toast(error.message);
  }
}

/** The word that the person has said on a memory, as far as this page knows. */
export const wordOn = (id) => known.get(id) ?? null;

/** Three toggles for a memory's row; `recall` is the recall that it stands under, if any. */
export function judging(id, recall) {
  const buttons = WORDS.map((word) => el("button", { type: "button", class: "judgement", "aria-pressed": "false", title: say(`judge_${word}_title`), text: say(`judge_${word}`), on: { click: () => judge(id, word, recall) } }));
  const group = el("span", { class: "judging", role: "group", "aria-label": say("judging") }, ...buttons);
  const show = () => WORDS.forEach((word, i) => buttons[i].setAttribute("aria-pressed", String(known.get(id) === word)));
  const listener = (changed) => {
    if (!group.isConnected && group.dataset.seen) listeners.delete(listener);
    else if (changed === id) show();
    if (group.isConnected) group.dataset.seen = "1";
  };
  listeners.add(listener);
  learn(id);
  show();
  return group;
}
