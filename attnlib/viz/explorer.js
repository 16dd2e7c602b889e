// The explorer: one text, several models. No dependencies, nothing loaded.
//
// Two hosts call render({ model, el }): anywidget in a live notebook, and `frozen` below in a report.
// `model` has get(name), set(name, value), save_changes() and on(event, callback):
//   data   { texts: [{ name, label }], levels: { id: words }, models: [Model], text: where to start }   see explorer.py
//   typed  a text of the user's (live only);  problem  what was wrong with it;  live  whether a kernel listens

const BLUE = "0,114,178", ORANGE = "213,94,0", STRONGEST = 0.75, SHOWN = 400;

const STYLE = `
.ax { --ax-line: var(--line, var(--jp-border-color2, #c8ccd2)); --ax-paper: var(--paper, var(--jp-layout-color0, Canvas));
  --ax-ink: var(--ink, var(--jp-content-font-color1, inherit)); color: var(--ax-ink); font-size: 1em; line-height: 1.5;
  border: 1px solid var(--ax-line); border-radius: .4em; padding: .8em 1em; margin: .8em 0; text-align: left; }
.ax * { box-sizing: border-box; }
.ax-bar { display: flex; flex-wrap: wrap; gap: .5em 1.2em; align-items: end; margin-bottom: .6em; }
.ax label { display: flex; flex-direction: column; font-size: .85em; gap: .15em; min-width: 0; }
.ax .ax-wide { flex: 1 1 100%; }
.ax .ax-check { flex-direction: row; align-items: center; gap: .4em; min-height: 2.2em; }
.ax select, .ax input[type=text], .ax button { font: inherit; color: inherit; background: var(--ax-paper);
  border: 1px solid var(--ax-line); border-radius: .25em; padding: .3em .5em; max-width: 100%; min-height: 2.2em; }
.ax button { cursor: pointer; }
.ax button:disabled { opacity: .5; cursor: default; }
.ax input[type=range] { width: 100%; accent-color: rgb(${BLUE}); min-height: 1.8em; }
.ax-models { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17em, 100%), 1fr)); gap: 1em 1.6em; }
.ax-model { min-width: 0; }
.ax-name { font-weight: 600; margin: 0 0 .2em; }
.ax-said { margin: 0 0 .3em; }
.ax-scale { position: relative; height: .7em; border: 1px solid var(--ax-line); margin-bottom: .35em; }
.ax-fill { position: absolute; inset: 0 auto 0 0; }
.ax-ruler { position: relative; height: .35em; margin: 0 0 .5em; background: rgba(${BLUE},.55); overflow: hidden; }
.ax-ruler span { position: absolute; top: 0; bottom: 0; background: rgb(${ORANGE}); }
.ax-ruler i { position: absolute; top: 0; bottom: 0; width: 3px; margin-left: -1px; background: currentColor; }
.ax-text { overflow-wrap: anywhere; line-height: 1.95; margin: 0; }
.ax-text .ax-unit { display: block; margin-bottom: .35em; padding-left: .5em; border-left: .35em solid transparent; }
.ax-token { display: inline-block; max-width: 100%; padding: 0 .2em; border-radius: .2em; line-height: 1.5; }
.ax-token.ax-gone, .ax-unit.ax-gone { text-decoration: line-through; opacity: .55; }
.ax-token.ax-marked { text-decoration: underline 2px; text-underline-offset: 3px; }
.ax-text button.ax-token { border: 1px dotted var(--ax-line); background-clip: padding-box; min-height: 0; line-height: 1.4; }
.ax-text button[aria-pressed=true] { outline: 2px solid currentColor; }
.ax-edit { display: flex; flex-wrap: wrap; gap: .3em 1em; align-items: end; margin-top: .5em; }
.ax-edit label { flex: 1 1 12em; }
.ax-note { font-size: .82em; opacity: .85; margin: .5em 0 0; }
.ax-problem { border-left: 3px solid rgb(${ORANGE}); padding-left: .7em; margin: .3em 0; }
.ax :focus-visible { outline: 2px solid rgb(${BLUE}); outline-offset: 1px; }
@media print { .ax-bar, .ax-edit { display: none; } }
`;

