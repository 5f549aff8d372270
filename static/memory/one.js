/* The page of one memory: its row, with all that a person can do to it; the figures follow what was done. */
import { el } from "../site/dom.js";
import { refresh } from "../site/figures.js";
import { toast } from "../site/toast.js";
import { say } from "../site/words.js";
import { memoryRow, reasonOf } from "./rows.js";
import { erase, onChange } from "./store.js";

const memory = JSON.parse(document.getElementById("memory-row").textContent);
const SETTLES = 400; // what a person did shows at once; the server has it a moment later

async function eraseAsked() {
  if (!window.confirm(say("erase_question"))) return;
  if (!(await erase(memory.id))) return;
  toast(say("erased_now"));
  window.location.assign("/memories/");
}

function actions(row) {
  if (row.state !== "forgotten") return [];
  return [el("button", { type: "button", class: "button small quiet erase", text: say("erase"), on: { click: eraseAsked } })];
}

const note = memory.state === "archived" && memory.archive_reason ? say("archived_because", { reason: reasonOf(memory.archive_reason) }) : "";
document.getElementById("one-memory").append(memoryRow(memory, { actions, note, alone: true }));

let waiting = 0;
onChange(() => {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(refresh, SETTLES);
});
