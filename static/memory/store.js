/* What this page knows about memories since it was loaded: state, pin and the end of the undo window, by id.
   A memory can stand in many rows; each listens through `onChange` and shows the same. */
import { post } from "../site/api.js";
import { toast } from "../site/toast.js";
import { say } from "../site/words.js";

const LONGEST_TIMER = 2 ** 31 - 1; // a longer one would fire at once
const known = new Map();
const listeners = new Set();
const queues = new Map();

/** The row's own facts overlaid with what happened on this page. */
export function current(row) {
  return { ...row, ...known.get(row.memory ?? row.id) };
}

/** Call `listener(memoryId)` after each change; the answer stops that. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function note(id, facts) {
  known.set(id, { ...known.get(id), ...facts });
  for (const listener of listeners) listener(id);
}

/** Once its undo window closed, a forgotten memory is shown as erased. */
function watchUndo(id, until) {
  const left = Math.min(LONGEST_TIMER, Math.max(0, new Date(until).getTime() - Date.now()));
  window.setTimeout(() => {
    const isOver = known.get(id)?.state === "forgotten" && new Date(until).getTime() <= Date.now();
    if (isOver) note(id, { state: "erased", undo_until: null });
  }, left);
}

/** What a person does to one memory reaches the server in the order of the clicks: an Undo never overtakes its Forget. */
function inTurn(id, send) {
  const done = (queues.get(id) ?? Promise.resolve()).catch(() => {}).then(send);
  queues.set(id, done);
  return done;
}

async function act(id, verb, guess) {
  const before = known.get(id);
  if (guess) note(id, guess);
  try {
    const answer = await inTurn(id, () => post(`/api/memories/${id}/${verb}/`));
    const facts = answer.memory ? { state: answer.memory.state, pinned: answer.memory.pinned } : {};
    if (answer.memory?.text) facts.text = answer.memory.text;
    note(id, { ...facts, undo_until: answer.undo_until ?? null });
    if (answer.undo_until) watchUndo(id, answer.undo_until);
    return true;
  } catch (error) {
    known.set(id, before ?? {});
    note(id, {});
    toast(error.message);
    return false;
  }
}

export const pin = (id) => act(id, "pin", { pinned: true });
export const unpin = (id) => act(id, "unpin", { pinned: false });

export async function forget(id) {
  if (!(await act(id, "forget", { state: "forgotten" }))) return false;
  if (known.get(id).state !== "erased") note(id, { state: "forgotten" });
  toast(say("forgotten"), { label: say("undo"), run: () => unforget(id) });
  return true;
}

export async function unforget(id) {
  const done = await act(id, "unforget");
  if (done) toast(say("unforgotten"));
  return done;
}

export async function restore(id) {
  const done = await act(id, "restore");
  if (done) toast(say("restored"));
  return done;
}

export const settle = (id) => act(id, "settle", { doubt: null });

export async function erase(id) {
  const done = await act(id, "erase");
  if (done) note(id, { state: "erased", undo_until: null });
  return done;
}
