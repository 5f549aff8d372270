/* A button whose meaning comes with a script stands disabled in the page until that script is there, so that no press
   on it is lost (`disabled data-waits` in the template). */
export function live(button, press) {
  if (!button) return;
  button.addEventListener("click", press);
  button.disabled = false;
  button.removeAttribute("data-waits");
}
