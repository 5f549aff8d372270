/* Markdown while it streams: marked parses, DOMPurify cleans. The same tags as agents/markdown.py leaves, which
   replaces this when the turn ends. Also the bar above each code block. */
import { Marked } from "../../vendor/marked/marked.esm.js";
import DOMPurify from "../../vendor/dompurify/purify.esm.js";
import { el, icon } from "../../site/dom.js";
import { say } from "../../site/words.js";

const TAGS = ["p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code", "span", "em", "strong", "s", "del", "a", "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"];
const escaped = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const parser = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => `<span class="image-text">${escaped(text || href)}</span>`,
    code: ({ text, lang }) => `<pre><code${lang ? ` data-language="${escaped(lang.split(/\s/)[0].slice(0, 32))}"` : ""}>${escaped(text)}\n</code></pre>`,
    checkbox: ({ checked }) => (checked ? "[x] " : "[ ] "),
  },
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") node.setAttribute("rel", "noopener nofollow");
});

/** A fragment that is safe to put into the page. */
export function safeFragment(text) {
  return clean(parser.parse(text));
}

/** The server's HTML is clean already; it passes here again, because a page should not have to trust that. */
export function clean(html) {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "title", "class", "start", "data-language", "rel"],
    ADD_URI_SAFE_ATTR: ["start", "data-language", "rel"],
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** Put a bar with the language and a copy button above each code block, and let wide tables scroll. */
export function dress(body) {
  for (const pre of body.querySelectorAll("pre")) {
    const code = pre.querySelector("code") ?? pre;
    const button = el("button", { type: "button", class: "icon-button copy-code", "aria-label": say("copy_code"), title: say("copy_code") }, icon("copy"));
    button.addEventListener("click", () => copy(code.textContent, button));
    const frame = el("div", { class: "code-block" }, el("div", { class: "code-bar" }, el("span", { text: code.dataset.language ?? "" }), button));
    pre.replaceWith(frame);
    pre.tabIndex = 0;
    frame.append(pre);
  }
  for (const table of body.querySelectorAll("table")) {
    const frame = el("div", { class: "table-scroll", tabindex: "0" });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const link of body.querySelectorAll("a[href]")) link.target = "_blank";
}

/** Copy `text`; the button shows a tick for a moment. Works without the clipboard API (plain http) too. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  const before = [...button.childNodes];
  button.replaceChildren(icon("check"), el("span", { class: "seen-by-readers", role: "status", text: say("copied") }));
  window.setTimeout(() => button.replaceChildren(...before), 1600);
}

function copyBySelection(text) {
  const field = el("textarea", { class: "seen-by-readers", readonly: true });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
