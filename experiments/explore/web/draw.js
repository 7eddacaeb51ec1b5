// Drawing: pictures of answers, as SVG made of elements, never of markup.
var draw = (function () {
  "use strict";
  var NS = "http://www.w3.org/2000/svg";
  var HUES = 8; // colours of stages; more share the last

  // el makes an element: el("p", {class: "mute"}, "text", child, ...).
  function el(tag, attrs) { return fill(document.createElement(tag), attrs, arguments); }
  function svg(tag, attrs) { return fill(document.createElementNS(NS, tag), attrs, arguments); }
  function fill(e, attrs, args) {
    for (var k in attrs || {}) if (attrs[k] !== null && attrs[k] !== undefined && attrs[k] !== false) e.setAttribute(k, attrs[k] === true ? "" : attrs[k]);
    for (var i = 2; i < args.length; i++) if (args[i] || args[i] === 0) e.append(args[i]);
    return e;
  }

  // number writes four digits at most, without an exponent in the usual range.
  function number(v) {
    if (v === 0) return "0";
    var a = Math.abs(v);
    if (a >= 1e6 || a < 1e-3) return String(Number(v.toPrecision(4)));
    return String(Number(v.toFixed(Math.max(0, 3 - Math.floor(Math.log10(a))))));
  }
  // time writes nanoseconds.
  function time(ns) {
    var a = Math.abs(ns);
    if (a < 1e3) return number(ns) + " ns";
    if (a < 1e6) return number(ns / 1e3) + " us";
    if (a < 1e9) return number(ns / 1e6) + " ms";
    return number(ns / 1e9) + " s";
  }
  function share(percent) { return percent >= 10 || percent === 0 ? Math.round(percent) + " %" : percent >= 0.1 ? percent.toFixed(1) + " %" : "< 0.1 %"; }
  // change writes a ratio as a report does, with a real minus sign.
  function change(ratio) {
    var p = 100 * (ratio - 1);
    return (p < 0 ? "\u2212" : "+") + Math.abs(p).toFixed(Math.abs(p) >= 999.95 ? 0 : 1) + " %";
  }
  // pretty sets a figure's text: a real minus sign, a space before the unit.
  function pretty(text) { return text.replace(/-(?=\d)/g, "\u2212").replace(/(\d)(ns|us|ms|s|[KMGT]?i?B|%)(?![a-z])/g, "$1 $2"); }
  // put replaces what an element holds, without what is false or empty.
  function put(e) { e.replaceChildren.apply(e, [].slice.call(arguments, 1).filter(function (c) { return c || c === 0; })); return e; }

  // Hues gives stages their colours, in the order in which they are first seen to
  // take time; a stage keeps its colour while settings change.
  function Hues() { this.by = {}; this.n = 0; }
  Hues.prototype.see = function (side) { side.path.forEach(function (s) { if (s.ns_op > 0) this.of(s.stage); }, this); };
  Hues.prototype.of = function (stage) {
    if (stage === "unattributed") return "un";
    if (!(stage in this.by)) this.by[stage] = this.n++;
    return "s" + Math.min(this.by[stage], HUES - 1);
  };

  // ticks are round values from 0 to max, about n of them.
  function ticks(max, n) {
    var step = Math.pow(10, Math.floor(Math.log10(max / n)));
    [2, 5, 10].some(function (f) { if (max / step <= n) return true; step = f * Math.pow(10, Math.floor(Math.log10(max / n))); return false; });
    var all = [];
    for (var v = 0; v <= max * 1.0001; v += step) all.push(v);
    return all;
  }

  function whole(side) { return side.path.reduce(function (sum, s) { return sum + s.ns_op; }, 0); }

  // bars shows where an operation's time went, a bar a side. It keeps its elements,
  // so that what changes is seen to move.
  function Bars(root, hues) { this.root = root; this.hues = hues; this.rows = {}; }
  Bars.prototype.show = function (sides) {
    var self = this, keep = {}, most = 0, least = Infinity;
    sides = sides.filter(function (s) { return s.side.path.length && whole(s.side) > 0; });
    sides.forEach(function (s) { most = Math.max(most, whole(s.side)); least = Math.min(least, whole(s.side)); });
    var alike = most > 12 * least;
    sides.forEach(function (s) {
      var row = self.rows[s.id] || (self.rows[s.id] = self.row(s.id)), total = whole(s.side), at = 0;
      keep[s.id] = true;
      self.root.append(row.root);
      row.name.textContent = s.title; row.name.title = s.words;
      row.sum.textContent = time(total);
      row.svg.setAttribute("aria-label", "modelled, " + s.title + ": " + time(total) + " an operation; the table below has each stage");
      var used = {};
      s.side.path.forEach(function (p) {
        if (!(p.ns_op > 0)) return;
        var bar = row.bars[p.stage], width = p.ns_op / total * (alike ? 1 : total / most);
        used[p.stage] = true;
        if (!bar) {
          bar = row.bars[p.stage] = { rect: svg("rect", { y: 2, height: 18 }), title: svg("title"), text: svg("text", { y: 35, "text-anchor": "middle" }) };
          bar.rect.append(bar.title);
          row.svg.append(bar.rect, bar.text);
        }
        bar.rect.setAttribute("class", self.hues.of(p.stage));
        bar.rect.style.x = 100 * at + "%"; bar.rect.style.width = 100 * width + "%";
        bar.rect.style.visibility = width > 0.0005 ? "visible" : "hidden";
        bar.title.textContent = p.stage + ": " + time(p.ns_op) + ", " + share(p.percent);
        var label = p.stage + " " + share(p.percent), pixels = width * (row.svg.clientWidth || 500);
        bar.text.textContent = label.length * 6.4 < pixels ? label : "";
        bar.text.setAttribute("x", 100 * (at + width / 2) + "%");
        at += width;
      });
      for (var name in row.bars) if (!used[name]) { row.bars[name].rect.remove(); row.bars[name].text.remove(); delete row.bars[name]; }
    });
    for (var id in this.rows) if (!keep[id]) { this.rows[id].root.remove(); delete this.rows[id]; }
    return alike ? "Shares: each bar is one whole operation, since the longest takes " + Math.round(most / least) + " times the shortest. The time stands at the end." : "One scale: a longer bar takes longer.";
  };
  Bars.prototype.row = function (id) {
    var r = { bars: {}, name: el("div", { "class": "barname" }), sum: el("div", { "class": "barsum" }), svg: svg("svg", { "class": "stages mod", width: "100%", height: 40, role: "img" }) };
    r.root = el("div", { "class": "barrow side-" + id }, r.name, el("div", { "class": "bar" }, r.svg), r.sum);
    return r;
  };

  // key names the stages' colours.
  function key(names, hues) {
    return el.apply(null, ["ul", { "class": "key", "aria-label": "colours of the stages" }].concat(names.map(function (n) {
      return el("li", null, svg("svg", { width: 14, height: 12, "class": "stages mod", "aria-hidden": "true" }, svg("rect", { x: 1, y: 1, width: 12, height: 10, "class": hues.of(n) })), n);
    })));
  }

  var LANES = 36;
  // fall draws one operation: a lane a track, in the order in which they began. max
  // is the time of the whole width.
  function fall(s, max, hues) {
    var t = s.side.timeline, lane = new Map();
    var all = t.intervals.slice().sort(function (a, b) { return a[2] - b[2] || a[1] - b[1] || a[3] - b[3]; });
    all.forEach(function (iv) { if (!lane.has(iv[1])) lane.set(iv[1], lane.size); });
    var shown = Math.min(lane.size, LANES), h = Math.min(Math.max(110 / shown, 3), 16), W = 1000, k = W / max;
    var pic = svg("svg", { "class": "fall stages mod", viewBox: "0 0 " + W + " " + h * shown, preserveAspectRatio: "none", width: "100%", height: h * shown, role: "img",
      "aria-label": "modelled, " + s.title + ": one operation of " + time(t.took_ns) + " on " + lane.size + (lane.size === 1 ? " track" : " tracks") + "; the bars above sum its stages" });
    var end = 0;
    all.concat([[0, 0, t.took_ns, t.took_ns]]).forEach(function (iv) {
      if (iv[2] > end && (iv[2] - end) * k >= 1) pic.append(svg("rect", { "class": "un", x: end * k, y: 0, width: (iv[2] - end) * k, height: h * shown }));
      end = Math.max(end, iv[3]);
    });
    var paths = t.stages.map(function () { return ""; });
    all.forEach(function (iv) {
      var n = lane.get(iv[1]);
      if (n >= shown) return;
      var w = Math.max((iv[3] - iv[2]) * k, 0.6).toFixed(2);
      paths[iv[0]] += "M" + (iv[2] * k).toFixed(2) + " " + (h * n + 0.5) + "h" + w + "v" + (h - 1) + "h-" + w + "z";
    });
    paths.forEach(function (d, i) { if (d) pic.append(svg("path", { "class": hues.of(t.stages[i]), d: d }, svg("title", null, t.stages[i]))); });
    var axis = svg("svg", { "class": "axis", width: "100%", height: 16, "aria-hidden": "true" });
    ticks(max, 4).forEach(function (v) { axis.append(svg("text", { x: 100 * v / max + "%", y: 12, "text-anchor": v === 0 ? "start" : v / max > 0.93 ? "end" : "middle" }, v === 0 ? "0" : time(v))); });
    var note = time(t.took_ns) + ", " + lane.size + (lane.size === 1 ? " track" : " tracks") + (shown < lane.size ? ", the first " + shown + " of them" : "");
    return el("figure", { "class": "side-" + s.id }, el("figcaption", null, s.title, el("small", null, note)), pic, axis);
  }

  // spread draws the distributions of operations' times on one axis, each as steps of
  // equal height at its highest.
  function spread(sides, width) {
    var W = Math.max(280, Math.min(width || 640, 736)), H = 150, L = 8, R = 8, B = 22, CELLS = 56, lo = Infinity, hi = 0;
    sides.forEach(function (s) {
      s.side.times.quantiles.forEach(function (q) { if (q[1] > 0) lo = Math.min(lo, q[1]); hi = Math.max(hi, q[1]); });
    });
    if (!(hi > 0)) return null;
    lo = Math.min(lo, hi / 1.5); hi = Math.max(hi, lo * 1.5);
    var pad = Math.pow(hi / lo, 0.03);
    var a = Math.log(lo / pad), b = Math.log(hi * pad), x = function (v) { return L + (W - L - R) * (Math.log(Math.max(v, lo / pad)) - a) / (b - a); };
    var pic = svg("svg", { "class": "chart mod spread", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "modelled: distribution of the times of operations of " + sides.map(function (s) { return s.title; }).join(", ") + "; the table below has its percentiles" });
    var decades = [], step = hi / lo > 30 ? [1] : hi / lo > 5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    for (var p = Math.floor(Math.log10(lo)); p <= Math.log10(hi); p++) step.forEach(function (m) { var v = m * Math.pow(10, p); if (v >= lo / pad && v <= hi * pad) decades.push(v); });
    var last = -100;
    decades.forEach(function (v) {
      pic.append(svg("line", { "class": "grid", x1: x(v), x2: x(v), y1: 4, y2: H - B }));
      if (x(v) - last < 58) return;
      last = x(v);
      pic.append(svg("text", { "class": "m", x: Math.min(Math.max(x(v), 18), W - 18), y: H - 6, "text-anchor": "middle" }, time(v)));
    });
    sides.slice().reverse().forEach(function (s) {
      var cells = new Array(CELLS).fill(0);
      s.side.times.buckets.forEach(function (k) {
        var mid = Math.max((k[0] + k[1]) / 2, lo);
        cells[Math.min(CELLS - 1, Math.max(0, Math.floor((Math.log(mid) - a) / (b - a) * CELLS)))] += k[2];
      });
      var top = Math.max.apply(null, cells), w = (W - L - R) / CELLS, d = "M" + L + " " + (H - B);
      cells.forEach(function (n, i) { d += "V" + (H - B - (H - B - 8) * n / top).toFixed(1) + "H" + (L + w * (i + 1)).toFixed(1); });
      pic.append(svg("path", { "class": "ridge side-" + s.id, d: d + "V" + (H - B) + "z" }, svg("title", null, s.title)));
    });
    sides.forEach(function (s) {
      var q = s.side.times.quantiles.filter(function (q) { return q[0] === 500; })[0];
      pic.append(svg("line", { "class": "median side-" + s.id, x1: x(q[1]), x2: x(q[1]), y1: 4, y2: H - B }, svg("title", null, s.title + ": median " + time(q[1]))));
    });
    return pic;
  }

  // rates draws throughput, a dot a side on one axis from 0.
  function rates(sides) {
    var max = 0, rowH = 24;
    sides.forEach(function (s) { max = Math.max(max, s.side.rate_n || 0); });
    if (!(max > 0)) return null;
    var pic = svg("svg", { "class": "chart mod rates", width: "100%", height: rowH * sides.length + 22, role: "img", "aria-label": "modelled: throughput of " + sides.map(function (s) { return s.title + " " + s.side.rate; }).join(", ") });
    var marks = ticks(max, 4);
    marks.forEach(function (v) {
      var at = 3 + 90 * v / max;
      pic.append(svg("line", { "class": "grid", x1: at + "%", x2: at + "%", y1: 2, y2: rowH * sides.length + 2 }));
      pic.append(svg("text", { "class": "m", x: at + "%", y: rowH * sides.length + 16, "text-anchor": "middle" }, number(v)));
    });
    sides.forEach(function (s, i) {
      var y = rowH * i + rowH / 2 + 2, at = 3 + 90 * s.side.rate_n / max;
      pic.append(svg("line", { "class": "stem side-" + s.id, x1: "3%", x2: at + "%", y1: y, y2: y }));
      pic.append(svg("circle", { "class": "disc side-" + s.id, cx: at + "%", cy: y, r: 5 }, svg("title", null, s.title + ": " + s.side.rate)));
    });
    return pic;
  }

  return { el: el, svg: svg, time: time, number: number, share: share, change: change, pretty: pretty, put: put, Bars: Bars, Hues: Hues, key: key, fall: fall, spread: spread, rates: rates, whole: whole };
})();
