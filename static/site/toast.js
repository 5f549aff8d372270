/* Short notices at the bottom of the page, with at most one action (most often Undo). */
import { el } from "./dom.js";

const STAY = 8000;

/** Show `sentence`; with `action` {label, run} a button too. It stays longer while pointed at or focused. */
export function toast(sentence, action = null) {
  const place = document.getElementById("toasts");
  const node = el("div", { class: "toast" }, el("span", { text: sentence }));
  let timer = 0;
  const leave = () => node.remove();
  const wait = () => { timer = window.setTimeout(leave, action ? STAY * 1.5 : STAY); };
  const hold = () => window.clearTimeout(timer);
  if (action) {
    const run = () => { leave(); action.run(); };
    node.append(el("button", { type: "button", class: "undo", text: action.label, on: { click: run } }));
  }
  for (const [event, listener] of [["pointerenter", hold], ["pointerleave", wait], ["focusin", hold], ["focusout", wait]]) {
    node.addEventListener(event, listener);
  }
  while (place.children.length > 2) place.firstElementChild.remove();
  place.append(node);
  wait();
  return node;
}
