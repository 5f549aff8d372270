/* Sentences come translated from the page: every <script type="application/json" data-words> adds its own. */

const words = {};
for (const block of document.querySelectorAll("script[data-words]")) Object.assign(words, JSON.parse(block.textContent));

const language = document.documentElement.lang || "en";
const plurals = new Intl.PluralRules(language);
/** For dates and numbers: the page's language as the person's region writes it (en-GB rather than en). */
export const locale = navigator.languages.find((name) => name.split("-")[0] === language.split("-")[0]) ?? language;

const counts = new Intl.NumberFormat(locale);

/**
 * The sentence called `name` with {placeholders} filled from `values`. A sentence may be an object by plural
 * category (one, few, many, other), chosen by `values.n`: then it tells of counts, which are grouped (12,345).
 */
export function say(name, values = {}) {
  const found = words[name];
  if (found === undefined) return name;
  const counted = typeof found === "object";
  const sentence = counted ? found[plurals.select(values.n)] ?? found.other : found;
  const told = (value) => (counted && Number.isInteger(value) ? counts.format(value) : String(value));
  return sentence.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? told(values[key]) : whole));
}

/** Whether the page brought a sentence of this name. */
export function knows(name) {
  return name in words;
}
