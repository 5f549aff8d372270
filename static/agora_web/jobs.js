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
    list.replaceChildren(...page.getElementById("jobs").children);
    document.dispatchEvent(new Event("agora:times"));
    say(note.dataset.fresh);
  } catch {
    say(note.dataset.paused);
  }
}

/** Told once when it changes, not every five seconds. */
function say(sentence) {
  if (note.textContent !== sentence) note.textContent = sentence;
}

say(note.dataset.fresh);
window.setInterval(renew, PAUSE);
