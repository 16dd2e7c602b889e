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
    function save(name, address) {
      var link = document.createElement("a");
      link.download = name;
      link.href = address;
      link.click();
    }
    function offer(after, text, action) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", action);
      after.append(" ", button);
    }
    function address(kind, text) { return "data:" + kind + ";charset=utf-8," + encodeURIComponent(text); }
    document.querySelectorAll("figure.figure").forEach(function (figure) {
      var svg = figure.querySelector("svg"), name = figure.id.replace(/^figure-/, "");
      if (!svg) return;
      var line = document.createElement("p");
      line.className = "download";
      function drawn() { return address("image/svg+xml", new XMLSerializer().serializeToString(svg)); }
      offer(line, "SVG", function () { save(name + ".svg", drawn()); });
      offer(line, "PNG", function () {
        var picture = new Image(), size = svg.viewBox.baseVal, canvas = document.createElement("canvas");
        picture.onload = function () {
          canvas.width = 3 * size.width;
          canvas.height = 3 * size.height;
          var pen = canvas.getContext("2d");
          pen.fillStyle = "#fff";
          pen.fillRect(0, 0, canvas.width, canvas.height);
          pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
          save(name + ".png", canvas.toDataURL("image/png"));
        };
        picture.src = drawn();
      });
      figure.append(line);
    });
    function tex(cell) {
      var names = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u2212": "$-$" };
      return cell.textContent.trim().replace(/[\\&%$#_{}~^\u2212]/g, function (c) { return names[c] || "\\" + c; });
    }
    document.querySelectorAll("figure.table .download").forEach(function (line) {
      var figure = line.closest("figure");
      offer(line, "LaTeX", function () {
        var rows = Array.prototype.map.call(figure.querySelectorAll("tr"), function (row) {
          return Array.prototype.map.call(row.cells, tex).join(" & ") + " \\\\";
        });
        var columns = Array.prototype.map.call(figure.querySelectorAll("thead th"), function (head) {
          return head.className === "number" ? "r" : "l";
        });
        rows.splice(1, 0, "\\midrule");
        var text = ["% \\usepackage{booktabs}", "\\begin{tabular}{" + columns.join("") + "}", "\\toprule"];
        text = text.concat(rows, ["\\bottomrule", "\\end{tabular}", ""]).join("\n");
        save(figure.id.replace(/^table-/, "") + ".tex", address("text/x-tex", text));
      });
    });
    var box = document.getElementById("toc-open");
    if (box) document.querySelector(".toc").addEventListener("click", function (event) {
      if (event.target.closest("a")) box.checked = false;
    });
  });
})();
