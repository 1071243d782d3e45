// The self-check under an exercise, on the web page. It compares as normlib.check does, and says what it says;
// questions, right and wrong values come from the exercise catalogue when the page is built.

const STORE = "layernorm-course-done"; // which exercises were answered right; stays in this browser

/** Read numbers as people type them: (1, −2.5; nan). Null if something else is among them. */
export function parse(text) {
  const words = text.replaceAll("−", "-").replace(/np\.|[()[\]]/g, " ").split(/[\s,;]+/).filter(Boolean);
  const numbers = words.map((word) => (/^nan$/i.test(word) ? NaN : /^[+-]?inf/i.test(word) ? Number(`${word[0] === "-" ? "-" : ""}Infinity`) : Number(word)));
  return numbers.every((v, i) => !Number.isNaN(v) || /^nan$/i.test(words[i])) ? numbers : null;
}

const near = (a, b, tolerance) => Object.is(a, b) || a === b || (Number.isFinite(b) && Math.abs(a - b) <= tolerance);
const rounding = (right, decimals) => (decimals ? 0.5 * 10 ** -decimals * (1 + 1e-6) : 0) + 1e-9 * Math.abs(right); // integers are exact
const same = (answer, right, decimals) =>
  answer.length === right.length && right.every((v, i) => near(answer[i], v, rounding(v, decimals)));
const sameNames = (a, b) => a.length === b.length && a.every((name) => b.includes(name));

/** The verdict on one answer, a list of numbers or of names: "right", "misconception", "shape", "not-finite" or "wrong". */
export function judge({ kind, decimals, ...given }, answer) {
  const plain = (value) => (kind === "names" ? value : value.map(Number)); // NaN comes as text: JSON has none
  const rights = given.rights.map(plain);
  const wrongs = given.wrongs.map(({ value, says }) => ({ value: plain(value), says }));
  const right = rights[0];
  if (kind === "names") {
    if (sameNames(answer, right)) return { rung: "right", text: "correct." };
    const resembles = ({ value }) => {
      const added = value.filter((name) => !right.includes(name));
      return added.length ? added.every((name) => answer.includes(name)) : sameNames(answer, value);
    };
    const known = wrongs.find(resembles);
    if (known) return { rung: "misconception", text: known.says };
    const extra = answer.filter((name) => !right.includes(name)).length;
    const missing = right.filter((name) => !answer.includes(name)).length;
    return { rung: "wrong", text: `${extra} too many and ${missing} missing. Look at each one again.` };
  }
  if (rights.some((value) => same(answer, value, decimals))) return { rung: "right", text: "correct." };
  // where two wrong paths round alike, the exact one is meant
  const known = wrongs.find(({ value }) => same(answer, value, 12)) ?? wrongs.find(({ value }) => same(answer, value, decimals));
  if (known) return { rung: "misconception", text: known.says };
  if (answer.length !== right.length) return { rung: "shape", text: `this is ${count(answer.length)}, and ${count(right.length)} asked for.` };
  if (right.every(Number.isFinite) && !answer.every(Number.isFinite)) return { rung: "not-finite", text: "contains NaN or infinity. Was something divided by 0?" };
  return { rung: "wrong", text: difference(answer, right, decimals) };
}
const count = (n) => (n === 1 ? "1 number" : `${n} numbers`);

/** Where an answer is wrong, and never what is right. */
function difference(answer, right, decimals) {
  const round = (v, d) => Math.round(v * 10 ** d) / 10 ** d;
  const rounded = (d, room) => d > 0 && right.every((v, i) => near(answer[i], round(v, d), room));
  if (decimals && (rounded(decimals, 5 * 10 ** -decimals) || rounded(decimals - 1, 1e-9) || rounded(decimals - 2, 1e-9)))
    return `close, but not to ${decimals} decimals. Keep more digits on the way.`;
  if (right.length === 1) return answer[0] > right[0] ? "too large." : answer[0] < right[0] ? "too small." : "not right.";
  const bad = right.map((v, i) => (near(answer[i], v, rounding(v, decimals)) ? -1 : i)).filter((i) => i >= 0);
  return `${bad.length} of ${right.length} numbers ${bad.length === 1 ? "is" : "are"} off, the first is number ${bad[0] + 1}.`;
}

