/* Draws every figure of a page, and nothing else does. A figure comes as JSON from the server, which also counts:
   this script knows no memory, only marks, ranges and rows. Cards are told apart by [data-figure], their address. */
import { get } from "./api.js";
import { ask, asked, query } from "./figures/address.js";
import { plotly } from "./figures/bundle.js";
import { onTheme, painted } from "./figures/colours.js";
import { showTable } from "./figures/table.js";
import { toast } from "./toast.js";
import { say } from "./words.js";

const CONFIG = { displayModeBar: false, displaylogo: false, scrollZoom: false, responsive: true, doubleClick: "reset", showTips: false };
const PAUSE = 250;
const AT_ONCE = 2;
const LEGEND_LINE = 20;
const NAME_LINE = 12;
const NARROW = window.matchMedia("(max-width: 30rem)");

class FigureCard {
  constructor(node) {
    this.node = node;
    this.address = node.dataset.figure;
    this.group = node.dataset.figureGroup ?? "";
    this.plot = node.querySelector(".plot");
    this.page = 1;
    this.asking = 0;
    this.answer = null;
    this.wired = false;
    this.tools();
  }

  part(name) { return this.node.querySelector(`[data-part="${name}"]`); }

  /** It will be asked for anew. */
  waits() {
    this.page = 1;
    this.plot.setAttribute("aria-busy", "true");
  }

  /** Fetch what the address asks for, then table and figure. Of answers that overtake each other the last counts. */
  async load() {
    const turn = ++this.asking;
    this.plot.setAttribute("aria-busy", "true");
    try {
      const answer = await get(`${this.address}?${query({ page: this.page > 1 ? this.page : "" })}`);
      if (turn !== this.asking) return;
      this.answer = answer;
      this.tell();
      await this.draw();
    } catch (error) {
      if (turn !== this.asking) return;
      this.part("empty").textContent = error.message || say("failed");
      this.part("empty").hidden = false;
    } finally {
      if (turn === this.asking) this.plot.removeAttribute("aria-busy");
      this.node.dataset.shown = String(turn);
    }
  }

  tell() {
    const { sentence, note, empty, table } = this.answer;
    this.part("sentence").textContent = sentence;
    this.part("note").textContent = note;
    this.part("empty").textContent = empty;
    this.part("empty").hidden = !empty;
    this.plot.hidden = Boolean(empty);
    this.part("png").disabled = Boolean(empty);
    for (const kind of ["csv", "json"]) this.part(kind).href = `${this.address}?${query({ format: kind })}`;
    showTable(this.part("table"), table, this.node.dataset.title, (page) => { this.page = page; this.load(); });
    this.node.dispatchEvent(new CustomEvent("figure:shown", { bubbles: true, detail: this.answer }));
  }

  async draw() {
    if (!this.answer?.figure) return;
    const Plotly = await plotly();
    const figure = painted(this.answer.figure);
    figure.layout.height = this.answer.figure.layout.height ?? this.plot.clientHeight;
    if (NARROW.matches) squeeze(figure);
    figure.layout.font.family = getComputedStyle(document.body).fontFamily;
    this.plot.style.height = `${figure.layout.height}px`; // when the window changes Plotly takes the place's height
    this.plot.style.minHeight = "0";
    await Plotly.react(this.plot, figure.data, figure.layout, CONFIG);
    if (this.wired) return;
    this.wired = true;
    this.plot.on("plotly_click", follow);
    this.plot.on("plotly_relayout", (change) => this.zoomed(change));
    this.plot.on("plotly_doubleclick", () => this.group && zoom(null));
  }

  zoomed(change) {
    const [low, high] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (this.group && typeof low === "number" && typeof high === "number") zoom([low, high]);
  }

  tools() {
    this.part("png").addEventListener("click", () => this.picture());
    const toggle = this.part("toggle");
    toggle.addEventListener("click", () => {
      const shown = toggle.getAttribute("aria-expanded") !== "true";
      toggle.setAttribute("aria-expanded", String(shown));
      this.part("table").hidden = !shown;
      this.node.querySelector(".figure-body").classList.toggle("alone", !shown);
      if (this.wired) window.Plotly.Plots.resize(this.plot);
    });
    for (const control of this.node.querySelectorAll("[data-asks]")) this.control(control);
  }

