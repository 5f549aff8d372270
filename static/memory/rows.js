/* One memory as a row: its text, who said it and when, where it came from, how much it weighed, and what a person can
   do with it. Used under each reply of the chat and on the page Memories. */
import { el, iconButton } from "../site/dom.js";
import { knows, locale, say } from "../site/words.js";
import { age, dayOf, fullTime } from "../site/when.js";
import { judging } from "./judging.js";
import { doubtOf } from "./doubts.js";
import { current, forget, onChange, pin, restore, unforget, unpin } from "./store.js";
import { whyPanel } from "./why.js";

const wholePercent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });
const finePercent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
const two = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const LONG = 320;

/** Whole percents, finer where they would read 0 % or 100 % and be neither. */
export const percentOf = (weight) => ((weight > 0 && weight < 0.095) || (weight > 0.99 && weight < 1) ? finePercent : wholePercent).format(weight);

function speakerOf(row) {
  if (row.role === "assistant") return say("by_agent", { speaker: row.speaker });
  if (row.role === "tool") return say("by_tool", { speaker: row.speaker });
  return row.speaker;
}

/** A link to the turn a memory came from; `here` is the conversation being shown. */
export function sourceLink(source, here) {
  if (!source.turn) return null;
  const same = source.conversation === here;
  const title = source.conversation_title || say("untitled");
  const known = source.ordinal !== undefined && source.ordinal !== null;
  const label = same && known ? say("turn_here", { n: source.ordinal }) : known ? say("turn_of", { n: source.ordinal, title }) : say("conversation_of", { title });
  return el("a", { class: "memory-source", href: `/chat/${source.conversation}/#turn-${source.turn}`, text: label, dir: "auto" });
}

function weightBar(row) {
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", String(Math.max(0, Math.min(1, row.weight))));
  return el("div", { class: "memory-weight", title: say("weight_title") }, bar, el("span", { class: "figure", text: percentOf(row.weight) }), el("span", { class: "seen-by-readers", text: say("weight", { percent: percentOf(row.weight) }) }));
}

/** Why a memory was archived, in words; the server gives a code. */
export const reasonOf = (code) => (knows(`reason_${code}`) ? say(`reason_${code}`) : code);

/** The text is kept back by the server while a memory is being forgotten, and gone once it is erased. */
function textOf(row) {
  if (!row.text) return el("p", { class: "memory-text hidden-text", text: say(row.state === "forgotten" ? "hidden_forgotten" : "hidden_erased") });
  const text = el("p", { class: "memory-text", dir: "auto", text: row.text });
  if (row.text.length <= LONG) return text;
  text.classList.add("clamped");
  const more = el("button", { type: "button", class: "link-button", text: say("show_more"), "aria-expanded": "false" });
  more.addEventListener("click", () => {
    const open = text.classList.toggle("clamped") === false;
    more.textContent = say(open ? "show_less" : "show_more");
    more.setAttribute("aria-expanded", String(open));
  });
  return el("div", {}, text, more);
}

function factsOf(row, options) {
  const facts = el("div", { class: "memory-facts" }, el("span", { class: "memory-speaker", dir: "auto", text: speakerOf(row) }));
  if (row.at && row.text) facts.append(el("time", { datetime: row.at, title: fullTime(row.at), text: `${age(row.at)}, ${dayOf(row.at)}` }));
  for (const source of row.sources ?? [row]) {
    const link = sourceLink(source, options.here);
    if (link) facts.append(link);
  }
  const [told] = row.sources ?? [];
  if (told?.conversation) facts.append(el("a", { class: "memory-life", href: `/memories/conversations/${told.conversation}/life/`, text: say("over_time") }));
  if (row.importance !== undefined && row.importance !== null) facts.append(el("span", { class: "figure", title: say("importance_title"), text: say("importance", { value: two.format(row.importance) }) }));
  if (options.note) facts.append(el("span", { text: options.note }));
  if (!options.alone && row.state !== "erased") facts.append(el("a", { class: "memory-history", href: `/memories/${row.memory ?? row.id}/`, text: say("history") }));
  return facts;
}