const STYLE = `
.nl-check { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 9px; padding: .9rem 1.1rem; margin: 1rem 0; font-size: 15px; line-height: 1.45 }
.nl-check :is(p, fieldset) { margin: 0; padding: 0; border: 0; min-width: 0 }
.nl-check > :first-child { font-weight: 650; display: flex; justify-content: space-between; gap: 1rem }
.nl-check > :not(:first-child) { margin-top: .75rem }
.nl-check :is(label, legend) { display: block; margin: 0 0 .2rem; padding: 0; font-size: inherit; float: none }
.nl-check fieldset label { display: inline-flex; gap: .4rem; align-items: center; margin-right: 1.1rem; min-height: 1.9rem }
.nl-check input:not([type=checkbox]) { width: min(100%, 24rem); min-height: 2.1rem; padding: .2rem .6rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid color-mix(in srgb, currentColor 60%, transparent); border-radius: 6px }
.nl-check input[type=checkbox] { accent-color: currentColor }
.nl-check :is(input, button):focus-visible { outline: 2px solid currentColor; outline-offset: 1px }
.nl-check button { min-height: 2.2rem; padding: .2rem 1.1rem; font: inherit; font-weight: 600; color: inherit; background: color-mix(in srgb, currentColor 9%, transparent);
  border: 1px solid currentColor; border-radius: 6px; cursor: pointer }
.nl-check [role=status]:not(:empty) { margin-top: .25rem }
.nl-check .right { color: var(--course-right, inherit) }
.nl-check .wrong { color: var(--course-wrong, inherit) }
`;

function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function done() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? [];
  } catch {
    return []; // storage may be switched off
  }
}

function remember(exercise) {
  try {
    localStorage.setItem(STORE, JSON.stringify([...new Set([...done(), exercise])]));
  } catch { /* then it is not remembered */ }
}

function render({ model, el }) {
  const exercise = model.get("exercise");
  const mark = html("span", {}, done().includes(exercise) ? "✓ done" : "");

  const fields = model.get("questions").map((question) => {
    const id = `check-${exercise.replace(".", "-")}-${question.name}`;
    const status = html("p", { role: "status", id: `${id}-says` });
    if (question.kind === "names") {
      const boxes = Object.keys(question.names).map((value) => html("input", { type: "checkbox", value }));
      const labels = boxes.map((box) => html("label", {}, box, question.names[box.value]));
      const read = () => boxes.filter((box) => box.checked).map((box) => box.value);
      return { question, status, read, empty: () => !read().length, box: html("fieldset", {}, html("legend", {}, question.says), ...labels, status) };
    }
    const input = html("input", { id, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-says` });
    const box = html("div", {}, html("label", { for: id }, question.says), input, status);
    return { question, status, read: () => parse(input.value), empty: () => !input.value.trim(), box };
  });

  const summary = html("p", { role: "status" });
  const form = html("form", { class: "nl-check", "aria-label": `Self-check of exercise ${exercise}` },
    html("p", {}, `Check your answers to ${exercise}`, mark), ...fields.map(({ box }) => box), html("button", {}, "Check"), summary);

  form.onsubmit = (event) => {
    event.preventDefault();
    let right = 0;
    for (const { question, status, read, empty } of fields) {
      status.textContent = "";
      if (empty()) continue;
      const answer = read();
      const verdict = answer ? judge(question, answer) : { rung: "type", text: "this cannot be read as numbers. Write them with a point and separate them by commas." };
      right += verdict.rung === "right";
      status.className = verdict.rung === "right" ? "right" : "wrong";
      status.textContent = verdict.rung === "right" ? "✓ Right." : `✗ Not yet: ${verdict.text}`;
    }
    const empties = fields.filter(({ empty }) => empty()).length;
    summary.textContent = empties === fields.length ? "Fill in an answer first." : `${right} of ${fields.length} right${empties ? `, ${empties} still empty` : ""}.`;
    if (right === fields.length) {
      remember(exercise);
      mark.textContent = "✓ done";
    }
    // whoever keeps a learner's progress listens for this
    el.dispatchEvent(new CustomEvent("selfcheck", { bubbles: true, detail: { exercise, right: right === fields.length } }));
  };
  el.replaceChildren(html("style", {}, STYLE), form);
}

export default { render };
