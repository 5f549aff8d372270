/* Runs before first paint: puts the chosen theme on <html>, so that no page flashes in the wrong one. */
(function () {
  "use strict";
  var chosen = null;
  try {
    chosen = window.localStorage.getItem("agora-theme");
  } catch (refused) {
    chosen = null; // storage can be switched off: follow the system then
  }
  document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : "auto";
})();
