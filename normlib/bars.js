// Panels of bars: to look at, and to drag by mouse, finger and keyboard.

import { largest, number, set, slider, svg } from "./live.js";

export const HEIGHT = 120, ZERO = 63, REACH = 46; // of a panel of bars: its height, its zero line, how far a bar goes

/** The least of 1, 2, 5, 10, 20, … (and 0.5, 0.2, …) that holds every value. */
export function reach(values) {
  const most = largest(values.filter(Number.isFinite));
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= most * 0.999);
}

/** With so many decimals, and no minus before 0. */
export const fixed = (v, decimals) => (Number.isNaN(v) ? "NaN" : v.toFixed(decimals).replace(/^-(?=[0.]*$)/, "").replace("-", "−"));

/** A bar from the zero line, with its value past its end. */
export function drawBar(bar, label, value, text, { x, width, most }) {
  const size = Number.isFinite(value) ? Math.min(1.1, Math.abs(value) / most) * REACH : 0;
  set(bar, { x: x + width * 0.15, width: width * 0.7, y: value < 0 ? ZERO : ZERO - size, height: size });
  set(label, { x: x + width / 2, y: value < 0 ? ZERO + size + 12 : ZERO - size - 4, "data-value": value });
  label.textContent = text;
}

/** A panel of bars in one colour; `marks` is for what stands behind them. */
export function bars(color, count, role = "img") {
  const marks = svg("g");
  const zero = svg("line", { y1: ZERO, y2: ZERO, stroke: "currentColor", opacity: 0.5 });
  const groups = Array.from({ length: count }, () => svg("g", {}, svg("rect", { class: "nl-hit", height: HEIGHT }), svg("rect", { rx: 2, fill: color }), svg("text")));
  const picture = svg("svg", { height: HEIGHT, role }, marks, zero, ...groups);
  function draw(values, most, width, left = 0, right = 0) {
    const step = (width - left - right) / count;
    const fits = (text) => text.length * 6.6 < step;
    const digits = [4, 3, 2].find((n) => values.every((v) => fits(number(v, n)))) ?? 2;
    set(picture, { viewBox: `0 0 ${width} ${HEIGHT}` });
    set(zero, { x1: left, x2: width - right });
    values.forEach((v, j) => {
      const [hit, bar, label] = groups[j].children;
      const x = left + j * step;
      set(hit, { x: x + 1, width: step - 2 });
      const text = number(v, digits);
      drawBar(bar, label, v, fits(text) ? text : number(v, 1), { x, width: step, most });
    });
  }
  return { picture, marks, groups, draw };
}

/** Bars to drag: `read` gives the row, `move` takes a feature's number and its new value. */
export function dragBars(title, color, read, move) {
  let range = 1; // stays while a bar is dragged
  let dragging = false;
  const { picture, marks, groups, draw } = bars(color, read().length, "group");
  set(picture, { "aria-label": `${title}: bars to drag` });
  groups.forEach((group, j) => {
    const put = (value) => move(j, Number(value.toPrecision(12)));
    const drag = ({ y }) => put((Math.round(Math.max(-1, Math.min(1, (ZERO - y) / REACH)) * 100) / 100) * range);
    slider(group, `${title}, feature ${j + 1}`, {
      grab: (at) => ((dragging = true), drag(at)),
      move: drag,
      drop: () => ((dragging = false), put(read()[j])),
      step: (n) => put(Number.isFinite(n) ? read()[j] + (n * range) / 50 : Math.sign(n) * range),
    });
    set(group, { "aria-orientation": "vertical" });
  });
  /** Returns what the highest bar may reach; `others` are values that must fit in, too. */
  function drawAll(width, left, right, others = []) {
    const values = read();
    if (!dragging) range = reach([...values, ...others]);
    draw(values, range, width, left, right);
    values.forEach((v, j) => set(groups[j], { "aria-valuemin": Math.min(v, -range), "aria-valuemax": Math.max(v, range), "aria-valuenow": v, "aria-valuetext": number(v) }));
    return range;
  }
  return { picture, marks, groups, draw: drawAll };
}
