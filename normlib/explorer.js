// A row through LayerNorm, RMSNorm or BatchNorm: the widget in JupyterLab (anywidget) and the live figure on the site.

import { REACH, ZERO, bars, dragBars, reach } from "./bars.js";
import { center, choice, facts, html, knob, largest, list, mean, number, panel, set, show, svg, tries, widget } from "./live.js";

const { abs, log10, max, min, sqrt } = Math;
const NORMS = { layer: "LayerNorm", rms: "RMSNorm", batch: "BatchNorm" };
const TRAITS = ["x", "gamma", "beta", "eps", "norm", "batch"];

// Title, least, most and step of each slider. That of ε holds its logarithm; the lowest position is exactly 0.
const NONE = -12.5;
const KNOBS = { gamma: ["γ, scale", -4, 4, 0.01], beta: ["β, shift", -10, 10, 0.05], eps: ["ε, inside the root", NONE, 0, 0.5] };
const toValue = (key, position) => (key !== "eps" ? position : position > NONE ? 10 ** position : 0);
const toPosition = (key, value) => (key !== "eps" ? value : value ? log10(value) : NONE);

const power = (values) => mean(values.map((v) => v * v));

/** Normalize the row x, one entry a feature. BatchNorm compares it with its column: the rows of `batch` are the others. */
export function compute({ x, gamma, beta, eps, norm, batch }) {
  const groups = x.map((v, j) => (norm === "batch" ? [v, ...batch.map((row) => row[j])] : x));
  const mu = groups.map((group) => (norm === "rms" ? 0 : mean(group)));
  const deviations = groups.map((group) => (norm === "rms" ? group : center(group)));
  const variance = deviations.map(power);
  const centered = deviations.map((group, j) => group[norm === "batch" ? 0 : j]);
  const x_hat = centered.map((v, j) => v / sqrt(variance[j] + eps));
  const y = x_hat.map((v) => gamma * v + beta);
  return { mu, variance, centered, x_hat, y, most: largest(x_hat) };
}

/** No |x̂| can exceed √(n − 1), n being how many numbers are averaged; without centering it is √n. */
export function bound({ x, norm, batch }) {
  return sqrt({ layer: x.length - 1, rms: x.length, batch: batch.length }[norm]);
}

const everywhere = (f) => ({ x, batch }) => ({ x: x.map(f), batch: batch.map((row) => row.map(f)) });
const row = (f) => ({ x }) => ({ norm: "layer", x: x.map((_, j) => f(j)) });
const STILL = "x̂ did not move";

// What each button makes of a state, and what there is to see in the state that comes of it.
const PRESETS = {
  "constant row": [row(() => 7), () => "No spread, so every deviation is 0: x̂ is 0 and y is β everywhere. Now take ε down to 0."],
  "tiny row": [row((j) => (1 + (j % 2)) / 1000), (s) =>
    `σ² = ${number(s.variance[0])}, ε = ${number(s.eps)}: the largest |x̂| is ${number(s.most)}. Without ε it is ${number(compute({ ...s, eps: 0 }).most)}.`],
  "one outlier": [row((j) => Number(j === 0)), (s) => s.most > 0.9998 * bound(s)
    ? `x̂₁ = ${number(s.most)}: the bound √(H − 1), to 4 digits. Drag x₁ up, and it goes no further.`
    : `x̂₁ = ${number(s.most)}: ε is too large for it to reach the bound.`],
  "×50": [everywhere((v) => v * 50), (s) => s.moved ? `${s.moved}: the row was small beside ε.` : `${STILL}: the divisor grew 50 times, too.`],
  "+100": [everywhere((v) => v + 100), (s) => s.norm === "rms" ? `${s.moved}: RMSNorm subtracts no μ.` : `${STILL}: μ took the 100 along.`],
  "one feature ×10": [everywhere((v, j) => (j ? v : v * 10)), (s) => s.norm === "batch" ? `${s.moved || STILL}: BatchNorm measures each feature by itself.`
    : s.moved ? `${s.moved}: all features share one divisor.` : `${STILL} this once: x₁ is alone, or 0.`],
  "no-op: γ = σ, β = μ": [({ x }) => ({ norm: "layer", gamma: sqrt(power(center(x))), beta: mean(x) }), (s) => `γ = √${number(s.variance[0])}, β = ${number(s.beta)}: y gives x back, to within ${number(largest(s.y.map((v, j) => v - s.x[j])), 2)}. That is ε.`],
  "batch of one": [() => ({ norm: "batch", batch: [] }), () => "Each number is its own mean, so x̂ is 0 and y is β, whatever x is."],
};

