/* What every page does: the theme switch, menus that close, times in the person's zone, pages begun ahead. */
import { startAhead } from "./ahead.js";
import { icon } from "./dom.js";
import { toast } from "./toast.js";
import { age, fullTime } from "./when.js";

const THEMES = ["auto", "light", "dark"];
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

function showTheme(button, theme) {
  const label = button.dataset[theme];
  button.setAttribute("aria-label", label);
  button.title = label;
  button.replaceChildren(icon(THEME_ICONS[theme]));
}

function startThemeSwitch() {
  const button = document.getElementById("theme-switch");
  const root = document.documentElement;
  showTheme(button, root.dataset.theme || "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
    root.dataset.theme = next;
    showTheme(button, next);
    try {
      window.localStorage.setItem("agora-theme", next);
    } catch {
      // Storage is switched off: the choice then lasts for this page.
    }
  });
}

function startMenus() {
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.stopImmediatePropagation();
  }, true);
}

/** Times that the server wrote as <time datetime="…"> are shown as an age, whole on hover. */
function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-shown])")) {
    time.textContent = age(time.dateTime);
    time.title = fullTime(time.dateTime);
    time.dataset.shown = "";
  }
}

/** Ask before a form is sent that names a question in data-confirm. */
function startConfirmations() {
  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm || event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
}

/** After a refused form the summary of its errors is where reading starts. */
function focusErrors() {
  document.querySelector("[data-focus]")?.focus();
}

/** The chat fills the window, so that what the server has to say stands in a toast there, but for errors. */
function liftNotices() {
  if (!document.body.classList.contains("chat-page")) return;
  for (const notice of document.querySelectorAll(".notices .notice:not(.error)")) {
    toast(notice.textContent.trim());
    notice.remove();
  }
  const place = document.querySelector(".notices");
  if (place && !place.querySelector(".notice")) place.remove();
}

startThemeSwitch();
startMenus();
liftNotices();
focusErrors();
startConfirmations();
startAhead();
showTimes(document);
document.addEventListener("agora:times", () => showTimes(document));
