/* A small line chart in SVG: no library, so the page's content security policy stays as strict as it is. */
import { say } from "../site/words.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 150;
const LEFT = 44;
const BOTTOM = 22;
const TOP = 8;

const number = new Intl.NumberFormat(document.documentElement.lang || "en", { maximumFractionDigits: 3, minimumFractionDigits: 3 });

function shape(tag, attributes, text = "") {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text) node.textContent = text;
  return node;
}

/** A figure with the curve `values` of `name` ("loss" or "left_out") for one kind of conversation. */
export function curve(name, kind, values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const spread = high - low || Math.abs(high) || 1;
  const x = (at) => LEFT + (values.length > 1 ? at / (values.length - 1) : 0.5) * (WIDTH - LEFT - 8);
  const y = (value) => TOP + (1 - (value - low) / spread) * (HEIGHT - TOP - BOTTOM);
  const summary = say("curve.summary", { name: say(`curve.${name}`), kind: say(`kind.${kind}`), n: values.length, first: number.format(values[0]), last: number.format(values[values.length - 1]) });
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": summary });
  svg.append(
    shape("line", { class: "axis", x1: LEFT, y1: HEIGHT - BOTTOM, x2: WIDTH, y2: HEIGHT - BOTTOM }),
    shape("text", { x: LEFT - 6, y: y(high) + 4, "text-anchor": "end" }, number.format(high)),
    shape("text", { x: LEFT, y: HEIGHT - 6 }, "1"),
    shape("text", { x: WIDTH - 8, y: HEIGHT - 6, "text-anchor": "end" }, String(values.length)),
  );
  if (high > low) svg.append(shape("text", { x: LEFT - 6, y: y(low) + 4, "text-anchor": "end" }, number.format(low)));
  svg.append(shape("polyline", { class: "line", points: values.map((value, at) => `${x(at)},${y(value)}`).join(" ") }));
  values.forEach((value, at) => {
    const dot = shape("circle", { class: "dot", cx: x(at), cy: y(value), r: 3 });
    dot.append(shape("title", {}, say("curve.point", { step: at + 1, value: number.format(value) })));
    svg.append(dot);
  });
  const figure = document.createElement("figure");
  figure.className = "curve";
  const caption = document.createElement("figcaption");
  caption.textContent = `${say(`curve.${name}`)} · ${say(`kind.${kind}`)}`;
  figure.append(caption, svg);
  return figure;
}
