/* A memory that a newer one says otherwise than: what that says, and what a person makes of it. Nothing leaves by itself. */
import { el, icon } from "../site/dom.js";
import { toast } from "../site/toast.js";
import { dayOf } from "../site/when.js";
import { say } from "../site/words.js";
import { judge, wordOn } from "./judging.js";
import { settle } from "./store.js";

async function accept(id) {
  if (wordOn(id) !== "outdated") await judge(id, "outdated");
  await settle(id);
}

async function dismiss(id) {
  if (await settle(id)) toast(say("doubt_dismissed"));
}

/** The mark of a row, or nothing. */
export function doubtOf(row, id) {
  if (!row.doubt || !row.text || !["held", "archived"].includes(row.state ?? "held")) return [];
  return [el("div", { class: "doubt", role: "group", "aria-label": say("doubt", { date: dayOf(row.doubt.at) }) },
    icon("warning"),
    el("div", {}, el("p", { text: say("doubt", { date: dayOf(row.doubt.at) }) }), el("p", { class: "doubt-newer", dir: "auto", text: say("doubt_newer", { text: row.doubt.text }) })),
    el("div", { class: "doubt-actions" },
      el("button", { type: "button", class: "button small", text: say("doubt_accept"), on: { click: () => accept(id) } }),
      el("button", { type: "button", class: "button small quiet", text: say("doubt_dismiss"), on: { click: () => dismiss(id) } })))];
}
