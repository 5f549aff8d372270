/* Small builders, so that no page ever puts unclean text into innerHTML. */

/**
 * Make an element. `attributes` takes class, text, on (listeners by name), data (dataset) and plain attributes;
 * false, null and undefined leave an attribute out, true writes it empty.
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An icon of the sprite; decoration only, so hidden from readers. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${document.body.dataset.icons}#${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows only an icon; its label is read out and shown on hover. */
export function iconButton(name, label, className, onClick) {
  return el("button", { type: "button", class: `icon-button ${className}`, "aria-label": label, title: label, on: { click: onClick } }, icon(name));
}

/** The first element child of a <template id=…>, copied. */
export function fromTemplate(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}
