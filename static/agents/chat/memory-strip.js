/* The line under a reply: which memories it used and what was remembered, as buttons that open to rows. */
import { el, icon } from "../../site/dom.js";
import { say } from "../../site/words.js";
import { memoryList, reasonOf } from "../../memory/rows.js";

let panels = 0;

/** A disclosure button and its panel; the content is built when first opened. */
function disclosure(className, label, iconName, build, isOpen, onToggle) {
  const id = `panel-${++panels}`;
  const panel = el("div", { class: `memory-panel ${className}-panel`, id, hidden: true });
  const button = el("button", { type: "button", class: `strip-button ${className}`, "aria-expanded": "false", "aria-controls": id }, icon(iconName), el("span", { text: label }));
  const show = (open) => {
    if (open && !panel.hasChildNodes()) panel.append(...build());
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => {
    show(panel.hidden);
    onToggle(!panel.hidden);
  });
  if (isOpen) show(true);
  return [button, panel];
}

/** What the reply used is told from what recall merely handed on. */
function usedLabel(recall) {
  const handed = recall.injected.length;
  const used = recall.injected.filter((row) => row.cited).length;
  if (used && used < handed) return say("used_of", { n: handed, used });
  if (handed) return say(used ? "used" : "recalled", { n: handed });
  if (recall.bypassed) return say("bypassed_none");
  return recall.below_floor ? say("used_none_below", { n: recall.below_floor }) : say("used_none");
}

function usedContent(recall, here) {
  const options = { here, recall: recall.id };
  const parts = [];
  if (recall.bypassed) parts.push(el("p", { class: "small soft", text: say("bypassed_text") }));
  for (const group of ["highly", "maybe"]) {
    const rows = recall.injected.filter((row) => (row.group === "highly" ? "highly" : "maybe") === group);
    if (rows.length) parts.push(memoryList(rows, options, say(group)));
  }
  if (recall.near_misses.length) {
    const noteOf = (row) => (row.group === "below" ? "" : say("no_room"));
    const label = recall.below_floor ? say("near_misses", { n: recall.below_floor }) : say("not_used");
    parts.push(el("details", { class: "near-misses" }, el("summary", { text: label }), memoryList(recall.near_misses, { ...options, noteOf })));
  }
  if (recall.candidates) parts.push(el("p", { class: "small faint", text: say("of_candidates", { n: recall.candidates }) }));
  return parts;
}

function rememberedContent(turn, here) {
  const parts = [];
  const happened = Object.fromEntries(turn.remembered.map((row) => [row.memory, row]));
  if (turn.remembered.length) {
    const rows = turn.remembered.map((row) => ({ ...row, speaker: turn[row.side]?.speaker ?? "", at: turn[row.side]?.at }));
    parts.push(memoryList(rows, { here, noteOf: (row) => say(`happened_${happened[row.memory].happened}`) }));
  } else {
    parts.push(el("p", { class: "small soft", text: say("remembered_none") }));
  }
  if (turn.evicted?.length) {
    const rows = turn.evicted.map((row) => ({ role: "other", speaker: "", state: "archived", ...row }));
    parts.push(el("details", { class: "near-misses" }, el("summary", { text: say("evicted", { n: rows.length }) }), memoryList(rows, { here, noteOf: (row) => reasonOf(row.reason) })));
  }
  return parts;
}

/**
 * The strip of a finished turn. `open` is a Set of the panels ("used", "remembered") that a person opened in this
 * turn; it is kept by the caller, so that a redraw does not close them.
 */
export function memoryStrip(turn, here, open) {
  const buttons = el("div", { class: "strip" });
  const strip = el("div", { class: "memory-strip" }, buttons);
  const keep = (name) => (isOpen) => (isOpen ? open.add(name) : open.delete(name));
  if (turn.recall) {
    const [button, panel] = disclosure("used-memories", usedLabel(turn.recall), "memory", () => usedContent(turn.recall, here), open.has("used"), keep("used"));
    button.dataset.count = String(turn.recall.injected.length);
    buttons.append(button);
    strip.append(panel);
  }
  if (turn.remembered?.length || turn.evicted?.length) {
    const [button, panel] = disclosure("remembered", say("remembered", { n: turn.remembered.length }), "plus", () => rememberedContent(turn, here), open.has("remembered"), keep("remembered"));
    button.dataset.count = String(turn.remembered.length);
    buttons.append(button);
    strip.append(panel);
  }
  return buttons.hasChildNodes() ? strip : null;
}
