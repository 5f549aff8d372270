/* Colours by role: a figure says "role:accent" (or "role:accent/18", faded), the site's tokens say which colour that is in this theme. */

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

const known = new Map(); // of this theme: to resolve one makes the browser reckon the page's styles

function colourOf(role) {
  if (!known.has(role)) {
    const [name, percent] = role.split("/");
    probe.style.color = `var(--figure-${name})`; // a token is a light-dark() pair: only a property resolves it
    const found = getComputedStyle(probe).color;
    known.set(role, percent ? found.replace("rgb(", "rgba(").replace(")", `, ${Number(percent) / 100})`) : found);
  }
  return known.get(role);
}

/** A copy of `value` (JSON) in which every "role:…" is the colour it stands for now. */
export function painted(value) {
  if (typeof value === "string") return value.startsWith("role:") ? colourOf(value.slice(5)) : value;
  if (Array.isArray(value)) return value.map(painted);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one)]));
  return value;
}

/** Call `redraw` whenever the theme changes, by the system or by the switch. */
export function onTheme(redraw) {
  const changed = () => { known.clear(); redraw(); };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
