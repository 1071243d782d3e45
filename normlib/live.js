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
  const short = size < 1e-3 || size >= 1e5 ? v.toExponential(digits - 2) : size >= 1000 ? v.toFixed(0) : v.toPrecision(digits);
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

/** A row of buttons: what is written on each, and what it does. */
export function tries(actions) {
  const buttons = Object.entries(actions).map(([title, action]) => {
    const button = html("button", { type: "button" }, title);
    button.onclick = action;
    return button;
  });
  return html("div", { class: "nl-row", role: "group", "aria-label": "Try" }, ...buttons);
}

/** Radio buttons in a row; `values` maps what is chosen to what is written on it. */
export function choice(label, values, chosen, action) {
  const name = `choice-${Math.random()}`; // two figures must not share one
  const labels = Object.entries(values).map(([value, title]) => {
    const input = html("input", { type: "radio", name, value });
    input.checked = value === String(chosen);
    input.onchange = () => action(value);
    return html("label", {}, input, title);
  });
  return html("div", { class: "nl-row", role: "radiogroup", "aria-label": label }, html("span", { "aria-hidden": true }, label), ...labels);
}

export const panel = (title, note, picture) => html("div", {}, title, html("small", {}, note), picture);
export const facts = (pairs) => Object.entries(pairs).map(([term, text]) => html("span", {}, `${term} = `, html("b", {}, text)));

const COMMON = `
.nl-live { --rule: color-mix(in srgb, currentColor 25%, transparent);
  --paper: var(--pst-color-background, var(--jp-layout-color0)); color: var(--jp-content-font-color1, inherit);
  border: 1px solid var(--rule); border-radius: 9px; padding: 1rem; margin: 1rem 0; font-size: 15px; line-height: 1.45 }
.nl-live > * { margin: 0 0 .9rem }
.nl-row { display: flex; flex-wrap: wrap; gap: .35rem; align-items: center }
.nl-row > span { margin-right: .2rem }
.nl-live .nl-row label { padding-inline: .5rem }
.nl-row :is(label, button) { min-height: 2rem; margin: 0; padding: .1rem .65rem; border: 1px solid var(--rule); border-radius: 6px;
  background: none; color: inherit; font: inherit; cursor: pointer; display: flex; align-items: center; gap: .4rem }
.nl-row :is(label, button):hover, .nl-row :has(:checked) { background: color-mix(in srgb, currentColor 9%, transparent) }
.nl-row :has(:checked) { border-color: currentColor }
.nl-row :is(:has(:focus-visible), :focus-visible) { outline: 2px solid currentColor; outline-offset: 1px }
.nl-live input { accent-color: var(--accent, currentColor); margin: 0 }
.nl-pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 255px), 1fr)); gap: .8rem .9rem }
.nl-pair > div { min-width: 0; font-weight: 600 }
.nl-live small { font-weight: 400; font-size: 13.5px; margin-left: .5em }
.nl-live svg { display: block; width: 100%; overflow: visible; user-select: none }
.nl-live text { font: 11.5px var(--pst-font-family-heading, sans-serif); fill: currentColor; text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 3px }
.nl-live [role=slider] { touch-action: none; outline: none; cursor: ns-resize }
.nl-hit { fill: transparent }
:focus-visible > .nl-hit { stroke: currentColor; stroke-width: 1.5 }
.nl-numbers { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem }
.nl-live > [role=status] { margin: 0; min-height: 1.45em; font-weight: 600 }
`;

/** Put the figure into the page and draw it whenever its width or the model changes; returns what ends that. */
export function show({ model, el }, label, draw, style, ...parts) {
  el.replaceChildren(html("style", {}, COMMON + style), html("div", { class: "nl-live", role: "group", "aria-label": label }, ...parts));
  const redraw = () => draw();
  const watcher = new ResizeObserver(redraw); // silent as long as the figure is folded away
  watcher.observe(el);
  draw();
  model.on("change", redraw);
  return () => (watcher.disconnect(), model.off("change", redraw));
}