  /** A slider or a choice of this figure alone: what it says goes into the address, and this figure follows. */
  control(control) {
    let waiting = 0;
    control.addEventListener("input", () => {
      this.node.dispatchEvent(new CustomEvent("figure:asks", { bubbles: true, detail: control }));
      window.clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        ask({ [control.dataset.asks]: control.value });
        this.page = 1;
        this.load();
      }, control.type === "range" ? PAUSE / 2 : 0);
    });
  }

  async picture() {
    const Plotly = await plotly();
    try {
      const ground = getComputedStyle(document.body).backgroundColor;
      const layout = { ...this.plot.layout, paper_bgcolor: ground, plot_bgcolor: ground };
      const address = await Plotly.toImage({ data: this.plot.data, layout }, { format: "png", width: this.plot.clientWidth, height: this.plot.clientHeight, scale: 2 });
      const link = document.createElement("a");
      link.href = address;
      link.download = `${this.node.dataset.name}.png`;
      link.click();
    } catch {
      toast(say("failed"));
    }
  }
}

/** On a small screen long names beside an axis would leave no room for the figure, and a legend takes a line a name. */
function squeeze({ data, layout }) {
  const named = data.filter((trace) => trace.showlegend !== false).length;
  if (layout.showlegend && named > 4) layout.height += LEGEND_LINE * named;
  layout.margin = { ...layout.margin, l: 36, r: 4 };
  if (layout.meta?.bars === "named") return nameAbove({ data, layout });
  for (const [name, axis] of Object.entries(layout)) {
    if (name.startsWith("yaxis") && axis.ticktext) layout[name] = { ...axis, showticklabels: false };
  }
}

/** Bars that say nothing without their names have them above, within the figure, and are thinner for it. */
function nameAbove({ data, layout }) {
  layout.height += NAME_LINE * layout.yaxis.tickvals.length;
  layout.margin.l = 8;
  layout.yaxis = { ...layout.yaxis, ticklabelposition: "inside top", tickfont: { ...layout.yaxis.tickfont, color: layout.font.color } };
  for (const bar of data) Object.assign(bar, { width: 0.36, offset: 0.06 });
}

/** A mark leads to where it is explained. */
function follow(event) {
  const point = event.points[0];
  const behind = Array.isArray(point.customdata) ? point.customdata[0] : point.customdata;
  const column = Array.isArray(point.pointNumber) ? point.pointNumber[1] : point.pointNumber;
  const address = behind ?? point.data.meta?.addresses?.[column];
  if (typeof address === "string" && address.startsWith("/")) window.location.assign(address);
}

const cards = [...document.querySelectorAll("[data-figure]")].map((node) => new FigureCard(node));
let zooming = 0;

/** One range for all figures, in the address too; each asks the server anew, which then can be exact. */
function zoom(range) {
  window.clearTimeout(zooming);
  zooming = window.setTimeout(() => {
    const [from, to] = range ? [Math.max(1, Math.ceil(range[0])), Math.floor(range[1])] : ["", ""];
    if (range && to < from) return;
    ask({ from, to }, { step: true });
    refresh(); // those without the axis follow its range all the same
  }, PAUSE);
}

function fillFilters() {
  for (const control of document.querySelectorAll("[data-figure-filters] [name], [data-asks]")) {
    const name = control.name || control.dataset.asks;
    const value = asked(name);
    if (control.type === "range") { if (value) control.value = value; } else control.value = value;
  }
}

/** How far a card is from what the window shows, in pixels; 0 where some of it is seen. */
function away(card) {
  const { top, bottom } = card.node.getBoundingClientRect();
  return Math.max(0, top - window.innerHeight, -bottom);
}

/** Ask for figures, what is seen or nearest to it first: while one is drawn, the server works at the next. */
async function inOrder(turn) {
  const left = new Set(cards);
  const next = () => [...left].reduce((near, card) => (away(card) < away(near) ? card : near));
  const work = async () => {
    while (left.size && turn === round) {
      const card = next();
      left.delete(card);
      await card.load();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

if (cards.length) plotly().catch(() => undefined); // whoever draws waits for the same one, and says so where it fails

let round = 0;
let latest = Promise.resolve();

/** Ask for all figures again; done when they are there, or when those are that were asked for since. */
export function refresh() {
  fillFilters();
  for (const card of cards) card.waits();
  const turn = ++round;
  latest = inOrder(turn).then(() => (turn === round ? undefined : latest));
  return latest;
}

for (const form of document.querySelectorAll("[data-figure-filters]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)])), { step: true });
    refresh();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    ask(Object.fromEntries([...new FormData(form).keys()].map((name) => [name, ""])), { step: true });
    refresh();
  });
}

window.addEventListener("popstate", () => refresh());
onTheme(() => cards.forEach((card) => card.draw()));
NARROW.addEventListener("change", () => cards.forEach((card) => card.draw()));
if (cards.length) {
  plotly().catch(() => toast(say("failed")));
  refresh();
}
