// A row of three as a point in space, on its way to the circle: a widget (anywidget) and a live figure on the site.

import { center, choice, dot, facts, html, knob, largest, list, mean, number, panel, set, show, slider, svg, tries, widget } from "./live.js";

const { abs, atan2, max, min, round, sqrt } = Math;
const ROOT2 = sqrt(2), ROOT3 = sqrt(3), DEGREES = 180 / Math.PI;
const NEAR = 1.6 * ROOT3; // how much of the plane is seen at least
const BASIS = [[0, 1, -1].map((v) => v / ROOT2), [2, -1, -1].map((v) => v / sqrt(6))]; // of the plane Σ = 0
const AXES = [0, 1, 2].map((j) => BASIS.map((e) => e[j] * sqrt(1.5))); // where each coordinate is largest
const SUBSCRIPTS = "₁₂₃";
const START = "Drag x, or x − μ: x̂ stays on the circle.";

/** The stages of a row at ε = 0; row i of the gradient is that of x̂ᵢ. */
export function compute({ x }) {
  const centered = center(x);
  const sigma = sqrt(mean(centered.map((v) => v * v)));
  const x_hat = centered.map((v) => v / sigma);
  const gradient = x_hat.map((a, i) => x_hat.map((b, j) => (Number(i === j) - (1 + a * b) / 3) / sigma));
  return { mu: mean(x), sigma, centered, x_hat, gradient };
}

const clip = (v, least, most) => max(least, min(most, v));
const size = (vector) => Math.hypot(...vector);
const flat = (row) => BASIS.map((e) => dot(e, row));
const angleOf = (row) => round(atan2(dot(BASIS[1], row), dot(BASIS[0], row)) * DEGREES);
/** How much of the plane to show, in steps of √2, so that x and x − μ are in sight. */
function view({ centered, mu }) {
  const far = max(size(centered), (mu * ROOT3) / (mu > 0 ? 1.35 : -0.6));
  return NEAR * ROOT2 ** max(0, Math.ceil(2 * Math.log2(far / NEAR)));
}

const line = ([x1, y1], [x2, y2], stroke, style) => svg("line", { x1, y1, x2, y2, stroke, ...style });
const disc = ([cx, cy], r, fill, style) => svg("circle", { cx, cy, r, fill, ...style });
const text = ([x, y], words, style) => svg("text", { x: max(16, min(284, x)), y: y + 4, ...style }, words);
const BIG = { style: "font-size: 13.5px; font-weight: 650" };

function arrow(from, to, fill, style) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  if (!(size([dx, dy]) > 3)) return [];
  const head = svg("path", { d: "M1 0-9-4.5v9z", fill, transform: `translate(${to}) rotate(${atan2(dy, dx) * DEGREES})` });
  return [line(from, to, fill, style), head];
}

