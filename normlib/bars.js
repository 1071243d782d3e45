// Panels of bars: to look at, and to drag by mouse, finger and keyboard.

import { largest, number, set, svg } from "./live.js";

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

/** Bars to drag by mouse, finger or keyboard: `read` gives the row, `move` takes a feature's number and its new value. */
export function dragBars(title, color, read, move) {
  let range = 1; // stays while a bar is dragged
  let dragging = false;
  const zero = svg("line", { y1: ZERO, y2: ZERO, stroke: "currentColor", opacity: 0.5 });
  const picture = svg("svg", { height: HEIGHT, role: "group", "aria-label": `${title}: bars to drag` }, zero);
  const groups = read().map((_, j) => {
    const name = { role: "slider", tabindex: 0, "aria-label": `${title}, feature ${j + 1}`, "aria-orientation": "vertical" };
    const group = svg("g", name, svg("rect", { class: "nl-hit" }), svg("rect", { rx: 2, fill: color }), svg("text"));
    const put = (value) => move(j, Number(value.toPrecision(12)));
    const drag = (event) => {
      const up = (ZERO - (event.clientY - picture.getBoundingClientRect().top)) / REACH;
      put((Math.round(Math.max(-1, Math.min(1, up)) * 100) / 100) * range);
    };
    group.onpointerdown = (event) => {
      dragging = true;
      group.setPointerCapture(event.pointerId);
      drag(event);
    };
    group.onpointermove = (event) => group.hasPointerCapture(event.pointerId) && drag(event);
    group.onlostpointercapture = () => ((dragging = false), put(read()[j]));
    group.onkeydown = (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
      const value = { Home: -range, End: range }[event.key] ?? read()[j] + (steps * range) / 50;
      if (Number.isNaN(value)) return;
      event.preventDefault();
      put(value);
    };
    return group;
  });
  picture.append(...groups);

  function draw(width, left = 0, right = 0) {
    const values = read();
    const step = (width - left - right) / values.length;
    if (!dragging) range = reach(values);
    set(picture, { viewBox: `0 0 ${width} ${HEIGHT}` });
    set(zero, { x1: left, x2: width - right });
    const digits = [4, 3, 2].find((n) => values.every((v) => number(v, n).length * 5.8 < step)) ?? 2;
    values.forEach((v, j) => {
      const [hit, bar, label] = groups[j].children;
      const x = left + j * step;
      set(hit, { x: x + 1, width: step - 2, height: HEIGHT });
      drawBar(bar, label, v, number(v, digits), { x, width: step, most: range });
      set(groups[j], { "aria-valuemin": Math.min(v, -range), "aria-valuemax": Math.max(v, range), "aria-valuenow": v, "aria-valuetext": number(v) });
    });
  }
  return { picture, draw };
}
