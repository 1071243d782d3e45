// What the live figures share; normlib.widgets puts it above each of them in the place of its import.

export const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
export const dot = (a, b) => a.reduce((sum, v, j) => sum + v * b[j], 0);
export const largest = (values) => Math.max(...values.map(Math.abs));

/** The deviations from the mean. The first mean was rounded; the second pass takes off what it left behind. */
export function center(values) {
  const once = values.map((v) => v - mean(values));
  return once.map((v) => v - mean(once));
}

export function number(value, digits = 4) {
  const v = Math.round(value * 1e12) / 1e12; // what rounding leaves of an exact 0
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "NaN" : v > 0 ? "∞" : "−∞";
  const size = Math.abs(v);
  if (size === 0) return "0";
  const short = size < 1e-3 || size >= 1e5 ? v.toExponential(Math.max(0, digits - 2)) : size >= 1000 ? v.toFixed(0) : v.toPrecision(digits);
  return short.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "").replaceAll("-", "−").replace("e+", "e");
}
export const list = (values, digits) => `(${values.map((v) => number(v, digits)).join(", ")})`;

export function set(element, attributes, ...children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
export const html = (tag, attributes = {}, ...children) => set(document.createElement(tag), attributes, ...children);
export const svg = (tag, attributes = {}, ...children) =>
  set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, ...children);

const KEYS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };

/** Let a part of a picture be moved: `grab` and `move` take where the pointer is, `step` how far a key goes, ±∞ to the end. */
export function slider(part, label, { grab, move, drop, step }) {
  const place = ({ clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(part.ownerSVGElement.getScreenCTM().inverse());
  part.ontouchstart = (event) => event.preventDefault(); // or the page would scroll: touch-action is not heeded within SVG
  part.onpointerdown = (event) => {
    part.setPointerCapture(event.pointerId);
    grab(place(event));
  };
  part.onpointermove = (event) => part.hasPointerCapture(event.pointerId) && move(place(event));
  part.onlostpointercapture = drop;
  part.onkeydown = ({ key }) => KEYS[key] && step(KEYS[key]);
  return set(part, { role: "slider", tabindex: 0, "aria-label": label });
}

/** A slider with its name and value above it; `show` puts the value in. */
export function knob(title, color, { name, min, max, step }, action) {
  const input = html("input", { type: "range", name, min, max, step });
  const value = html("b", { "aria-hidden": true });
  input.oninput = () => action(Number(input.value));
  const show = (position, text, spoken = text) => {
    input.value = position;
    value.textContent = text;
    set(input, { "aria-valuetext": spoken });
  };
  return { input, show, label: html("label", { style: `--accent: ${color}` }, html("span", {}, title, value), input) };
}

/** A row of buttons: what is written on each, and what it stands for, of which `press` makes what it does. */
export function tries(actions, press = (action) => action) {
  const buttons = Object.entries(actions).map(([title, action]) => {
    const button = html("button", { type: "button" }, title);
    button.onclick = press(action, title);
    return button;
  });
  return html("div", { class: "nl-row", role: "group", "aria-label": "Try" }, ...buttons);
}

/** Radio buttons in a row; `values` maps what is chosen to what is written on it; `pick` presses one. */
export function choice(label, values, action) {
  const name = `choice-${Math.random()}`; // two figures must not share one
  const inputs = Object.keys(values).map((value) => {
    const input = html("input", { type: "radio", name, value });
    input.onchange = () => action(value);
    return input;
  });
  const labels = inputs.map((input) => html("label", {}, input, values[input.value]));
  const box = html("div", { class: "nl-row", role: "radiogroup", "aria-label": label }, html("span", { "aria-hidden": true }, label), ...labels);
  return { box, pick: (value) => inputs.forEach((input) => (input.checked = input.value === String(value))) };
}

export const panel = (title, note, picture, color) =>
  html("div", color ? { class: "nl-swatch", style: `--accent: ${color}` } : {}, title, html("small", {}, note), picture);
export const facts = (pairs) => Object.entries(pairs).map(([term, text]) => html("span", {}, `${term} = `, html("b", {}, text)));

/** Put the parts into the page, and draw them whenever their width changes. */
export function show(el, label, draw, ...parts) {
  const box = html("div", { class: "nl-live", role: "group", "aria-label": label }, ...parts);
  box.onkeydown = (event) => {
    if (!KEYS[event.key]) return;
    event.stopPropagation(); // JupyterLab would go to the next cell
    if (event.target.role === "slider") event.preventDefault(); // and the page would scroll
  };
  el.replaceChildren(box);
  const watcher = new ResizeObserver(() => draw()); // silent as long as the figure is folded away
  watcher.observe(el);
  draw();
  return { draw: () => draw(), end: () => watcher.disconnect() };
}

/** What anywidget asks for. Other numbers are drawn; a row of another length, which Python may set, needs other parts. */
export const widget = (build) => ({
  render(place) {
    const shape = () => place.model.get("x").map((row) => row.length).join();
    let built = shape(), figure = build(place);
    const change = () => {
      if (shape() === built) return figure.draw();
      figure.end();
      built = shape();
      figure = build(place);
    };
    place.model.on("change", change);
    return () => (figure.end(), place.model.off("change", change));
  },
});
