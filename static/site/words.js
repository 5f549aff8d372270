/* Sentences come translated from the page: every <script type="application/json" data-words> adds its own. */

const words = {};
for (const block of document.querySelectorAll("script[data-words]")) Object.assign(words, JSON.parse(block.textContent));

const language = document.documentElement.lang || "en";
const plurals = new Intl.PluralRules(language);
/** For dates and numbers: the page's language as the person's region writes it (en-GB rather than en). */
export const locale = navigator.languages.find((name) => name.split("-")[0] === language.split("-")[0]) ?? language;

/**
 * The sentence called `name` with {placeholders} filled from `values`. A sentence may be an object by plural
 * category (one, few, many, other), chosen by `values.n`.
 */
export function say(name, values = {}) {
  let sentence = words[name];
  if (sentence && typeof sentence === "object") sentence = sentence[plurals.select(values.n)] ?? sentence.other;
  if (sentence === undefined) return name;
  return sentence.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/** Whether the page brought a sentence of this name. */
export function knows(name) {
  return name in words;
}
