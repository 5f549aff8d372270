/* A person's thumb on a reply. The memory learns a little from it; a second press, or Undo, takes it back. */
import { el, iconButton } from "../../site/dom.js";
import { post, put, remove } from "../../site/api.js";
import { toast } from "../../site/toast.js";
import { say } from "../../site/words.js";

const THUMBS = ["up", "down"];
const MOST = 500; // that the server answers for at once
const known = new Map(); // turn: "up", "down" or null
const shown = new Map(); // turn: what draws its buttons; a turn that is drawn anew takes the place of its former self
let asked = new Set();

function note(turn, thumb) {
  known.set(turn, thumb);
  shown.get(turn)?.();
}

/** Ask once for all replies that are drawn together. What cannot be read is not shown: the thumbs work all the same. */
function learn(turn) {
  if (known.has(turn)) return;
  known.set(turn, null);
  if (!asked.size) queueMicrotask(fetchThumbs);
  asked.add(turn);
}

async function fetchThumbs() {
  const turns = [...asked];
  asked = new Set();
  for (let start = 0; start < turns.length; start += MOST) {
    try {
      const { thumbs } = await post("/api/labels/turns/", { turns: turns.slice(start, start + MOST) });
      for (const [turn, thumb] of Object.entries(thumbs)) note(turn, thumb);
    } catch {
      return;
    }
  }
}

async function raise(turn, thumb) {
  const before = known.get(turn) ?? null;
  const path = `/api/labels/turns/${turn}/`;
  note(turn, before === thumb ? null : thumb);
  try {
    await (before === thumb ? remove(path) : put(path, { thumb }));
    const former = before && before !== thumb ? before : thumb; // pressed again it comes back, or goes
    toast(say(before === thumb ? "thumb_lowered" : "thumb_raised"), { label: say("undo"), run: () => raise(turn, former) });
  } catch (error) {
    note(turn, before);
    toast(error.message);
  }
}

/** Two toggles for the foot of a reply. */
export function thumbs(turn) {
  const buttons = THUMBS.map((thumb) => iconButton(`thumb-${thumb}`, say(`thumb_${thumb}`), "thumb", () => raise(turn, thumb)));
  const group = el("span", { class: "thumbs", role: "group", "aria-label": say("thumbs") }, ...buttons);
  const show = () => {
    THUMBS.forEach((thumb, i) => buttons[i].setAttribute("aria-pressed", String(known.get(turn) === thumb)));
    group.toggleAttribute("data-raised", Boolean(known.get(turn)));
  };
  shown.set(turn, show);
  learn(turn);
  show();
  return group;
}
