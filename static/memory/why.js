/* Why a memory came up: the signals of one row of the stored trace and what each added to its logit. */
import { get } from "../site/api.js";
import { el } from "../site/dom.js";
import { knows, locale, say } from "../site/words.js";

const signed = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "exceptZero" });
const plain = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
const traces = new Map();

function traceOf(recall) {
  if (!traces.has(recall)) {
    const asked = get(`/api/recalls/${recall}/`);
    asked.catch(() => traces.delete(recall));
    traces.set(recall, asked);
  }
  return traces.get(recall);
}

const rowOf = (trace, memory) => trace.rows.find((row) => row.memory === memory);

const nameOf = (signal) => (knows(`signal_${signal}`) ? say(`signal_${signal}`) : signal.replaceAll("_", " "));

function contributionLine(name, value, signal, widest) {
  const bar = el("span", { class: `signed-bar ${value < 0 ? "negative" : "positive"}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", String(widest ? Math.abs(value) / widest : 0));
  return el("li", { class: "contribution" },
    el("span", { class: "contribution-name", text: nameOf(name) }),
    el("span", { class: "contribution-signal figure", text: signal === undefined ? "" : plain.format(signal) }),
    bar,
    el("span", { class: "contribution-value figure", text: signed.format(value) }));
}

/** What the contributions come to, and how the fit stands to the floor: rank and admission are two questions. */
function sumOf(row, trace) {
  const sentences = [say("why_sum", { logit: signed.format(row.logit), percent: percent.format(row.weight) })];
  if (typeof row.fit === "number" && typeof trace.floor === "number") sentences.push(say("why_fit", { fit: plain.format(row.fit), floor: plain.format(trace.floor) }));
  if (!row.injected && row.group !== "below") sentences.push(say("why_no_room"));
  if (trace.adapter) sentences.push(say("why_adapter", { adapter: trace.adapter }));
  return sentences.join(" ");
}

function filled(row, trace) {
  const parts = Object.entries(row.contributions ?? {}).sort(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  const widest = Math.max(0, ...parts.map(([, value]) => Math.abs(value)));
  return [
    el("h4", { text: say("why_title") }),
    el("ul", { class: "contributions" }, ...parts.map(([name, value]) => contributionLine(name, value, row.signals?.[name], widest))),
    el("p", { class: "small soft", text: sumOf(row, trace) }),
    el("p", { class: "small" }, el("a", { href: `/memories/recalls/${trace.id}/`, text: say("why_whole") })),
  ];
}

/** A panel that reads the stored trace of `recall` and shows the row of `memory`. */
export function whyPanel(recall, memory) {
  const panel = el("div", { class: "why-panel", role: "status" }, el("p", { class: "small soft", text: say("why_loading") }));
  traceOf(recall)
    .then((trace) => {
      const row = rowOf(trace, memory);
      panel.replaceChildren(...(row ? filled(row, trace) : [el("p", { class: "small soft", text: say("why_missing") })]));
    })
    .catch((error) => panel.replaceChildren(el("p", { class: "small soft", text: error.message })));
  return panel;
}
