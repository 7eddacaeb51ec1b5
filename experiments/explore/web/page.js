// The page's own: what is chosen, whom it asks, and what it shows of the answer.
(function () {
  "use strict";
  var el = draw.el, $ = function (id) { return document.getElementById(id); };
  var catalog = JSON.parse($("catalog").textContent).experiments;
  document.body.classList.add("js");

  // --- whom to ask -------------------------------------------------------------

  // Each asker has ask(request, {answer, failed}), which ends what was asked before.
  function Server() { this.turn = 0; }
  Server.prototype.ask = function (request, tell) {
    var turn = ++this.turn, self = this;
    if (this.abort) this.abort.abort();
    this.abort = new AbortController();
    function stale() { return turn !== self.turn; }
    var failed = function (text) { if (!stale()) tell.failed(text); };
    function go(tries) {
      fetch("run", { method: "POST", body: JSON.stringify(request), headers: { "Content-Type": "application/json" }, signal: self.abort.signal }).then(function (r) {
        if (stale()) return;
        if (r.status === 503 && tries > 0) { setTimeout(function () { if (!stale()) go(tries - 1); }, 60); return; }
        if (!r.ok) return r.text().then(failed);
        var reader = r.body.getReader(), decoder = new TextDecoder(), rest = "";
        return reader.read().then(function next(part) {
          if (stale()) return;
          rest += part.done ? "\n" : decoder.decode(part.value, { stream: true });
          var lines = rest.split("\n");
          rest = lines.pop();
          lines.forEach(function (line) {
            if (!line || stale()) return;
            var a = JSON.parse(line);
            if (a.error) failed(a.error); else tell.answer(a);
          });
          if (!part.done) return reader.read().then(next);
        });
      }).catch(function (err) {
        if (err.name !== "AbortError") failed("latlab serve doesn't answer any more; start it again (" + err.message + ")");
      });
    }
    go(20);
  };

  function unpack(id) {
    var raw = atob($(id).textContent), bytes = new Uint8Array(raw.length);
    for (var i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    $(id).textContent = "";
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  function Inside() {
    var self = this;
    this.turn = 0;
    Promise.all([unpack("support").text(), unpack("models").arrayBuffer()]).then(function (got) {
      var address = URL.createObjectURL(new Blob([got[0]], { type: "text/javascript" }));
      self.worker = new Worker(address);
      self.worker.onerror = function (e) { self.fail("the models can't be started: " + (e.message || "this browser allows no worker here")); };
      self.worker.onmessage = function (e) { self.heard(e.data); };
      self.worker.postMessage({ wasm: got[1] }, [got[1]]);
    }).catch(function (err) { self.fail("the models can't be unpacked: " + err.message); });
  }
  Inside.prototype.fail = function (text) { this.broken = text; if (this.tell) this.tell.failed(text); };
  Inside.prototype.heard = function (m) {
    if (m.failed) return this.fail("the models can't be started: " + m.failed);
    if (m.ready) {
      if (JSON.stringify(JSON.parse(m.ready).experiments) !== JSON.stringify(catalog)) return this.fail("the models inside this page are of another build than the page; make it again");
      this.ready = true;
      if (this.waiting) this.worker.postMessage(this.waiting);
    } else if (m.id === this.turn) {
      if (m.error) this.tell.failed(m.error); else this.tell.answer(JSON.parse(m.answer));
    }
  };
  Inside.prototype.ask = function (request, tell) {
    var m = { id: ++this.turn, request: JSON.stringify(request) };
    this.tell = tell;
    if (this.broken) return tell.failed(this.broken);
    if (this.ready) this.worker.postMessage(m); else this.waiting = m;
  };

  var asker = $("models") ? new Inside() : new Server();

  // --- what is chosen ----------------------------------------------------------

  // state is of one experiment: chosen levels and values that aren't the model's own.
  function State(x) { this.x = x; this.rig = x.models[0]; this.levels = {}; this.params = {}; this.seed = 1; }
  State.prototype.level = function (f) { return this.levels[f.name] || f.levels[0].label; };
  State.prototype.request = function () { return { experiment: this.x.name, rig: this.rig.rig, levels: this.levels, params: this.params, seed: this.seed }; };
  State.prototype.words = function () {
    var all = [], self = this;
    this.rig.factors.forEach(function (f) { if (self.level(f) !== f.levels[0].label) all.push(f.name + "=" + self.level(f)); });
    for (var p in this.params) all.push(p + "=" + this.params[p]);
    return all.join(", ") || "the baseline";
  };
  State.prototype.hash = function () {
    var q = new URLSearchParams();
    if (this.rig !== this.x.models[0]) q.set("rig", this.rig.rig);
    for (var f in this.levels) q.set(f, this.levels[f]);
    for (var p in this.params) q.set("p." + p, this.params[p]);
    if (this.seed !== 1) q.set("seed", this.seed);
    return "#/" + this.x.name + (String(q) ? "?" + q : "");
  };
  function read(x, query) {
    var s = new State(x), q = new URLSearchParams(query);
    s.rig = x.models.filter(function (m) { return m.rig === q.get("rig"); })[0] || s.rig;
    s.rig.factors.forEach(function (f) {
      if (f.levels.slice(1).some(function (l) { return l.label === q.get(f.name); })) s.levels[f.name] = q.get(f.name);
    });
    s.rig.params.forEach(function (p) { var v = q.get("p." + p.name); if (v !== null && v !== p.text) s.params[p.name] = v; });
    if (/^[1-9][0-9]{0,8}$/.test(q.get("seed") || "")) s.seed = Number(q.get("seed"));
    return s;
  }

  // --- values of parameters ----------------------------------------------------

  var STEPS = 200;
  function round3(v) { return v <= 0 ? 0 : Number(v.toPrecision(3)); }
  // value text as the model reads it, from an integer.
  function text(p, v) {
    if (p.unit === "share") return String(Math.round(v) / 1e6);
    if (p.unit !== "time") return String(Math.round(v));
    if (v === 0) return "0s";
    var u = v < 1e3 ? [1, "ns"] : v < 1e6 ? [1e3, "us"] : v < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    return Math.round(v) / u[0] + u[1];
  }
  function shown(p, t) { return p.unit === "bytes/s" && t === "0" ? "no limit" : t.replace(/(\d)(ns|us|ms|s)$/, "$1 $2"); }
  // integer of a text, for the slider's place; null if it can't be read.
  function integer(p, t) {
    if (p.unit !== "time") { var n = Number(t); return t.trim() === "" || isNaN(n) ? null : p.unit === "share" ? n * 1e6 : n; }
    var unit = { ns: 1, us: 1e3, "\u00b5s": 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 }, sum = 0, rest = t.trim();
    if (rest === "0") return 0;
    while (rest) {
      var m = /^(\d*\.?\d+)(ns|us|\u00b5s|ms|s|m|h)/.exec(rest);
      if (!m) return null;
      sum += m[1] * unit[m[2]]; rest = rest.slice(m[0].length);
    }
    return t.trim() ? sum : null;
  }
  function wide(p) { return p.lo > 0 && p.hi / p.lo > 20; }
  function toPlace(p, v) {
    v = Math.min(Math.max(v, p.lo), p.hi);
    return wide(p) ? STEPS * Math.log(v / p.lo) / Math.log(p.hi / p.lo) : STEPS * (v - p.lo) / (p.hi - p.lo);
  }
  function toValue(p, place) {
    var v = wide(p) ? p.lo * Math.pow(p.hi / p.lo, place / STEPS) : p.lo + (p.hi - p.lo) * place / STEPS;
    if (p.unit === "count") return Math.round(v);
    return place <= 0 ? p.lo : place >= STEPS ? p.hi : Math.min(Math.max(round3(v), p.lo), p.hi);
  }

  // --- the explorer ------------------------------------------------------------

  var view = $("view-explore"), now = null; // now: {state, pinned, parts}

  function explore(state) {
    if (now && now.state.x === state.x && now.state.hash() === state.hash()) return;
    var pinned = now && now.pinned && now.pinned.state.x === state.x ? now.pinned : null;
    now = { state: state, pinned: pinned, parts: {} };
    build();
    ask();
  }

  function part(name, e) { now.parts[name] = e; return e; }

  function build() {
    var s = now.state, x = s.x;
    draw.put(view,
      el("p", { "class": "mute crumb" }, el("a", { href: "#/" + x.case }, x.case), " / " + x.name.slice(x.case.length + 1)),
      el("h1", { id: "explore-h" }, x.question),
      x.note && el("p", { "class": "mute" }, x.note),
      el("div", { "class": "bench" }, el("form", { "class": "card controls", "aria-label": "Settings" }), el("div", { "class": "results" }))
    );
    controls();
    results();
  }

  function controls() {
    var s = now.state, form = view.querySelector(".controls");
    form.addEventListener("submit", function (e) { e.preventDefault(); });
    var moving = s.rig.params.filter(function (p) { return p.hi > p.lo; }), fixed = s.rig.params.filter(function (p) { return p.hi <= p.lo; });
    draw.put(form,
      el("h2", null, "Toggles"),
      s.x.models.length > 1 && models(s),
      el.apply(null, ["div", null].concat(s.rig.factors.map(factor))),
      el("p", { "class": "buttons" },
        button("Reset", function () { change(new State(s.x)); }, "Back to the baseline of everything"),
        button("Another seed", function () { s.seed = s.seed % 999 + 1; settled(); }, "Draw all chance anew")),
      el("details", { "class": "rests", open: matchMedia("(min-width: 58rem)").matches },
      el("summary", null, el("h2", null, "What the model rests on")),
      el("p", { "class": "mute small" }, "Each value with its source. \u25cf published: it stands in the study. \u25c6 calibrated: fitted. \u25cb assumed: nobody measured it."),
      el.apply(null, ["div", null].concat(moving.map(param))),
      fixed.length > 0 && el.apply(null, ["details", null, el("summary", null, "Settled by the study (" + fixed.length + ")")].concat(fixed.map(param))),
      s.rig.assumes.length > 0 && el("details", null, el("summary", null, "Beside the values (" + s.rig.assumes.length + ")"),
        el.apply(null, ["ul", { "class": "small" }].concat(s.rig.assumes.map(function (a) { return el("li", null, a); })))))
    );
  }
  function button(name, act, words) {
    var b = el("button", { type: "button", title: words }, name);
    b.addEventListener("click", act);
    return b;
  }
  function models(s) {
    var select = el.apply(null, ["select", { id: "model" }].concat(s.x.models.map(function (m) { return el("option", { value: m.rig, selected: m === s.rig }, m.rig); })));
    select.addEventListener("change", function () {
      var next = new State(s.x);
      next.rig = s.x.models.filter(function (m) { return m.rig === select.value; })[0];
      change(next);
    });
    return el("p", { "class": "field" }, el("label", { "for": "model" }, "model"), select);
  }
  function change(state) { now.state = state; controls(); settled(); }

  function factor(f, i) {
    var s = now.state, letters = f.levels.reduce(function (n, l) { return n + l.label.length + 3; }, 0);
    var judged = i === 0 && s.x.rule ? el("small", null, " the rule is about this") : "";
    function set(label) {
      if (label === f.levels[0].label) delete s.levels[f.name]; else s.levels[f.name] = label;
      said();
      settled();
    }
    var note = el("small", { "class": "simulates" });
    function said() {
      var l = f.levels.filter(function (l) { return l.label === s.level(f); })[0];
      note.textContent = l.simulates ? "simulates " + l.simulates : "";
    }
    said();
    if (f.levels.length < 2) return el("p", { "class": "field" }, el("span", { "class": "name" }, f.name), el("span", null, f.levels[0].label));
    if (letters > 44 || f.levels.length > 6) {
      var id = "f-" + i, select = el.apply(null, ["select", { id: id, name: f.name }].concat(f.levels.map(function (l) { return el("option", { value: l.label, selected: l.label === s.level(f) }, l.label); })));
      select.addEventListener("change", function () { set(select.value); });
      return el("div", { "class": "field" }, el("label", { "for": id }, f.name, judged), select, note);
    }
    return el("fieldset", { "class": "field" }, el("legend", null, f.name, judged),
      el.apply(null, ["div", { "class": "segments" }].concat(f.levels.map(function (l, n) {
        var radio = el("input", { type: "radio", name: f.name, value: l.label, id: "f-" + i + "-" + n, checked: l.label === s.level(f) });
        radio.addEventListener("change", function () { set(l.label); });
        return el("span", null, radio, el("label", { "for": radio.id }, l.label));
      }))), note);
  }

  var MARK = { published: "\u25cf", calibrated: "\u25c6", assumed: "\u25cb" };
  function param(p) {
    var s = now.state, id = "p-" + p.name, own = s.params[p.name];
    var box = el("input", { type: "text", id: id, value: own === undefined ? p.text : own, spellcheck: "false", autocomplete: "off", size: 9, "aria-describedby": id + "-d" });
    var slider = p.hi > p.lo && el("input", { type: "range", min: 0, max: STEPS, step: p.unit === "count" && p.hi - p.lo < STEPS && !wide(p) ? STEPS / (p.hi - p.lo) : 1, "aria-label": p.name, "aria-describedby": id + "-d" });
    var back = button("\u21ba", function () { write(p.text); box.focus(); }, "Back to " + p.text + ", " + p.kind);
    back.classList.add("back");
    back.setAttribute("aria-label", "Back to " + p.text + ", " + p.kind + ": " + p.name);
    function show(t) {
      var v = integer(p, t), changed = t !== p.text;
      if (slider) {
        if (v !== null) slider.value = toPlace(p, v);
        slider.setAttribute("aria-valuetext", t);
      }
      row.classList.toggle("changed", changed);
      back.hidden = !changed;
    }
    function write(t, live) {
      t = t.trim();
      if (box.value !== t) box.value = t;
      if (t === p.text) delete s.params[p.name]; else s.params[p.name] = t;
      show(t);
      settled(live);
    }
    box.addEventListener("change", function () { write(box.value || p.text); });
    if (slider) slider.addEventListener("input", function () {
      var v = toValue(p, Number(slider.value));
      write(Math.abs(slider.value - toPlace(p, p.value)) < 0.5 ? p.text : text(p, v), true);
    });
    var row = el("div", { "class": "param " + p.kind },
      el("div", { "class": "head" }, el("label", { "for": id }, p.name), back, box),
      slider && el("div", { "class": "track" }, slider, el("div", { "class": "ends", "aria-hidden": "true" }, el("span", null, shown(p, p.lo_text)), el("span", null, shown(p, p.hi_text)))),
      el("p", { "class": "small", id: id + "-d" }, p.what + " ", el("span", { "class": "source " + p.kind }, (MARK[p.kind] || "") + " " + p.kind + ": " + p.source)));
    show(box.value);
    return row;
  }

  // --- results -------------------------------------------------------------------

  function card(title, words) {
    var body = [].slice.call(arguments, 2);
    return el.apply(null, ["section", { "class": "card panelcard" }, el("h2", null, title, " ", el("span", { "class": "tag modelled" }, "modelled")), words && el("p", { "class": "mute small" }, words)].concat(body));
  }
  function results() {
    var box = view.querySelector(".results");
    var bars = el("div", { "class": "bars" });
    part("hues", new draw.Hues());
    part("bars", new draw.Bars(bars, now.parts.hues));
    draw.put(box,
      el("section", { "class": "card answer", "aria-labelledby": "answer-h" },
        el("div", { "class": "answerhead" }, el("h2", { id: "answer-h" }, "Answer ", el("span", { "class": "tag modelled" }, "modelled")), part("progress", el("span", { "class": "mute small progress" }))),
        part("problem", el("p", { "class": "bad", role: "alert", hidden: true })),
        part("headline", el("p", { "class": "headline big" }, "\u2026")),
        part("why", el("p", { "class": "mute" })),
        part("glance", el("div", { "class": "wrap", tabindex: 0, role: "group", "aria-label": "figures of the settings" })),
        s_rule(),
        el("p", { "class": "buttons" }, part("pin", button("Pin this setting", pin, "Keep this setting beside those that follow")), part("unpin", button("Unpin", unpin, "Forget the pinned setting")))),
      card("Where the time went", null, part("barnote", el("p", { "class": "mute small" })), part("key", el("div")), bars, part("bartable", el("details"))),
      card("One operation", "The one with the median time of some of the first trial. A lane is something that works by itself; what no stage covers is hatched.", part("falls", el("div", { "class": "grid falls" })), part("fallnote", el("p", { "class": "mute small" }))),
      card("How long operations take", null, part("spreadnote", el("p", { "class": "mute small" })), part("spread", el("div")), part("percentiles", el("div", { "class": "wrap", tabindex: 0, role: "group", "aria-label": "percentiles" }))),
      card("Throughput", null, part("ratenote", el("p", { "class": "mute small" })), part("rates", el("div"))),
      card("All outcomes", null, part("outcomes", el("div", { "class": "wrap", tabindex: 0, role: "group", "aria-label": "all outcomes" }))),
      card("The same from the command line", "It gives these figures to the digit, on any machine.", el("pre", { "class": "command" }, part("command", el("code"))),
        el("p", { "class": "buttons" }, button("Copy", copy, "Copy the command line"), part("copied", el("span", { "class": "mute small", role: "status" }))))
    );
    part("strip", el("div", { "class": "strip", "aria-hidden": "true" }));
    box.append(now.parts.strip);
    now.parts.unpin.hidden = !now.pinned;
  }
  function s_rule() { return now.state.x.rule ? el("p", { "class": "rule" }, el("b", null, "Rule"), now.state.x.rule) : null; }

  function copy() {
    var text = now.parts.command.textContent, done = now.parts.copied;
    function selected() {
      var r = document.createRange();
      r.selectNodeContents(now.parts.command);
      getSelection().removeAllRanges(); getSelection().addRange(r);
      try { if (document.execCommand("copy")) { done.textContent = "copied"; return; } } catch (_) { /* below */ }
      done.textContent = "selected: copy it with the keyboard";
    }
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(function () { done.textContent = "copied"; }, selected);
    else selected();
  }

  function pin() {
    if (!now.answer) return;
    var s = new State(now.state.x);
    s.rig = now.state.rig; s.levels = Object.assign({}, now.state.levels); s.params = Object.assign({}, now.state.params); s.seed = now.state.seed;
    now.pinned = { state: s, answer: now.answer };
    show();
    now.parts.pin.focus();
  }
  function unpin() { now.pinned = null; show(); now.parts.pin.focus(); }

  function cell(tag, t, cls) { return el(tag, { "class": cls, scope: tag === "th" ? "col" : null }, t); }
  function table(caption, head, rows) {
    return el("table", null, el("caption", null, caption), el("thead", null, el.apply(null, ["tr", null].concat(head.map(function (h, i) { return cell("th", h, i ? "n" : ""); })))),
      el.apply(null, ["tbody", null].concat(rows.map(function (r) {
        return el.apply(null, ["tr", null].concat(r.map(function (c, i) { return i ? el("td", { "class": "n" }, c) : el("th", { scope: "row" }, c); })));
      }))));
  }
  function figure(side, unit) { return side.figures.filter(function (f) { return f.unit === unit; })[0]; }
  // plain is a figure without its interval.
  function plain(t) { return draw.pretty(t.replace(/ \[.*$/, "")); }
  function marked(id, t) { return el("span", { "class": "mark side-" + id }, t); }

  // call names a level: a bare number or a yes says too little.
  function call(factor, label) { return /^[\d.]/.test(label) || label === "true" || label === "false" || label === "none" ? factor + "=" + label : label; }
  // sides are what the pictures show: the setting, its reference, the pinned one.
  function sides() {
    var a = now.answer, all = [{ id: "now", side: a.now, title: a.reference ? call(a.factor, a.chosen) : "this setting", words: now.state.words() }];
    if (a.reference) all.push({ id: "ref", side: a.reference, title: call(a.factor, a.baseline), words: "baseline" });
    if (now.pinned) all.push({ id: "pin", side: now.pinned.answer.now, title: "pinned", words: now.pinned.state.words() });
    return all;
  }

  var SIGN = { holds: "\u2713 ", fails: "\u2715 ", inconclusive: "? " };
  function show() {
    var a = now.answer, p = now.parts, s = now.state;
    if (!a) return;
    var all = sides(), sec = "sec/op", mine = figure(a.now, sec);
    var rest = s.rig.factors.slice(1).filter(function (f) { return s.level(f) !== f.levels[0].label; }).map(function (f) { return f.name + "=" + s.level(f); }).concat(a.changed || []);

    p.progress.textContent = a.cut || (a.blocks < a.planned ? a.blocks + " of " + a.planned + " blocks" : a.planned + " blocks of " + (a.now.virtual_ns > 0 ? Math.round(a.now.ops / a.planned) + (a.now.ops === a.planned ? " operation" : " operations") : "") + ", seed " + s.seed);
    var delta = (a.effects || []).filter(function (d) { return d.unit === sec; })[0];
    p.headline.replaceChildren();
    if (a.reference) {
      p.headline.append(el("b", null, call(a.factor, a.chosen)), " instead of ", el("b", null, a.baseline), ": ", el("span", { "class": "figure" }, plain(mine.text)), " an operation");
      if (delta) p.headline.append(", ", el("span", { "class": "figure" }, draw.pretty(delta.text)));
      if (a.verdict) p.headline.append(" ", el("span", { "class": "verdict " + a.verdict }, (SIGN[a.verdict] || "") + a.verdict));
      p.why.textContent = (a.reason ? a.reason + ". " : "") + (rest.length ? "Both with " + rest.join(", ") + "." : "All else is at its baseline.");
    } else {
      p.headline.append(el("span", { "class": "figure" }, plain(mine.text)), " an operation. ", el("span", { "class": "mute" }, "This is the baseline of " + a.factor + ": flip it to compare."));
      p.why.textContent = rest.length ? "With " + rest.join(", ") + "." : "All is at its baseline.";
    }
    p.glance.replaceChildren(table("figures, modelled", ["setting", "time an operation", "95th percentile", "throughput"], all.map(function (x) {
      var q = x.side.times && x.side.times.quantiles.filter(function (q) { return q[0] === 950; })[0], f = figure(x.side, "p95-ns/op");
      var name = el("span", null, marked(x.id, x.id === "ref" ? x.title + ", the baseline" : x.id === "pin" ? "pinned" : x.title), x.id === "pin" ? el("small", null, x.words) : "");
      var time = figure(x.side, sec).text, interval = draw.pretty(time.replace(/^[^\[]*/, ""));
      return [name, el("span", null, plain(time), interval && el("small", null, interval)), f ? plain(f.text) : q ? draw.time(q[1]) : "\u2013", x.side.rate];
    })));
    if (now.pinned && mine.mid > 0) {
      var was = figure(now.pinned.answer.now, sec).mid;
      p.why.textContent += " Against the pinned setting: " + draw.change(mine.mid / was) + " time an operation; no rule judges that.";
    }
    p.unpin.hidden = !now.pinned;
    p.pin.textContent = now.pinned ? "Pin this setting instead" : "Pin this setting";

    stages(all);
    waterfalls(all);
    distribution(all);
    throughput(all);
    outcomes(all, a);
    p.command.textContent = a.command;
    p.copied.textContent = "";
    p.strip.replaceChildren(el("span", { "class": "tag modelled" }, "modelled"), " ", el("b", null, plain(mine.text)), delta ? " " + plain(delta.text) : "", a.verdict ? el("span", { "class": "verdict " + a.verdict }, " " + (SIGN[a.verdict] || "") + a.verdict) : "");
    if (a.final) $("live").textContent = "Modelled: " + p.headline.textContent;
  }

  function hide(e, yes) { e.closest(".card").hidden = yes; }

  function stages(all) {
    var p = now.parts, with_ = all.filter(function (x) { return x.side.path.length && draw.whole(x.side) > 0; });
    hide(p.bartable, !with_.length);
    if (!with_.length) return;
    with_.forEach(function (x) { p.hues.see(x.side); });
    p.barnote.textContent = "The time of an operation on its critical path, by stage. " + p.bars.show(with_);
    var names = with_[0].side.path.map(function (r) { return r.stage; });
    var used = names.filter(function (n, i) { return with_.some(function (x) { return (x.side.path[i] || {}).ns_op > 0; }); });
    p.key.replaceChildren(draw.key(used, p.hues));
    var open = p.bartable.open;
    p.bartable.replaceChildren(el("summary", null, "Table"), el("div", { "class": "wrap", tabindex: 0, role: "group", "aria-label": "stages" }, table("time of an operation by stage, modelled", ["stage"].concat(with_.map(function (x) { return x.title; })),
      names.map(function (n, i) { return [n].concat(with_.map(function (x) { var r = x.side.path[i]; return r ? draw.time(r.ns_op) + " (" + draw.share(r.percent) + ")" : "\u2013"; })); }))));
    p.bartable.open = open;
  }
  function waterfalls(all) {
    var p = now.parts, with_ = all.filter(function (x) { return x.side.timeline; });
    var busy = all.some(function (x) { return x.side.path.length && !x.side.timeline; });
    hide(p.falls, !with_.length && !busy);
    var max = 0, min = Infinity;
    with_.forEach(function (x) { max = Math.max(max, x.side.timeline.took_ns); min = Math.min(min, x.side.timeline.took_ns); });
    p.falls.replaceChildren.apply(p.falls, with_.map(function (x) { return draw.fall(x, max > 12 * min ? x.side.timeline.took_ns : max, p.hues); }));
    p.fallnote.textContent = (max > 12 * min ? "Each on a scale of its own, since the longest takes " + Math.round(max / min) + " times the shortest. " : "")
      + (busy ? "An operation of more than 2500 intervals isn't drawn." : "");
  }
  function distribution(all) {
    var p = now.parts, with_ = all.filter(function (x) { return x.side.times; });
    hide(p.spread, !with_.length);
    if (!with_.length) return;
    var still = with_.every(function (x) { var q = x.side.times.quantiles; return q[0][1] === q[q.length - 1][1]; });
    p.spreadnote.textContent = still ? "All operations of a setting take the same time: nothing in this model is drawn by chance." : "The share of operations that take so long, each as high as its peak; the line is the median. The axis is logarithmic.";
    p.spread.replaceChildren(draw.spread(with_, p.spread.clientWidth) || "");
    var cols = [[500, "50"], [900, "90"], [950, "95"], [990, "99"], [999, "99.9"], [1000, "100"]];
    p.percentiles.replaceChildren(table("percentiles of the time of an operation, modelled", ["setting", "operations"].concat(cols.map(function (c) { return c[1] + " %"; })), with_.map(function (x) {
      var q = {};
      x.side.times.quantiles.forEach(function (k) { q[k[0]] = k[1]; });
      return [marked(x.id, x.title), String(x.side.times.count)].concat(cols.map(function (c) { return draw.time(q[c[0]]); }));
    })));
  }
  function throughput(all) {
    var p = now.parts;
    p.ratenote.textContent = all[0].side.rate_of ? "In " + all[0].side.rate_of + " a second, of all users together." : "Operations a second of one caller who does one after the other.";
    p.rates.replaceChildren(el("div", { "class": "raterow" }, el.apply(null, ["ul", null].concat(all.map(function (x) { return el("li", null, marked(x.id, x.title), " ", x.side.rate); }))), draw.rates(all) || ""));
  }
  function outcomes(all, a) {
    var p = now.parts, ref = a.reference;
    var head = ["outcome", "better", "this setting"].concat(ref ? ["baseline", "change"] : [], now.pinned ? ["pinned"] : []);
    p.outcomes.replaceChildren(table("medians of " + a.blocks + (a.blocks === 1 ? " trial" : " trials") + " with intervals, modelled", head, a.now.figures.map(function (f) {
      var row = [f.unit === "sec/op" ? "time/op" : f.unit, f.better === "up" || f.better === "higher" ? "more" : "less", draw.pretty(f.text)];
      if (ref) {
        var r = figure(ref, f.unit), d = (a.effects || []).filter(function (d) { return d.unit === f.unit; })[0];
        row.push(r ? draw.pretty(r.text) : "\u2013", d ? draw.pretty(d.text) : "\u2013");
      }
      if (now.pinned) { var k = figure(now.pinned.answer.now, f.unit); row.push(k ? draw.pretty(k.text) : "\u2013"); }
      return row;
    })));
  }

  // --- asking ----------------------------------------------------------------------

  var timer = 0;
  // settled notes the setting in the address and asks; while a slider moves, at most
  // once in a while.
  function settled(live) {
    history.replaceState(null, "", now.state.hash());
    clearTimeout(timer);
    timer = setTimeout(ask, live ? 30 : 0);
  }
  function ask() {
    var mine = now;
    view.classList.add("asking");
    var start = performance.now(), first = true;
    asker.ask(mine.state.request(), {
      answer: function (a) {
        if (now !== mine) return;
        if (first) { view.dataset.moved = Math.round(performance.now() - start); first = false; }
        mine.answer = a;
        mine.parts.problem.hidden = true;
        show();
        view.dataset.blocks = a.blocks;
        if (a.final) { view.classList.remove("asking"); view.dataset.took = Math.round(performance.now() - start); view.dataset.final = a.command; }
      },
      failed: function (text) {
        if (now !== mine) return;
        view.classList.remove("asking");
        mine.parts.problem.textContent = text;
        mine.parts.problem.hidden = false;
      }
    });
  }

  // --- pages -----------------------------------------------------------------------

  function route(e) {
    var path = decodeURIComponent(location.hash.replace(/^#\/?/, "").replace(/\?.*$/, "")), query = location.hash.replace(/^[^?]*\??/, "");
    var x = catalog.filter(function (x) { return x.name === path; })[0], home = $("view-" + path), id = x ? "view-explore" : home && path !== "explore" ? home.id : "view-home";
    [].forEach.call(document.querySelectorAll(".view"), function (v) { v.hidden = v.id !== id; });
    [].forEach.call(document.querySelectorAll(".cases a"), function (a) {
      var here = a.getAttribute("href") === "#/" + (x ? x.case : path);
      if (here) a.setAttribute("aria-current", x ? "true" : "page"); else a.removeAttribute("aria-current");
    });
    if (x) explore(read(x, query));
    document.title = (x ? x.name : path || "explore") + " \u00b7 latlab, modelled";
    if (e && location.hash !== "#main") { scrollTo(0, 0); $("main").focus({ preventScroll: true }); }
  }
  addEventListener("hashchange", function (e) { if (location.hash !== "#main") route(e); });
  route();
})();
