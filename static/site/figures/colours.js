/* Colours by role: a figure says "role:accent" (or "role:accent/18", faded), the site's tokens say which colour that is in this theme. */

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

function colourOf(role, known) {
  if (!known.has(role)) {
    const [name, percent] = role.split("/");
    probe.style.color = `var(--figure-${name})`; // a token is a light-dark() pair: only a property resolves it
    const found = getComputedStyle(probe).color;
    known.set(role, percent ? found.replace("rgb(", "rgba(").replace(")", `, ${Number(percent) / 100})`) : found);
  }
  return known.get(role);
}

/** A copy of `value` (JSON) in which every "role:…" is the colour it stands for now. */
export function painted(value, known = new Map()) {
  if (typeof value === "string") return value.startsWith("role:") ? colourOf(value.slice(5), known) : value;
  if (Array.isArray(value)) return value.map((one) => painted(one, known));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one, known)]));
  return value;
}

/** Call `redraw` whenever the theme changes, by the system or by the switch. */
export function onTheme(redraw) {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
