/* The list of jobs renews itself while the page is being looked at. */

const PAUSE = 5000;
const list = document.getElementById("jobs");
const note = document.getElementById("refreshed");

async function renew() {
  if (document.hidden || list.contains(document.getSelection()?.anchorNode) && !document.getSelection().isCollapsed) return;
  try {
    const answer = await fetch(window.location.href, { credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new TypeError("no list came back");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    show(page.getElementById("jobs").children);
    document.dispatchEvent(new Event("agora:times"));
    say(note.dataset.fresh);
  } catch {
    say(note.dataset.paused);
  }
}

/** The new rows stand where the old ones stood: scrolled as far, and the same button has the focus. */
function show(rows) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const left = list.querySelector(".table-wrap")?.scrollLeft ?? 0;
  list.replaceChildren(...rows);
  const wrap = list.querySelector(".table-wrap");
  if (wrap) wrap.scrollLeft = left;
  if (!focused) return;
  const same = focused.value && list.querySelector(`button[name="${focused.name}"][value="${focused.value}"]`);
  (same || wrap)?.focus({ preventScroll: true });
}

/** Told once when it changes, not every five seconds. */
function say(sentence) {
  if (note.textContent !== sentence) note.textContent = sentence;
}

say(note.dataset.fresh);
window.setInterval(renew, PAUSE);