function render({ model, el }) {
  const initial = model.get("x");
  const colors = model.get("colors");
  let feature = 0; // whose gradient is drawn
  let held = 0; // the view, while it must not change
  let glow = "";
  let frame = 0; // of what is being played

  const canvas = { viewBox: "0 0 300 270", "stroke-width": 2, role: "group" };
  const handle = (label, color, { move, step }) => slider(
    svg("g", { class: "nl-handle" }, svg("circle", { r: 18, class: "nl-hit" }), svg("circle", { r: 6, fill: color })), label,
    { grab: () => (stop(), (held = view(see()))), move, drop: () => ((held = 0), draw()), step });

  // In space the pointer moves x across the picture and up, not in depth; keys move it up and down, which is a shift.
  const point = handle("x, its mean μ", colors.x, {
    move({ x: right, y: down }) {
      const unit = 100 / held, depth = flat(see().centered)[1];
      const side = sqrt(max(0, held ** 2 - depth ** 2));
      const up = ((178 - down) / unit - 0.34 * depth) / 0.94;
      put(clip((right - 150) / unit, -side, side), depth, clip(up, -0.6 * held, 1.35 * held) / ROOT3);
    },
    step: (n) => put(...flat(see().centered), clip(see().mu + n / 10, -9, 9)),
  });
  const shadow = handle("x − μ, its angle in the plane", colors.mu, {
    move({ x: right, y: down }) {
      const [u, v] = [right - 150, 135 - down].map((d) => (d * held) / 118);
      turn(atan2(v, u) * DEGREES, min(held, size([u, v])));
    },
    step: (n) => turn(clip(angleOf(see().centered) + 3 * n, -180, 180), size(see().centered) || ROOT3),
  });
  set(point, { "aria-valuemin": -9, "aria-valuemax": 9, "aria-orientation": "vertical" });
  set(shadow, { "aria-valuemin": -180, "aria-valuemax": 180 });
  const [behind, drawing] = [svg("g"), svg("g")];
  const space = svg("svg", canvas, behind, point);
  const plane = svg("svg", { ...canvas, "aria-label": "The plane Σ = 0, face-on" }, drawing, shadow);
  const knobs = [0, 1, 2].map((j) => knob(`x${SUBSCRIPTS[j]}`, colors.x, { name: `x${j + 1}`, min: -10, max: 10, step: 0.1 }, (v) => write(model.get("x").with(j, v))));
  const numbers = html("div", { class: "nl-numbers" });
  const status = html("p", { role: "status" }, START);

  const see = () => compute({ x: model.get("x") });
  function write(x, says) {
    stop();
    model.set("x", x.map((v) => Number(v.toPrecision(12))));
    model.save_changes();
    const { x_hat } = see();
    const most = x_hat.findIndex((v) => abs(v) > ROOT2 - 1e-9);
    status.textContent = says ?? (most < 0 ? `x̂ = ${list(x_hat)}` : `|x̂${SUBSCRIPTS[most]}| is √2, the most there is: the other two are equal, and ∇x̂${SUBSCRIPTS[most]} is 0.`);
    draw();
  }
  /** Put x where its two coordinates in the plane and its mean are given. */
  const put = (u, v, mu = see().mu) => write(BASIS[0].map((e, j) => mu + u * e + v * BASIS[1][j]));
  /** Put x − μ at an angle in the plane, in degrees, and exactly to where a coordinate is largest or least if that is near. */
  function turn(angle, length) {
    const ring = round(angle / 60 - 0.5) * 60 + 30;
    const exact = (abs(angle - ring) < 2.5 ? ring : angle) / DEGREES;
    put(length * Math.cos(exact), length * Math.sin(exact));
  }

  /** Move x where x̂ does not: to an end and back again, or at once where motion is not wanted. */
  function play(name) {
    stop();
    const start = model.get("x");
    const { mu, centered } = see();
    const b = (mu > 0 ? -1.5 : 2.5) - mu, a = size(centered) > ROOT3 ? 0.4 : 2.5;
    const at = (t) => start.map((v) => (name === "shift" ? v + t * b : v * a ** t));
    const says = `${name === "shift" ? `Shifted by ${number(b)}` : `Scaled by ${a}`}: x̂ did not move.`;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) write(at(1), says);
    else held = max(...[0, 1].map((t) => view(compute({ x: at(t) }))));
    glow = name;
    status.textContent = says;
    if (still) return draw();
    let from;
    const step = (time) => {
      const t = (time - (from ??= time)) / 3000;
      if (t > 1 || !el.isConnected) return stop(), draw();
      draw(at(Math.sin(Math.PI * t) ** 2));
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
  }
  function stop() {
    cancelAnimationFrame(frame);
    if (frame) held = 0;
    frame = 0;
    glow = "";
  }

  const halo = (name, from, to, color) => (glow === name ? [line(from, to, color, { class: "nl-glow" })] : []);

  function drawSpace({ mu, centered, x_hat }, x, seen) {
    const unit = 100 / seen;
    const place = ([u, v], height) => [150 + unit * u, 178 - unit * (0.34 * v + 0.94 * height)];
    const ellipse = (rx, style) => svg("ellipse", { cx: 150, cy: 178, rx, ry: 0.34 * rx, ...style });
    const origin = place([0, 0], 0), foot = place(flat(centered), 0), head = place(flat(centered), mu * ROOT3), end = place(flat(x_hat), 0);
    const axes = AXES.flatMap((axis, j) => {
      const tip = place(axis.map((v) => (v * seen * 2) / 3), (seen * ROOT2) / 3);
      return [line(origin, tip, "currentColor", { opacity: 0.35, "stroke-width": 1 }), text([tip[0], tip[1] - 9], `x${SUBSCRIPTS[j]}`)];
    });
    behind.replaceChildren(
      ellipse(100, { fill: "currentColor", opacity: 0.08 }), ...axes,
      ellipse(unit * ROOT3, { fill: "none", stroke: colors.x_hat }),
      ...halo("shift", [head[0], head[1] - 60], [head[0], head[1] + 60], colors.mu), ...halo("scale", origin, head, colors.sigma),
      ...arrow(head, foot, colors.mu, { "stroke-dasharray": "4 3" }), ...arrow(foot, end, colors.sigma),
      disc(foot, 4.5, colors.mu), disc(end, 4.5, colors.x_hat), text([head[0] + 14, head[1]], "x", BIG),
      text([150, 252], "the plane Σ = 0"));
    set(point, { transform: `translate(${head})`, "aria-valuenow": mu, "aria-valuetext": `x = ${list(x)}` });
    set(space, { "aria-label": `In space: x = ${list(x)} drops along (1, 1, 1) onto the plane Σ = 0, to ${list(centered)}` });
  }

  function drawPlane({ sigma, centered, x_hat, gradient }, seen) {
    const unit = 118 / seen;
    const place = ([u, v], scale = unit) => [150 + scale * u, 135 - scale * v];
    const origin = place([0, 0]), far = place(flat(centered)), near = place(flat(x_hat));
    const ray = flat(x_hat).map((v) => v / ROOT3);
    const outer = size(centered) > ROOT3 ? 1 : -1; // which of the two labels stands farther out
    const label = (at, side, words, wide = 0) => text([at[0] + side * (16 + wide) * ray[0], at[1] - side * 18 * ray[1]], words, BIG);
    const rings = AXES.flatMap((axis, j) => {
      const on = Number(abs(x_hat[j] - ROOT2) < 1e-9);
      const style = { stroke: "currentColor", "stroke-width": 1, "fill-opacity": on };
      const at = axis.map((v) => v * ROOT3);
      const [h, v] = place(at, unit + 13); // aside, where the arrow to x̂ comes in
      return [disc(place(at), 5, colors.x_hat, style), text([h + 44 * on * axis[1], v + 44 * on * axis[0]], `x̂${SUBSCRIPTS[j]} = √2`)];
    });
    const slope = flat(gradient[feature]);
    const long = min(110, 100 / size(slope)); // pixels; not in the scale of the plane, it would be too short
    const tip = [near[0] + long * slope[0], near[1] - long * slope[1]];
    drawing.replaceChildren(
      disc(origin, unit * ROOT3, "none", { stroke: colors.x_hat }), disc(origin, 2, "currentColor"), ...rings,
      ...(sigma ? [
        ...halo("scale", origin, place(ray, 130), colors.sigma), ...halo("shift", far, far, colors.mu),
        line(origin, outer > 0 ? far : near, "currentColor", { "stroke-dasharray": "2 4" }),
        ...arrow(far, near, colors.sigma), ...arrow(near, tip, "currentColor"), disc(near, 5.5, colors.x_hat),
        text([near[0] - outer * (14 * ray[0] + 11 * ray[1]), near[1] + outer * (14 * ray[1] - 11 * ray[0])], "x̂", BIG), label(far, outer, "x − μ", 16), ...(size(slope) > 1e-9 ? [label(tip, 1.2, `∇x̂${SUBSCRIPTS[feature]}`)] : []),
      ] : []));
    set(shadow, { transform: `translate(${far})`, "aria-valuenow": angleOf(centered), "aria-valuetext": `x̂ = ${list(x_hat)}` });
  }

  function draw(x = model.get("x")) {
    const result = compute({ x });
    const { mu, sigma, x_hat, gradient } = result;
    const seen = held || view(result);
    const drawn = sigma ? result : { ...result, x_hat: [0, 0, 0] }; // of 0/0
    drawSpace(drawn, x, seen);
    drawPlane(drawn, seen);
    knobs.forEach(({ input, show }, j) => {
      show(x[j], number(x[j]));
      set(input, { "data-value": x[j] });
    });
    pick.pick(feature);
    const slope = gradient[feature];
    numbers.replaceChildren(...facts({ "μ": number(mu), "σ": number(sigma), "x̂": list(x_hat), "largest |x̂|": `${number(largest(x_hat))} of √2 = 1.414`,
      [`∇x̂${SUBSCRIPTS[feature]}`]: list(slope), "its length": number(size(slope)) }));
    set(numbers, { "data-value": x_hat });
  }

  function outlier() {
    const { x_hat, centered } = see();
    feature = max(0, x_hat.indexOf(max(...x_hat))); // of a constant row the first
    turn([90, -30, -150][feature], size(centered) || ROOT3);
  }
  const pick = choice("gradient of", { 0: "x̂₁", 1: "x̂₂", 2: "x̂₃" }, (i) => {
    feature = Number(i);
    write(model.get("x"), `∇x̂${SUBSCRIPTS[i]} = ${list(see().gradient[i])}`);
  });
  const figure = show(el, "A row of three on its circle", () => frame || draw(),
    html("div", { class: "nl-pair" }, panel("in space", "drag x; it drops onto the plane", space), panel("the plane, face-on", "drag x − μ", plane)),
    status,
    tries({ "shift it": () => play("shift"), "scale it": () => play("scale"), "to the bound": outlier, reset: () => write(initial, START) }),
    pick.box,
    numbers,
    html("div", { class: "nl-knobs" }, ...knobs.map(({ label }) => label)));
  return { ...figure, end: () => (stop(), figure.end()) };
}

export default widget(render);
