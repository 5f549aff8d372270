/* The table beside a figure: the same numbers for the keyboard and for who reads without seeing. */
import { el } from "../dom.js";
import { fullTime, shortTime } from "../when.js";
import { locale, say } from "../words.js";

const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 4 });

function shown(kind, value) {
  if (value === null || value === "") return "–";
  if (kind === "number") return number.format(value);
  if (kind === "time") return el("time", { datetime: value, title: fullTime(value), text: shortTime(value) });
  return String(value);
}

function cell(column, value) {
  const linked = value !== null && typeof value === "object";
  const inside = shown(column.kind, linked ? value.text : value);
  const classes = column.kind === "number" ? "number" : column.kind === "words" ? "words" : "";
  const node = el("td", { class: classes || null, dir: column.kind === "words" ? "auto" : null });
  if (column.kind === "words") node.title = String(linked ? value.text : value ?? "");
  node.append(linked ? el("a", { href: value.href }, inside) : column.kind === "words" ? el("span", {}, inside) : inside);
  return node;
}

/** Fill `place` with one page of rows; `turn(page)` is called to see another. */
export function showTable(place, table, label, turn) {
  const focused = place.querySelector(":focus")?.dataset.turn;
  if (!table.total) { place.replaceChildren(); return; }
  const head = el("tr", {}, ...table.columns.map((one) => el("th", { scope: "col", class: one.kind === "number" ? "number" : null, text: one.label })));
  const body = table.rows.map((row) => el("tr", {}, ...row.map((value, at) => cell(table.columns[at], value))));
  const wrap = el("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: "data" }, el("thead", {}, head), el("tbody", {}, ...body)));
  const pager = el("div", { class: "pager" }, el("span", { role: "status", text: say("figure_rows", { n: table.total, rows: number.format(table.total), page: table.page, pages: table.pages }) }));
  if (table.pages > 1) {
    for (const [name, page, sentence] of [["before", table.page - 1, say("figure_before")], ["next", table.page + 1, say("figure_next")]]) {
      pager.append(el("button", { type: "button", class: "button small", disabled: page < 1 || page > table.pages, data: { turn: name }, text: sentence, on: { click: () => turn(page) } }));
    }
  }
  place.replaceChildren(wrap, pager);
  if (focused) place.querySelector(`[data-turn="${focused}"]`)?.focus();
}
