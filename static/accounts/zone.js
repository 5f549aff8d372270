/* Sign-up sends the browser's time zone along, so that "yesterday" is the person's own from the first day. */
(function () {
  "use strict";
  var zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone) return;
  document.querySelectorAll('input[type="hidden"][name="time_zone"]').forEach(function (field) {
    field.value = zone;
  });
})();
