// The Jacobian of one row as a heat map under the bars of the row: a widget (anywidget) and a live figure on the site.

import { dragBars, fixed } from "./bars.js";
import { center, dot, facts, html, largest, list, mean, number, panel, set, show, svg, tries, widget } from "./live.js";

// What each button makes of the row.
const PRESETS = {
  "×10": (x) => x.map((v) => v * 10),
  "÷10": (x) => x.map((v) => v / 10),
  "+100": (x) => x.map((v) => v + 100),
  "one outlier": (x) => x.map((_, j) => Number(j === 0)),
};
const SUBSCRIPTS = "₁₂₃₄₅₆";
const ROW = 40, TOP = 22; // height of a row of cells, and of the line with the names of the inputs

/** J[i][j] = ∂x̂ᵢ/∂xⱼ = (δᵢⱼ − 1/H − x̂ᵢx̂ⱼ/H)/σ at ε = 0; what each row sums to, plain and weighted with x. */
export function compute({ x }) {
  const centered = center(x);
  const sigma = Math.sqrt(mean(centered.map((v) => v * v)));
  const x_hat = centered.map((v) => v / sigma);
  const jacobian = x_hat.map((a, i) => x_hat.map((b, j) => (Number(i === j) - (1 + a * b) / x.length) / sigma));
  const sums = jacobian.map((row) => dot(row, x.map(() => 1)));
  const weighted = jacobian.map((row) => dot(row, x));
  return { sigma, x_hat, jacobian, sums, weighted };
}

function render({ model, el }) {
  const initial = model.get("x");
  const colors = model.get("colors");
  const H = initial.length;
  const bars = dragBars("x", colors.x, () => model.get("x"), (j, value) => write(model.get("x").with(j, value)));
  const cell = () => svg("g", {}, svg("rect", { rx: 3 }), svg("text", { class: "nl-cell" }));
  const cells = initial.map(() => initial.map(cell));
  const ends = initial.map(() => [svg("text"), svg("text")]); // the two sums of a row
  const names = initial.map((_, i) => [`x̂${SUBSCRIPTS[i]}`, `x${SUBSCRIPTS[i]}`].map((text) => svg("text", { class: "nl-name" }, text)));
  const heads = ["Σ", "Σ · x"].map((text) => svg("text", { class: "nl-name" }, text));
  const rule = svg("line", { stroke: "currentColor", opacity: 0.4 });
  const mark = svg("rect", { rx: 3, class: "nl-mark" });
  const map = svg("svg", { role: "img" }, rule, ...cells.flat(), mark, ...names.flat(), ...heads, ...ends.flat());
  const numbers = html("div", { class: "nl-numbers" });
  const status = html("p", { role: "status" }, "Drag a bar, or press ×10: x̂ does not move, and all of its derivatives shrink.");

  const see = () => compute({ x: model.get("x") });
  function write(x, says = (first) => `∂x̂₁/∂x₁ = ${first}`) {
    const before = see();
    model.set("x", x);
    model.save_changes();
    const after = see();
    const moved = largest(after.x_hat.map((v, i) => v - before.x_hat[i])) < 1e-9 ? "did not move" : "moved";
    status.textContent = after.sigma ? says(number(after.jacobian[0][0]), number(before.jacobian[0][0]), moved) : "0/0: a constant row has no x̂ without ε.";
    draw();
  }
  const press = (change) => () => write(change(model.get("x")), (first, before, moved) => `∂x̂₁/∂x₁ went from ${before} to ${first}; x̂ ${moved}.`);

  function draw() {
    const x = model.get("x");
    const { sigma, jacobian, sums, weighted } = see();
    const width = bars.picture.clientWidth || 480;
    const left = 26, end = width < 420 ? 34 : 60;
    const step = (width - left - 2 * end) / H;
    const most = largest(jacobian.flat());
    const middle = (i) => TOP + (i + 0.5) * ROW;
    // four digits of the largest entry, or as many as there is room for
    const enough = 3 - Math.floor(Math.log10(most)) || 0;
    const decimals = Math.max(0, Math.min(enough, Math.floor((step - 5) / 6.6) - 3));
    bars.draw(width, left, 2 * end);
    set(map, { viewBox: `0 0 ${width} ${TOP + H * ROW + 2}`, height: TOP + H * ROW + 2 });
    set(rule, { x1: width - 2 * end + 3, x2: width - 2 * end + 3, y1: TOP, y2: TOP + H * ROW });
    jacobian.forEach((row, i) => {
      set(names[i][0], { x: left / 2, y: middle(i) + 4 });
      set(names[i][1], { x: left + (i + 0.5) * step, y: TOP - 7 });
      row.forEach((v, j) => {
        const [box, label] = cells[i][j].children;
        const color = colors[v > 0 ? "x_hat" : "x"];
        set(box, { x: left + j * step + 1.5, y: TOP + i * ROW + 1.5, width: step - 3, height: ROW - 3, fill: color, "fill-opacity": 0.55 * Math.abs(v / most) || 0 });
        set(label, { x: left + (j + 0.5) * step, y: middle(i) + 4, "data-value": v });
        label.textContent = fixed(v, decimals);
      });
      [sums[i], weighted[i]].forEach((v, k) => {
        set(ends[i][k], { x: width - (1.5 - k) * end, y: middle(i) + 4, "data-value": v });
        ends[i][k].textContent = Number.isNaN(v) ? "NaN" : number(Math.abs(v) < 1e-9 ? 0 : v, 2);
      });
    });
    heads.forEach((head, k) => set(head, { x: width - (1.5 - k) * end, y: TOP - 7 }));
    set(mark, { x: left + 1.5, y: TOP + 1.5, width: step - 3, height: ROW - 3 });
    const rows = jacobian.map((row, i) => `row ${i + 1}: ${list(row)}`).join("; ");
    set(map, { "aria-label": `Jacobian of x̂ at x = ${list(x)}. ${rows}. Every row sums to 0, plain and weighted with x.` });
    numbers.replaceChildren(...facts({ "∂x̂₁/∂x₁": number(jacobian[0][0]), "bracket": number(jacobian[0][0] * sigma), "σ": number(sigma), "1/σ": number(1 / sigma) }));
  }

  return show(el, "Jacobian of one row", draw,
    html("div", { class: "nl-stack" }, panel("x", "drag the bars; each stands above its column", bars.picture, colors.x),
      panel("∂x̂ᵢ/∂xⱼ", "orange rises, blue falls; at the right, what a row sums to, plain and weighted with x", map)),
    status, tries({ ...PRESETS, reset: () => initial }, press), numbers);
}

export default widget(render);
