/* The page of one bank: says that it works while it does, and that a preview is not of what the form says now. */
import { el, icon } from "../site/dom.js";
import { get } from "../site/api.js";

const form = document.getElementById("bank-form");
const preview = document.getElementById("preview");

/** A form is sent once; its button says what happens meanwhile. A page out of the history is as before. */
for (const one of document.querySelectorAll("form[data-busy]")) {
  const button = one.querySelector('button[type="submit"]');
  const words = button.textContent;
  one.addEventListener("submit", (event) => {
    if (button.getAttribute("aria-busy") === "true") event.preventDefault();
    button.setAttribute("aria-busy", "true");
    button.textContent = one.dataset.busy;
  });
  window.addEventListener("pageshow", () => {
    button.removeAttribute("aria-busy");
    button.textContent = words;
  });
}

/** What is applied is what was previewed: once the form says something else, only a new preview leads on. */
function outdate() {
  const apply = preview.querySelector(".apply button");
  if (preview.classList.contains("outdated") || !apply) return;
  preview.classList.add("outdated");
  apply.disabled = true;
  preview.prepend(el("p", { class: "notice warning", role: "status" }, icon("warning"), el("span", { text: form.dataset.changed })));
}

if (preview) form.addEventListener("input", outdate);

/** What this bank has learned from its person's judgements; left out where it cannot be read. */
async function showLearning(node) {
  try {
    node.textContent = (await get(node.dataset.learning)).sentence;
    node.hidden = false;
  } catch {
    node.remove();
  }
}

document.querySelectorAll("[data-learning]").forEach(showLearning);
