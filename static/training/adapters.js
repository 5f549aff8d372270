/* The registry renews itself while it is looked at, every two seconds while banks are on their way; its dialogs ask
   before something serves or is rolled back. */

const BUSY = 2000;
const QUIET = 10000;
const live = document.getElementById("live");
const note = document.getElementById("refreshed");
let shown = "";

const busy = () => Boolean(live.querySelector("[data-going]"));
/** Whoever reads, types or has a dialog open is not disturbed. */
const disturbed = () => document.hidden || document.querySelector("dialog[open]") || (live.contains(document.getSelection()?.anchorNode) && !document.getSelection().isCollapsed);

async function renew() {
  if (!disturbed()) {
    try {
      const answer = await fetch(window.location.href, { credentials: "same-origin" });
      if (!answer.ok || answer.redirected) throw new TypeError("no page came back");
      show(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live"));
      say("");
    } catch {
      say(note.dataset.paused);
    }
  }
  window.setTimeout(renew, busy() ? BUSY : QUIET);
}

/** Replace what is shown; what was opened stays open, and what had the focus has it again. */
function show(fresh) {
  const said = fresh?.innerHTML.replace(/csrfmiddlewaretoken" value="\w+"/g, "");
  if (!fresh || said === shown) return;
  shown = said;
  const open = [...live.querySelectorAll("details[open]")].map((one) => one.dataset.keep);
  const focused = placeOf(document.activeElement);
  live.replaceChildren(...fresh.childNodes);
  for (const one of live.querySelectorAll("details")) one.open = open.includes(one.dataset.keep);
  document.dispatchEvent(new Event("agora:times"));
  if (focused) live.querySelectorAll(focused.what)[focused.number]?.focus({ preventScroll: true });
}

function placeOf(node) {
  if (!live.contains(node) || node === live) return null;
  const what = node.localName;
  return { what, number: [...live.querySelectorAll(what)].indexOf(node) };
}

function say(sentence) {
  if (note.textContent !== sentence) note.textContent = sentence;
}

function ask(dialog, version) {
  const title = dialog.querySelector("h2");
  title.textContent = title.dataset.sentence.replace("{version}", version);
  dialog.showModal();
}

function askToPromote(button) {
  const dialog = document.getElementById("promote-dialog");
  const against = button.parentElement.querySelector("template").content.cloneNode(true);
  const speaks = against.children.length > 0;
  dialog.querySelector('[name="version"]').value = button.dataset.promote;
  dialog.querySelector("#promote-plain").hidden = speaks;
  dialog.querySelector("#promote-against").hidden = !speaks;
  dialog.querySelector("#promote-reason").hidden = !speaks;
  dialog.querySelector("#reason").required = speaks;
  dialog.querySelector("ul").replaceChildren(against);
  ask(dialog, button.dataset.promote);
}

function askToRollBack(button) {
  const dialog = document.getElementById("back-dialog");
  dialog.querySelector('[name="promotion"]').value = button.dataset.back;
  ask(dialog, button.dataset.version);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.promote) askToPromote(button);
  else if (button.dataset.back) askToRollBack(button);
  else if ("close" in button.dataset) button.closest("dialog").close();
});

window.setTimeout(renew, busy() ? BUSY : QUIET);
