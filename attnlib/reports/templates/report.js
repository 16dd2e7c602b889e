(function () {
  "use strict";
  var root = document.documentElement, dark = window.matchMedia("(prefers-color-scheme: dark)");
  function stored(value) {
    try {
      if (value === undefined) return localStorage.getItem("attnlib-theme");
      localStorage.setItem("attnlib-theme", value);
    } catch (refused) { return null; }
  }
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches; }
  var chosen = stored();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    function label() { button.textContent = isDark() ? "Light" : "Dark"; }
    button.hidden = false;
    label();
    dark.addEventListener("change", label);
    button.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
      stored(root.dataset.theme);
      label();
    });
    var links = {};
    document.querySelectorAll(".toc a").forEach(function (link) { links[link.hash.slice(1)] = link; });
    var headings = Array.prototype.filter.call(document.querySelectorAll("main h2, main h3"), function (heading) {
      return links[heading.id];
    });
    var waiting = false;
    function mark() {
      waiting = false;
      var current = null;
      headings.forEach(function (heading) { if (heading.getBoundingClientRect().top < 120) current = heading; });
      Object.keys(links).forEach(function (id) { links[id].removeAttribute("aria-current"); });
      if (current) links[current.id].setAttribute("aria-current", "true");
    }
    document.addEventListener("scroll", function () {
      if (!waiting) { waiting = true; window.requestAnimationFrame(mark); }
    }, { passive: true });
    mark();
    var folds = [];
    window.addEventListener("beforeprint", function () {
      folds = Array.prototype.slice.call(document.querySelectorAll("main details:not([open])"));
      folds.forEach(function (fold) { fold.open = true; });
    });
    window.addEventListener("afterprint", function () { folds.forEach(function (fold) { fold.open = false; }); });
    var box = document.getElementById("toc-open");
    if (box) document.querySelector(".toc").addEventListener("click", function (event) {
      if (event.target.closest("a")) box.checked = false;
    });
  });
})();
