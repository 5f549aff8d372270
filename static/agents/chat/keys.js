/* Keys that work everywhere on the chat page. */

const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

/** `on` has search(), create(), compose(), stop() → whether something was stopped, and closeDrawer(). */
export function startKeys(on) {
  const help = document.getElementById("help");
  document.getElementById("help-open").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (command && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      on.search();
    } else if (command && event.shiftKey && event.key.toLowerCase() === "o") {
      event.preventDefault();
      on.create();
    } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
      if (!on.closeDrawer()) on.stop();
    } else if (!command && !event.altKey && !isTyping(event.target) && !document.querySelector("dialog[open]")) {
      if (event.key === "?") help.showModal();
      if (event.key === "/") {
        event.preventDefault();
        on.compose();
      }
    }
  });
}