function render({ model, el }) {
  const read = () => Object.fromEntries(TRAITS.map((key) => [key, model.get(key)]));
  const see = () => ({ ...read(), ...compute(read()) });
  const initial = read();
  const colors = model.get("colors");
  const x = dragBars("x", colors.x, () => model.get("x"), (j, value) => write({ x: model.get("x").with(j, value) }));
  const [centered, x_hat, y] = ["mu", "x_hat", "y"].map((key) => bars(colors[key], initial.x.length));
  const [hint, middle] = [html("span"), html("span")];
  const norms = choice("norm", NORMS, (norm) => write({ norm, batch: read().batch.length ? read().batch : initial.batch }));
  const knobs = Object.entries(KNOBS).map(([key, [title, min, max, step]]) =>
    [key, knob(title, colors[key] ?? "currentColor", { name: key, min, max, step }, (position) => write({ [key]: toValue(key, position) }))]);
  const numbers = html("div", { class: "nl-numbers" });
  const status = html("p", { role: "status" }, "Drag a bar of x, or press a button: see what it does.");

  function write(changes, says = (s) => `y = ${list(s.y)}`) {
    const before = see().x_hat;
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    const s = see();
    const gap = largest(s.x_hat.map((v, j) => v - before[j]));
    s.moved = gap < 5e-5 ? "" : `x̂ moved, by up to ${number(gap, 3)}`;
    status.textContent = s.x_hat.some(Number.isNaN) ? "0/0: without spread and without ε there is no answer." : says(s);
    draw();
  }
  const press = ([change, says]) => () => write(change(see()), says);

  /** A dashed line at a height for each column, open where it would run through a value. */
  function dashed({ marks, groups }, heights, scale, width, stroke) {
    const step = width / groups.length;
    const d = groups.map(({ lastChild: label }, j) => {
      const at = ZERO - max(-1.3, min(1.3, heights[j] / scale)) * REACH;
      const gap = abs(label.getAttribute("y") - 4 - at) < 9 ? min(step / 2, label.textContent.length * 3.5 + 3) : 0;
      return `M${j * step} ${at}h${step / 2 - gap}m${2 * gap} 0H${(j + 1) * step}`;
    });
    marks.append(svg("path", { d: d.join(""), stroke }));
  }

  function draw() {
    const s = see();
    const { norm, batch, mu, variance, eps } = s;
    const [only, rms] = [norm === "batch", norm === "rms"];
    const limit = bound(s);
    const width = x.picture.clientWidth || 240;
    const range = x.draw(width, 0, 0, only ? batch.flat() : []);
    const most = max(reach(s.x_hat), limit * 1.05);
    middle.textContent = rms ? "x, not centered" : "x − μ";
    const high = s.y.some((v) => abs(v) > most) ? reach(s.y) : most; // the scale of x̂, where y fits in
    for (const [panel, title, values, scale] of [[centered, middle.textContent, s.centered, range], [x_hat, "x̂", s.x_hat, most], [y, "y", s.y, high]]) {
      panel.draw(values, scale, width);
      set(panel.picture, { "aria-label": `${title} = ${list(values)}` });
    }

    // the mean of x (one, or one a column) and the batch's other rows; the bounds of x̂
    const ring = (v, j) => svg("circle", { cx: ((j + 0.94) * width) / mu.length, cy: ZERO - (v / range) * REACH, r: 2.5 });
    x.marks.replaceChildren(...(only ? batch.flatMap((row) => row.map(ring)) : []));
    x_hat.marks.replaceChildren();
    if (!rms) dashed(x, mu, range, width, colors.mu);
    for (const v of [limit, -limit]) dashed(x_hat, mu.map(() => v), most, width, "currentColor");
    hint.textContent = rms ? "drag me" : only ? `drag; ${batch.length ? "○" : "no"} others` : "drag; dashed: μ";

    const each = (values) => (only ? list(values) : number(values[0]));
    const square = rms ? "mean of x²" : "σ²";
    numbers.replaceChildren(...facts({
      "μ": rms ? "not subtracted" : each(mu),
      [square]: each(variance),
      [`√(${square} + ε)`]: each(variance.map((v) => sqrt(v + eps))),
      "mean of x̂": number(mean(s.x_hat)),
      "mean of x̂²": number(power(s.x_hat)),
      "largest |x̂|": number(s.most),
      [`bound √${{ layer: "(H − 1)", rms: "H", batch: "(B − 1)" }[norm]}`]: number(limit),
    }));
    norms.pick(norm);
    for (const [key, { show }] of knobs) show(toPosition(key, s[key]), number(s[key]));
  }

  return show(el, "Normalization explorer", draw,
    norms.box,
    html("div", { class: `nl-panels${initial.x.length > 5 ? " nl-many" : ""}` }, panel("x", hint, x.picture, colors.x), panel(middle, "", centered.picture, colors.mu),
      panel("x̂", "dashed: bound", x_hat.picture, colors.x_hat), panel("y", "= γx̂ + β", y.picture, colors.y)),
    status,
    tries({ ...PRESETS, reset: [() => initial, () => ""] }, press),
    numbers,
    html("div", { class: "nl-knobs" }, ...knobs.map(([, { label }]) => label)));
}

export default widget(render);
