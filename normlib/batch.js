// BatchNorm beside LayerNorm, in training and in inference, for batches of 1 to 8: a widget (anywidget) and a live figure.

import { HEIGHT, ZERO, dragBars, drawBar, fixed, reach } from "./bars.js";
import { center, choice, facts, html, largest, list, mean, number, panel, set, show, svg, tries, widget } from "./live.js";

const MODES = { training: "training", inference: "inference" };
const divided = (deviations, eps) => deviations.map((v) => v / Math.sqrt(mean(deviations.map((d) => d * d)) + eps));

/** What the first example of a batch of `size` comes out as: by BatchNorm in training and inference, and by LayerNorm. */
export function compute({ x, size, mean, var: variance, eps }) {
  const columns = x[0].map((_, j) => x.slice(0, size).map((row) => row[j]));
  return {
    training: columns.map((column) => divided(center(column), eps)[0]),
    inference: x[0].map((v, j) => (v - mean[j]) / Math.sqrt(variance[j] + eps)),
    layer: divided(center(x[0]), eps), // in both modes: it looks at nothing else
  };
}

function render({ model, el }) {
  const read = () => Object.fromEntries(["x", "size", "mean", "var", "eps"].map((key) => [key, model.get(key)]));
  const initial = read();
  const colors = model.get("colors");
  const H = initial.x[0].length;
  const bars = dragBars("x", colors.x, () => model.get("x")[0], (j, value) => write({ x: model.get("x").with(0, model.get("x")[0].with(j, value)) }));
  const cells = initial.x.map((row) => row.map(() => svg("g", {}, svg("rect", { rx: 3 }), svg("text", { class: "nl-cell" }))));
  const frame = svg("rect", { rx: 4, fill: "none", stroke: colors.x, "stroke-width": 2 });
  const grid = svg("svg", { role: "img", height: HEIGHT }, ...cells.flat(), frame);
  const pairsOfBars = () => {
    const pairs = initial.x[0].map(() => Object.keys(MODES).map(() => [svg("rect", { rx: 2, stroke: colors.x_hat, "stroke-width": 2 }), svg("text")]));
    const zero = svg("line", { x1: 0, y1: ZERO, y2: ZERO, stroke: "currentColor", opacity: 0.5 });
    return { zero, pairs, picture: svg("svg", { role: "img", height: HEIGHT }, zero, ...pairs.flat(2)) };
  };
  const panels = { BatchNorm: pairsOfBars(), LayerNorm: pairsOfBars() };
  const offered = [1, 2, 4, 8, initial.size].filter((size) => size <= initial.x.length);
  const sizes = choice("batch size", Object.fromEntries(offered.map((size) => [size, size])), (size) => write({ size: Number(size) }));
  const numbers = html("div", { class: "nl-numbers" });
  const status = html("p", { role: "status" });

  function write(changes) {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    draw();
  }
  const gap = ({ training, inference }) => largest(training.map((v, j) => v - inference[j]));
  function verdict(size, result) {
    const lost = size === 1 ? "In a batch of one, BatchNorm returns 0 in training, whatever the example is. " : "";
    return `${lost}BatchNorm's training and inference differ by up to ${number(gap(result), 3)}, LayerNorm's by 0.`;
  }

  function drawGrid({ x, size }, width) {
    const step = width / H, high = HEIGHT / x.length;
    set(grid, { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-label": `Batch of ${size} of ${x.length} examples: ${x.slice(0, size).map((row) => list(row)).join(", ")}` });
    cells.forEach((row, i) => row.forEach(({ children: [box, label] }, j) => {
      set(box, { x: j * step + 1, y: i * high + 1, width: step - 2, height: high - 2, fill: "currentColor", opacity: i < size ? 0.14 : 0.04 });
      set(label, { x: (j + 0.5) * step, y: (i + 0.5) * high + 4, opacity: i < size ? 1 : 0.7 });
      label.textContent = number(x[i][j], 3);
    }));
    set(frame, { x: 1, y: 1, width: width - 2, height: high - 2 });
  }

  function drawPanel({ zero, pairs, picture }, name, modes, most, width) {
    const step = width / H;
    const decimals = Math.max(0, Math.min(3, Math.floor((step * 0.46) / 6.6) - 3)); // as many as there is room for
    set(picture, { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-label": `${name}: training ${list(modes[0])}, inference ${list(modes[1])}` });
    set(zero, { x2: width });
    pairs.forEach((pair, j) => pair.forEach(([bar, label], k) => {
      const v = modes[k][j];
      drawBar(bar, label, v, fixed(v, decimals), { x: (j + 0.04 + 0.46 * k) * step, width: step * 0.46, most });
      set(bar, { fill: k ? "none" : colors.x_hat });
    }));
  }

  function draw() {
    const state = read();
    const result = compute(state);
    const width = bars.picture.clientWidth || 280;
    const most = reach(Object.values(result).flat());
    bars.draw(width);
    drawGrid(state, width);
    drawPanel(panels.BatchNorm, "BatchNorm", [result.training, result.inference], most, width);
    drawPanel(panels.LayerNorm, "LayerNorm", [result.layer, result.layer], most, width);
    sizes.pick(state.size);
    status.textContent = verdict(state.size, result);
    numbers.replaceChildren(...facts({
      "running mean": list(state.mean, 3),
      "running variance": list(state.var, 3),
    }));
  }

  const louder = () => ({ x: model.get("x").map((row, i) => (i ? row.map((v) => v * 10) : row)) });
  return show(el, "Batch size, BatchNorm and LayerNorm", draw,
    sizes.box,
    html("div", { class: "nl-pair" },
      panel("x, example 1", "drag me", bars.picture, colors.x),
      panel("the batch", "example 1 is framed", grid),
      panel("BatchNorm of example 1", "down the columns", panels.BatchNorm.picture),
      panel("LayerNorm of example 1", "along its row", panels.LayerNorm.picture)),
    html("div", { class: "nl-key", style: `--accent: ${colors.x_hat}` }, ...Object.values(MODES).map((mode) => html("span", {}, mode))),
    status,
    tries({ "the others ×10": louder, reset: () => initial }, (change) => () => write(change())),
    numbers);
}

export default widget(render);