function tagsOf(row) {
  const tags = [];
  if (row.pinned) tags.push(el("span", { class: "tag warm", text: say("pinned") }));
  if (row.cited) tags.push(el("span", { class: "tag good", text: say("cited") }));
  if (row.kind === "merged") tags.push(el("span", { class: "tag", title: say("merged_title"), text: say("merged") }));
  if (row.kind === "summary") tags.push(el("span", { class: "tag", title: say("summary_title"), text: say("summary") }));
  if (row.state === "archived") tags.push(el("span", { class: "tag", text: say("archived") }));
  if (row.state === "forgotten") tags.push(el("span", { class: "tag bad", text: say("forgotten_row") }));
  if (row.state === "erased") tags.push(el("span", { class: "tag bad", text: say("erased_row") }));
  return tags;
}

/** Buttons that every row has; `options.actions(row)` adds the page's own. */
function actionsOf(row, id, options) {
  if (row.state === "erased") return [];
  if (row.state === "forgotten") {
    return [el("button", { type: "button", class: "button small undo", text: say("undo"), on: { click: () => unforget(id) } }), ...(options.actions?.(row) ?? [])];
  }
  const remove = iconButton("forget", say("forget"), "forget danger", () => forget(id));
  if (row.state === "archived") {
    return [el("button", { type: "button", class: "button small restore", text: say("restore"), on: { click: () => restore(id) } }), ...(options.actions?.(row) ?? []), remove];
  }
  const pinButton = iconButton("pin", say(row.pinned ? "unpin" : "pin"), "pin", () => (row.pinned ? unpin(id) : pin(id)));
  pinButton.setAttribute("aria-pressed", String(Boolean(row.pinned)));
  return [...(options.actions?.(row) ?? []), pinButton, remove];
}

function whyButton(id, options, node) {
  const button = el("button", { type: "button", class: "link-button why", text: say("why"), "aria-expanded": "false" });
  button.addEventListener("click", () => {
    const open = node.querySelector(".why-panel");
    button.setAttribute("aria-expanded", String(!open));
    if (open) open.remove();
    else node.append(whyPanel(options.recall, id));
  });
  return button;
}

/**
 * A list row for `row` (a Row of a recall, or a Memory). Options: `here` (conversation shown), `recall` (id; adds
 * "Why?"), `note` (extra words), `actions(row)` (extra buttons), `alone` (the row is the page: no link to it). It follows every change of its memory.
 */
export function memoryRow(row, options = {}) {
  const id = row.memory ?? row.id;
  const node = el("li", { class: "memory-row", data: { memory: id } });
  const tags = el("span", { class: "memory-tags" });
  const actions = el("div", { class: "memory-actions" });
  const facts = factsOf(row, options);
  const words = el("div", {});
  const doubt = el("div", { class: "memory-doubt" });
  const judgement = el("div", { class: "memory-judgement" });
  if (options.recall) facts.append(whyButton(id, options, node));
  facts.append(tags);
  node.append(
    row.weight === undefined || row.weight === null ? "" : weightBar(row),
    el("div", { class: "memory-body" }, words, facts, doubt, judgement),
    actions,
  );
  let shownText;
  const show = () => {
    const now = current(row);
    const focused = actions.contains(document.activeElement);
    node.dataset.state = now.state ?? "held";
    if (shownText !== now.text) words.replaceChildren(textOf(now));
    shownText = now.text;
    tags.replaceChildren(...tagsOf(now));
    const judged = now.text && ["held", "archived"].includes(now.state ?? "held");
    doubt.replaceChildren(...doubtOf(now, id));
    if (judged !== judgement.hasChildNodes()) judgement.replaceChildren(...(judged ? [judging(id, options.recall)] : []));
    actions.replaceChildren(...actionsOf(now, id, options));
    if (focused) actions.querySelector("button")?.focus();
  };
  show();
  const stop = onChange((changed) => {
    if (!node.isConnected && node.dataset.seen) stop();
    else if (changed === id) show();
    if (node.isConnected) node.dataset.seen = "1";
  });
  return node;
}

/** The rows of a list, under a heading where one is given. */
export function memoryList(rows, options = {}, heading = "") {
  const list = el("ul", { class: "memory-rows" }, ...rows.map((row) => memoryRow(row, { ...options, note: options.noteOf?.(row) })));
  return heading ? el("section", { class: "memory-group" }, el("h3", { text: heading }), list) : list;
}
