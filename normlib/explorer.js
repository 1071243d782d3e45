// A row through LayerNorm, RMSNorm or BatchNorm: the widget in JupyterLab (anywidget) and the live figure on the site.

const NORMS = { layer: "LayerNorm", rms: "RMSNorm", batch: "BatchNorm" };
const KEYS = ["x", "gamma", "beta", "eps", "norm", "batch"];

// Title, least, most and step of each slider. ε has a logarithmic scale, whose lowest position is exactly 0.
const KNOBS = {
  gamma: ["γ, scale", -4, 4, 0.01],
  beta: ["β, shift", -10, 10, 0.05],
  eps: ["ε, inside the root", -13, 0, 0.5],
};
const toValue = (key, position) => (key !== "eps" ? position : position > -13 ? 10 ** position : 0);
const toPosition = (key, value) => (key !== "eps" ? value : value > 0 ? Math.log10(value) : -13);

const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
const largest = (values) => Math.max(...values.map(Math.abs));

// What each button changes, given the state it starts from.
const everywhere = (f) => ({ x, batch }) => ({ x: x.map(f), batch: batch.map((row) => row.map(f)) });
function noOp(state) {
  const { mu, variance } = compute({ ...state, norm: "layer" });
  return { norm: "layer", gamma: Math.sqrt(variance[0]), beta: mu[0] };
}
const PRESETS = {
  "constant row": ({ x }) => ({ x: x.map(() => 7) }),
  "tiny row": ({ x }) => ({ x: x.map((_, j) => (1 + (j % 2)) / 1000) }),
  "one outlier": ({ x }) => ({ x: x.map((_, j) => Number(j === 0)) }),
  "×50": everywhere((v) => v * 50),
  "+100": everywhere((v) => v + 100),
  "one feature ×10": everywhere((v, j) => (j === 0 ? v * 10 : v)),
  "no-op: γ = σ, β = μ": noOp,
  "batch of one": () => ({ norm: "batch", batch: [] }),
};

/** Normalize the row x, one entry a feature. BatchNorm compares it with its column: the rows of `batch` are the others. */
export function compute({ x, gamma, beta, eps, norm, batch }) {
  const groups = x.map((v, j) => (norm === "batch" ? [v, ...batch.map((row) => row[j])] : x));
  const mu = groups.map((group) => (norm === "rms" ? 0 : mean(group)));
  const variance = groups.map((group, j) => mean(group.map((v) => (v - mu[j]) ** 2)));
  const centered = x.map((v, j) => v - mu[j]);
  const x_hat = centered.map((v, j) => v / Math.sqrt(variance[j] + eps));
  const y = x_hat.map((v) => gamma * v + beta);
  return { mu, variance, centered, x_hat, y };
}

/** No |x̂| can exceed √(n − 1), n being how many numbers are averaged; without centering it is √n. */
export function bound({ x, norm, batch }) {
  return Math.sqrt({ layer: x.length - 1, rms: x.length, batch: batch.length }[norm]);
}

function number(v, digits = 4) {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "NaN" : v > 0 ? "∞" : "−∞";
  const size = Math.abs(v);
  if (size === 0) return "0";
  const short = size < 1e-3 || size >= 1e5 ? v.toExponential(digits - 2) : size >= 1000 ? v.toFixed(0) : v.toPrecision(digits);
  return short.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "").replaceAll("-", "−").replace("e+", "e");
}

/** The least of 1, 2, 5, 10, 20, … (and 0.5, 0.2, …) that holds every value. */
function reach(values) {
  const most = largest(values.filter(Number.isFinite));
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= most * 0.999);
}