function make(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") made.textContent = value;
    else if (name === "on") for (const [event, action] of Object.entries(value)) made.addEventListener(event, action);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function softmax(z) {
  const top = Math.max(...z), e = z.map((v) => Math.exp(v - top)), sum = e.reduce((a, b) => a + b, 0);
  return e.map((v) => v / sum);
}

// z = b + sum_i alpha_i v_i (v_i holds the scale of TaSc): the whole model above its encoder.
export function decided(pooled, alpha) {
  const z = pooled.bias.map((b, c) => alpha.reduce((sum, a, i) => sum + a * pooled.values[i][c], b));
  return softmax(z);
}

// One weight set by hand; the others keep their proportions and share the rest.
export function edited(alpha, place, weight) {
  const rest = alpha.reduce((sum, a, i) => (i === place ? sum : sum + a), 0), others = alpha.length - 1;
  return alpha.map((a, i) => {
    if (i === place) return others ? weight : 1;
    return rest > 0 ? (a / rest) * (1 - weight) : (1 - weight) / others;
  });
}

function colour(value, row) {
  const low = row.centre === undefined ? 0 : row.centre;
  const span = value < low ? low - row.low : row.high - low;
  const strength = Number.isFinite(value) && span > 0 ? Math.min(Math.abs(value - low) / span, 1) : 0;
  return `rgba(${value < low ? ORANGE : BLUE},${(strength * STRONGEST).toFixed(3)})`;
}

const digits = (value) => (Math.abs(value) < 1 ? value.toFixed(3) : value.toPrecision(3)).replace("-", "−");
const percent = (value) => `${(100 * value).toFixed(1)}%`;

function render({ model, el }) {
  const state = { text: model.get("data").text || 0, by: null, level: null, erased: 0, editing: false, weights: {}, picked: {} };
  // Keys belong to the controls: JupyterLab would take Enter, letters and arrows for commands on cells.
  const root = make("div", { class: "ax", role: "group", "aria-label": "Explorer", "data-lm-suppress-shortcuts": "true",
    on: { keydown: (event) => event.stopPropagation() } });
  const data = () => model.get("data");
  const live = () => Boolean(model.get("live"));
  const models = () => data().models;
  const here = (one) => one.texts[state.text];
  const path = (one) => {
    const levels = here(one).paths, level = levels[state.level] ? state.level : Object.keys(levels)[0];
    const paths = levels[level];
    return paths[state.by] || paths[one.ranks[state.by]] || Object.values(paths)[0];
  };
  const most = () => Math.max(1, ...models().map((one) => path(one).order.length));

  function start() {
    const rows = [...new Set(models().flatMap((one) => Object.keys(here(one).rows)))];
    if (!rows.includes(state.by)) state.by = rows[0];
    const levels = [...new Set(models().flatMap((one) => Object.keys(here(one).paths)))];
    if (!levels.includes(state.level)) state.level = levels[0];
    state.erased = Math.min(state.erased, most());
    return { rows, levels };
  }

  function choice(name, values, names, chosen, change, wide) {
    const select = make("select", { on: { change: () => change(select.value) } },
      ...values.map((value, i) => make("option", { value, text: names[i], selected: value === String(chosen) })));
    return make("label", { class: wide ? "ax-wide" : null }, name, select);
  }

  function controls() {
    const { rows, levels } = start(), bar = make("div", { class: "ax-bar" });
    const texts = data().texts;
    bar.append(choice("Text", texts.map((_, i) => String(i)), texts.map((one) => one.name), state.text, (value) => {
      Object.assign(state, { text: Number(value), erased: 0, weights: {}, picked: {} });
      draw();
    }, true));
    if (live()) {
      const typed = make("input", { type: "text", placeholder: "type a text and press Enter", on: { keydown: (event) => {
        if (event.key !== "Enter" || !typed.value.trim()) return;
        say("computing…");
        model.set("typed", typed.value);
        model.save_changes();
      } } });
      bar.append(make("label", { class: "ax-wide" }, "Your own text", typed));
    }
    const names = data().rows;
    bar.append(choice("Colour and rank by", rows, rows.map((row) => names[row] || row), state.by, (value) => {
      state.by = value;
      draw();
    }));
    bar.append(choice("Erase at", levels, levels.map((level) => `${level} level`), state.level, (value) => {
      state.level = value;
      draw();
    }));
    if (models().some((one) => here(one).pooled)) {
      const box = make("input", { type: "checkbox", checked: state.editing, on: { change: () => {
        Object.assign(state, { editing: box.checked, weights: {}, picked: {}, erased: 0 });
        draw();
      } } });
      bar.append(make("label", { class: "ax-check" }, box, "Edit attention by hand"));
    }
    const slider = make("input", { type: "range", min: 0, max: most(), step: 1, value: state.erased,
      disabled: state.editing, "aria-label": "tokens erased", on: { input: () => {
        state.erased = Number(slider.value);
        count.textContent = counted();
        panels();
        remember();
      } } });
    slider.value = state.erased;
    const count = make("output", { text: counted() });
    bar.append(make("label", { class: "ax-wide" }, count, slider));
    return bar;
  }

  const counted = () => `Erased: ${state.erased} of ${most()}, highest ${data().rows[state.by] || state.by} first`;

  function panel(one, m) {
    const text = here(one), row = text.rows[state.by] || Object.values(text.rows)[0], steps = path(one);
    const found = outcome(one, m, text, steps), name = one.classes[text.predicted];
    const told = make("p", { class: "ax-said", role: "status", "aria-live": "polite", "data-p": found.p, "data-class": found.winner },
      "p(", make("b", { text: name }), `) = ${found.p.toFixed(3)}`,
      found.winner === text.predicted ? "" : make("b", { text: ` · decides for ${one.classes[found.winner]}` }));
    const bar = make("div", { class: "ax-scale", "aria-hidden": true }, make("div", { class: "ax-fill",
      style: `width:${percent(found.p)};background:rgb(${found.winner === text.predicted ? BLUE : ORANGE})` }));
    const parts = [...(one.name ? [make("p", { class: "ax-name", text: one.name })] : []), told, bar];
    if (!state.editing) parts.push(ruler(steps), make("p", { class: "ax-note", style: "margin-top:0", text: verdict(steps, one.units[state.level]) }));
    parts.push(body(one, m, text, row, found.gone));
    if (state.editing && text.pooled) parts.push(editor(one, m, text));
    if (state.editing && !text.pooled) parts.push(make("p", { class: "ax-note", text: "Its prediction is not a weighted sum over tokens, so attention cannot be edited here." }));
    return make("section", { class: "ax-model", "aria-label": one.name || "model" }, ...parts);
  }

  function outcome(one, m, text, steps) {
    if (state.editing && text.pooled && state.weights[m]) {
      const p = decided(text.pooled, state.weights[m]);
      return { p: p[text.predicted], winner: p.indexOf(Math.max(...p)), gone: new Set() };
    }
    const k = state.editing ? 0 : Math.min(state.erased, steps.order.length);
    return { p: steps.p[k], winner: steps.winner[k], gone: new Set(steps.order.slice(0, k).flat()) };
  }

  function ruler(steps) {
    const n = steps.order.length, line = make("div", { class: "ax-ruler", "aria-hidden": true });
    steps.winner.forEach((winner, k) => {
      if (winner !== steps.winner[0]) line.append(make("span", { style: `left:${percent(k / (n + 1))};width:${percent(1 / (n + 1) + 0.001)}` }));
    });
    line.append(make("i", { style: `left:${percent((Math.min(state.erased, n) + 0.5) / (n + 1))}` }));
    return line;
  }

  function verdict(steps, unit) {
    const n = steps.order.length, first = steps.winner.findIndex((winner) => winner !== steps.winner[0]);
    if (first < 0) return `The decision never changes, not even without all ${n} ${unit}.`;
    return `The decision first changes after ${first} of ${n} ${unit} (${Math.round((100 * first) / n)}%).`;
  }

  function body(one, m, text, row, gone) {
    const weights = state.weights[m], pooled = state.editing ? text.pooled : null;
    const unitOf = {};
    if (pooled) pooled.units.forEach((unit, u) => unit.forEach((i) => { unitOf[i] = u; }));
    const draw1 = (i) => {
      const word = text.tokens[i], piece = word.startsWith("##") && word.length > 2, shown = piece ? word.slice(2) : word;
      const u = unitOf[i], value = weights && u !== undefined && state.by === "alpha" && pooled.units.length === text.tokens.length ? weights[u] : row.values[i];
      const about = `${shown}: ${row.name} ${Number.isFinite(value) ? digits(value) : "none"}${gone.has(i) ? ", erased" : ""}`;
      const options = { class: `ax-token${gone.has(i) ? " ax-gone" : ""}${text.marked && text.marked[i] ? " ax-marked" : ""}`,
        title: about, style: gone.has(i) ? null : `background:${colour(value, row)}` };
      if (u === undefined) return make("span", options, make("bdi", { text: shown }));
      return make("button", { ...options, type: "button", "aria-label": about, "aria-pressed": String(state.picked[m] === u), on: { click: () => {
        state.picked[m] = u;
        panels();
        focus(m);
      } } }, make("bdi", { text: shown }));
    };
    const line = (places) => places.slice(0, SHOWN).flatMap((i) => [text.tokens[i].startsWith("##") ? "" : " ", draw1(i)]);
    const all = text.tokens.map((_, i) => i), place = make("div", { class: "ax-text" });
    if (text.sentences) {
      text.sentences.forEach((unit, s) => {
        const weight = pooled && weights ? weights[s] : text.weights[s];
        place.append(make("span", { class: "ax-unit", title: `sentence: attention ${digits(weight)}`, style: `border-left-color:rgba(${BLUE},${(weight / Math.max(...text.weights) * STRONGEST).toFixed(3)})` }, ...line(unit)));
      });
    } else place.append(...line(all));
    if (all.length > SHOWN) place.append(make("i", { text: ` … ${all.length - SHOWN} more tokens` }));
    return place;
  }

  function editor(one, m, text) {
    const pooled = text.pooled, alpha = state.weights[m] || pooled.alpha, picked = state.picked[m];
    const row = make("div", { class: "ax-edit" });
    if (picked === undefined) {
      row.append(make("span", { class: "ax-note", text: `Choose ${pooled.units.length === text.tokens.length ? "a token" : "a sentence"} to set its weight.` }));
    } else {
      const told = pooled.units[picked].slice(0, 6).map((i) => text.tokens[i]).join(" ");
      const labelled = (weights) => `weight of “${told}”: ${weights[picked].toFixed(3)}`;
      const shown = make("span", { text: labelled(alpha) });
      const slider = make("input", { type: "range", min: 0, max: 1, step: 0.001, "data-edit": m, on: { input: () => {
        state.weights[m] = edited(state.weights[m] || pooled.alpha, picked, Number(slider.value));
        shown.textContent = labelled(state.weights[m]);
        reset.disabled = false;
        const section = row.parentElement, fresh = panel(one, m);
        fresh.querySelector(".ax-edit").replaceWith(document.createComment("")); // the slider in use stays
        [...section.children].filter((child) => child !== row).forEach((child) => child.remove());
        section.prepend(...fresh.childNodes);
      } } });
      slider.value = alpha[picked];
      row.append(make("label", {}, shown, slider));
    }
    const reset = make("button", { type: "button", text: "Reset", disabled: !state.weights[m], on: { click: () => {
      delete state.weights[m];
      panels();
    } } });
    row.append(reset);
    return row;
  }

  function focus(m) {
    const slider = root.querySelector(`[data-edit="${m}"]`);
    if (slider) slider.focus({ preventScroll: true });
  }

  function panels() {
    const grid = root.querySelector(".ax-models");
    grid.replaceChildren(...models().map(panel));
  }

  function say(text) {
    root.querySelector(".ax-problem").textContent = text;
  }

  function draw() {
    const text = data().texts[state.text], about = [];
    const focused = root.contains(document.activeElement) && document.activeElement.closest("label");
    const which = focused ? [...root.querySelectorAll(".ax-bar label")].indexOf(focused) : -1;
    const bar = controls(), row = here(models()[0]).rows[state.by];
    if (text.label) about.push(`True class: ${text.label}.`);
    about.push(state.editing ? "Other weights keep their proportions; the prediction is computed from z = b + Σ α v."
      : `Erasing at the ${state.level} level: ${data().levels[state.level]}.`);
    if (row) about.push(row.centre === undefined ? "Darker blue: larger." : `Blue above ${digits(row.centre)}, orange below.`);
    if (here(models()[0]).marked) about.push("Underlined: marked by a person.");
    root.replaceChildren(make("style", { text: STYLE }), bar, make("p", { class: "ax-problem", role: "alert", text: model.get("problem") || "" }),
      make("div", { class: "ax-models" }), make("p", { class: "ax-note", text: about.join(" ") }));
    root.querySelector(".ax-problem").style.display = model.get("problem") || live() ? "" : "none";
    panels();
    if (which >= 0) root.querySelectorAll(".ax-bar label")[which]?.querySelector("select,input")?.focus({ preventScroll: true });
    remember();
  }

  function remember() {
    if (model.remember) model.remember({ text: state.text, by: state.by, level: state.level, erased: state.erased });
  }

  const recalled = model.recall ? model.recall() : {};
  if (data().texts[Number(recalled.text)]) state.text = Number(recalled.text);
  Object.assign(state, { by: recalled.by || null, level: recalled.level || data().level, erased: Number(recalled.erased) || 0 });
  el.replaceChildren(root);
  draw();
  model.on("change:data", () => {
    Object.assign(state, { text: data().texts.length - 1, erased: 0, weights: {}, picked: {} });
    draw();
  });
  model.on("change:problem", () => draw());
}

// In a report: the data are in the page, and a place is in its address: …#explorer-1?text=3&by=alpha&level=input&erased=2
export function frozen(holder) {
  const store = { data: JSON.parse(holder.querySelector("script[type='application/json']").textContent), live: false, problem: "" };
  const place = holder.querySelector(".ax-place"), id = holder.id;
  const asked = () => {
    const [name, query] = decodeURIComponent(location.hash.slice(1)).split("?");
    return name === id && query ? Object.fromEntries(new URLSearchParams(query)) : {};
  };
  let ready = false;
  render({ el: place, model: {
    get: (name) => store[name],
    set: () => {},
    save_changes: () => {},
    on: () => {},
    recall: asked,
    remember: (values) => {
      if (ready) history.replaceState(null, "", `#${id}?${new URLSearchParams(values)}`);
      ready = true;
    },
  } });
  if (Object.keys(asked()).length) holder.scrollIntoView();
}

export default { render };
