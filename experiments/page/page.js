// The page is whole without this: it only unfolds details, all at once and for print.
(function () {
  "use strict";
  var all = document.querySelectorAll("details");
  var closed = [];
  function set(open) { all.forEach(function (d) { d.open = open; }); }
  var button = document.getElementById("unfold");
  button.hidden = false;
  button.addEventListener("click", function () {
    var open = button.getAttribute("aria-pressed") !== "true";
    set(open);
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Fold all details" : "Unfold all details";
  });
  addEventListener("beforeprint", function () {
    closed = Array.prototype.filter.call(all, function (d) { return !d.open; });
    set(true);
  });
  addEventListener("afterprint", function () { closed.forEach(function (d) { d.open = false; }); });
})();