const STYLE = `
.nl-explorer { --rule: color-mix(in srgb, currentColor 25%, transparent); --tint: color-mix(in srgb, currentColor 9%, transparent);
  --paper: var(--pst-color-background, var(--jp-layout-color0)); color: var(--jp-content-font-color1, inherit);
  border: 1px solid var(--rule); border-radius: 9px; padding: 1rem; margin: 1rem 0; font-size: 15px; line-height: 1.45 }
.nl-explorer > * { margin: 0 0 .9rem }
.nl-row { display: flex; flex-wrap: wrap; gap: .35rem; align-items: center }
.nl-row :is(label, button) { min-height: 2rem; margin: 0; padding: .1rem .65rem; border: 1px solid var(--rule); border-radius: 6px;
  background: none; color: inherit; font: inherit; cursor: pointer; display: flex; align-items: center; gap: .4rem }
.nl-row :is(label, button):hover, .nl-row :has(:checked) { background: var(--tint) }
.nl-row :has(:checked) { border-color: currentColor }
.nl-row :is(:has(:focus-visible), :focus-visible) { outline: 2px solid currentColor; outline-offset: 1px }
.nl-explorer input { accent-color: var(--accent, currentColor); margin: 0 }
.nl-panels { display: grid; grid-template-columns: 1fr 1fr; gap: .6rem .9rem }
.nl-panels > div { min-width: 0; font-weight: 600 }
.nl-panels > div::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .45em; border-radius: 2px; background: var(--accent) }
.nl-panels small { font-weight: 400; margin-left: .5em }
.nl-panels svg { display: block; width: 100%; height: 150px; overflow: visible; user-select: none }
.nl-panels text { font: 11.5px var(--pst-font-family-heading, sans-serif); fill: currentColor; text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 3px }
.nl-panels [role=slider] { cursor: ns-resize; touch-action: none; outline: none }
.nl-hit { fill: transparent }
:focus-visible > .nl-hit { stroke: currentColor; stroke-width: 1.5 }
.nl-numbers { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem }
.nl-knobs { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .5rem 1.2rem }
.nl-knobs label { display: grid; grid-template-columns: 1fr auto; margin: 0 }
.nl-knobs input { grid-column: 1 / 3; width: 100%; height: 1.6rem }
.nl-explorer > [role=status] { margin: 0; min-height: 1.45em; font-weight: 600 }
`;

const HEIGHT = 150, ZERO = 75, REACH = 58; // of a panel: its height, its zero line, how far a bar goes

function set(element, attributes, ...children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const html = (tag, attributes = {}, ...children) => set(document.createElement(tag), attributes, ...children);
const svg = (tag, attributes = {}, ...children) =>
  set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, ...children);

