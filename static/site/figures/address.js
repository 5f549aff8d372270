/* What a page of figures shows is in its address: the range of turns, filters, moments. */

/** The value of one name in the address, "" where it has none. */
export const asked = (name) => new URLSearchParams(window.location.search).get(name) ?? "";

/** The whole query, without what is empty. */
export function query(more = {}) {
  const found = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(more)) {
    if (value === "" || value === null) found.delete(name); else found.set(name, String(value));
  }
  return found;
}

/** Put values into the address; "" and null take a name out. A step back returns to what was shown before. */
export function ask(values, { step = false } = {}) {
  const found = query(values).toString();
  if (`?${found}` === (window.location.search || "?")) return;
  const address = found ? `?${found}` : window.location.pathname;
  window.history[step ? "pushState" : "replaceState"](null, "", address + window.location.hash);
}