function render({ model, el }) {
  const read = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const initial = read();
  const colors = model.get("colors");
  const name = `norm-${Math.random()}`; // radio buttons of two explorers must not share one
  let range = 1; // of the x panel; it stays while a bar is dragged
  let dragging = false;

  function write(changes) {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    draw();
  }
  const move = (j, value) => write({ x: model.get("x").with(j, Number(value.toPrecision(12))) });

  function panel(key, title, note, role) {
    const bar = () => svg("g", {}, svg("rect", { class: "nl-hit" }), svg("rect", { rx: 2, fill: colors[key] }), svg("text"));
    const bars = initial.x.map(bar);
    const marks = svg("g");
    const picture = svg("svg", { role }, marks, ...bars);
    const box = html("div", { style: `--accent: ${colors[key]}` }, title, html("small", {}, note), picture);
    return { title, picture, marks, bars, box };
  }

  function makeSlider(group, j) {
    set(group, { role: "slider", tabindex: 0, "aria-label": `x, feature ${j + 1}`, "aria-orientation": "vertical" });
    function drag(event) {
      const up = (ZERO - (event.clientY - panels.x.picture.getBoundingClientRect().top)) / REACH;
      move(j, (Math.round(Math.max(-1, Math.min(1, up)) * 100) / 100) * range);
    }
    group.onpointerdown = (event) => {
      dragging = true;
      group.setPointerCapture(event.pointerId);
      drag(event);
    };
    group.onpointermove = (event) => group.hasPointerCapture(event.pointerId) && drag(event);
    group.onlostpointercapture = () => ((dragging = false), draw());
    group.onkeydown = (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
      const value = { Home: -range, End: range }[event.key] ?? model.get("x")[j] + (steps * range) / 50;
      if (Number.isNaN(value)) return;
      event.preventDefault();
      move(j, value);
    };
  }

  const panels = {
    x: panel("x", "x", "drag me", "group"),
    centered: panel("mu", "x − μ", "centered", "img"),
    x_hat: panel("x_hat", "x̂", "normalized", "img"),
    y: panel("y", "y", "= γx̂ + β", "img"),
  };
  panels.x.bars.forEach(makeSlider);

  const norms = Object.entries(NORMS).map(([value, title]) => {
    const input = html("input", { type: "radio", name, value });
    input.onchange = () => write({ norm: value });
    return html("label", {}, input, title);
  });
  const knobs = Object.entries(KNOBS).map(([key, [title, min, max, step]]) => {
    const input = html("input", { type: "range", name: key, min, max, step });
    input.oninput = () => write({ [key]: toValue(key, Number(input.value)) });
    return html("label", { style: `--accent: ${colors[key] ?? "currentColor"}` }, title, html("span", { "aria-hidden": true }), input);
  });
  const buttons = Object.entries({ ...PRESETS, reset: () => initial }).map(([title, change]) => {
    const button = html("button", { type: "button" }, title);
    button.onclick = () => {
      const before = compute(read());
      write(change(read()));
      status.textContent = verdict(title, before.x_hat, compute(read()));
    };
    return button;
  });
  const numbers = html("div", { class: "nl-numbers" });
  const status = html("p", { role: "status" });

  function verdict(title, before, { x_hat, y }) {
    const gap = (a, b) => largest(a.map((v, j) => v - b[j]));
    if (title.startsWith("no-op")) return `y gives x back, to within ${number(gap(y, model.get("x")), 2)}: the rest comes from ε.`;
    if (x_hat.some(Number.isNaN)) return "0/0: without spread and without ε there is no answer.";
    if (x_hat.every((v) => v === 0)) return "No spread, so every deviation is 0: x̂ is 0 and y is β everywhere.";
    return gap(x_hat, before) < 5e-5 ? "x̂ did not move." : `x̂ moved, by up to ${number(gap(x_hat, before), 3)}.`;
  }

  function drawPanel({ title, picture, bars }, values, most, width) {
    const step = width / values.length;
    const digits = [4, 3, 2].find((n) => values.every((v) => number(v, n).length * 6.2 < step)) ?? 2;
    set(picture, { viewBox: `0 0 ${width} ${HEIGHT}` });
    values.forEach((v, j) => {
      const [hit, bar, label] = bars[j].children;
      const size = Number.isFinite(v) ? Math.min(1.1, Math.abs(v) / most) * REACH : 0;
      set(hit, { x: j * step + 1, width: step - 2, height: HEIGHT });
      set(bar, { x: (j + 0.2) * step, width: 0.6 * step, y: v < 0 ? ZERO : ZERO - size, height: size });
      set(label, { x: (j + 0.5) * step, y: v < 0 ? ZERO + size + 12 : ZERO - size - 4, "data-value": v });
      label.textContent = number(v, digits);
      if (title === "x") set(bars[j], { "aria-valuemin": Math.min(v, -most), "aria-valuemax": Math.max(v, most), "aria-valuenow": v, "aria-valuetext": number(v) });
    });
    set(picture, { "aria-label": `${title}: ${values.map((v) => number(v)).join(", ")}` });
  }

  /** The zero lines; dashed, the mean of x (one, or one a column) and the bounds of x̂; dots, the batch's other rows. */
  function drawMarks({ norm, batch }, mu, limit, most, width) {
    const step = norm === "batch" ? width / mu.length : width; // how far one mean reaches
    const place = (v, scale) => ZERO - Math.max(-1.3, Math.min(1.3, v / scale)) * REACH;
    const line = (y, stroke, style, x1 = 0, x2 = width) => svg("line", { x1, x2, y1: y, y2: y, stroke, ...style });
    const dashed = { "stroke-width": 1.6, "stroke-dasharray": "4 3" };
    const means = { rms: [], layer: mu.slice(0, 1), batch: mu }[norm];
    const dot = (v, j) => svg("circle", { cx: (j + 0.5) * step, cy: place(v, range), r: 3, fill: "none", stroke: "currentColor" });
    for (const { marks } of Object.values(panels)) marks.replaceChildren(line(ZERO, "currentColor", { opacity: 0.5 }));
    panels.x.marks.append(...means.map((m, j) => line(place(m, range), colors.mu, dashed, j * step, (j + 1) * step)));
    if (norm === "batch") panels.x.marks.append(...batch.flatMap((row) => row.map(dot)));
    panels.x_hat.marks.append(...[limit, -limit].map((v) => line(place(v, most), "currentColor", dashed)));
  }

  function drawNumbers({ norm, eps }, { mu, variance, x_hat }, limit) {
    const list = (values) => values.slice(0, norm === "batch" ? values.length : 1).map((v) => number(v)).join(", ");
    const square = norm === "rms" ? "mean of x²" : "σ²";
    const facts = {
      "μ": norm === "rms" ? "not subtracted" : list(mu),
      [square]: list(variance),
      [`√(${square} + ε)`]: list(variance.map((v) => Math.sqrt(v + eps))),
      "mean of x̂": number(Math.round(mean(x_hat) * 1e12) / 1e12),
      "mean of x̂²": number(mean(x_hat.map((v) => v * v))),
      "largest |x̂|": number(largest(x_hat)),
      [{ layer: "bound √(H − 1)", rms: "bound √H", batch: "bound √(B − 1)" }[norm]]: number(limit),
    };
    numbers.replaceChildren(...Object.entries(facts).map(([term, text]) => html("span", {}, `${term} = `, html("b", {}, text))));
  }

  function draw() {
    const state = read();
    const result = compute(state);
    const limit = bound(state);
    const width = panels.x.picture.clientWidth || 240;
    if (!dragging) range = reach(state.norm === "batch" ? [...state.x, ...state.batch.flat()] : state.x);
    const most = Math.max(reach(result.x_hat), limit * 1.05);
    drawPanel(panels.x, state.x, range, width);
    drawPanel(panels.centered, result.centered, range, width);
    drawPanel(panels.x_hat, result.x_hat, most, width);
    drawPanel(panels.y, result.y, reach([...result.y, most]), width);
    drawMarks(state, result.mu, limit, most, width);
    drawNumbers(state, result, limit);
    for (const { firstChild: input } of norms) input.checked = input.value === state.norm;
    for (const { lastChild: input } of knobs) {
      const value = state[input.name];
      input.value = toPosition(input.name, value);
      input.previousSibling.textContent = number(value);
      set(input, { "aria-valuetext": number(value) });
    }
  }

  el.replaceChildren(
    html("style", {}, STYLE),
    html("div", { class: "nl-explorer", role: "group", "aria-label": "Normalization explorer" },
      html("div", { class: "nl-row", role: "radiogroup", "aria-label": "Norm" }, ...norms),
      html("div", { class: "nl-panels" }, ...Object.values(panels).map(({ box }) => box)),
      numbers,
      html("div", { class: "nl-knobs" }, ...knobs),
      html("div", { class: "nl-row", role: "group", "aria-label": "Try" }, ...buttons),
      status),
  );
  const watcher = new ResizeObserver(draw); // also draws the first time
  watcher.observe(panels.x.picture);
  model.on("change", draw);
  return () => (watcher.disconnect(), model.off("change", draw));
}

export default { render };
