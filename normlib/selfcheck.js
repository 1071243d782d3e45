// The self-check under an exercise, on the web page. It compares as normlib.check does, and says what it says;
// questions, right and wrong values come from the exercise catalogue when the page is built.

/** Read numbers as people type them, how many being asked: [1, −2.5], or a sentence that says what cannot be read. */
export function parse(text, { count, decimals } = {}) {
  const own = read(text);
  if (own === UNREADABLE && count === 1) return "this cannot be read as a number. Write it with a point, or as a fraction.";
  if (typeof own === "string" || own.length === count || !decimals || !COMMA.test(text)) return own;
  const other = read(text.replace(/(\d),(?=\d)/g, "$1.")); // a decimal comma, where only that gives as many as are asked
  return other.length === count && typeof other !== "string" ? other : own;
}
const COMMA = /\d,\d/;
const UNREADABLE = "this cannot be read as numbers. Write them with a point and separate them by commas.";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function read(text) {
  const tidy = text
    .replace(/^.*[=≈]/s, "").replace(/\b(np|numpy|math)\.|\barray\b/g, "")
    .replace(/[−–‒－]/g, "-").replace(/[×·∙⋅]/g, "*").replace(/[÷⁄∕]/g, "/").replace(/\*\*/g, "^").replace(/∞/g, "inf")
    .replace(/⁻?[⁰¹²³⁴-⁹]+/g, (power) => `^${power.replace("⁻", "-").replace(/[^-]/g, (c) => SUPERSCRIPTS.indexOf(c))}`)
    .trim().replace(/\s*([*/^])\s*/g, "$1").replace(/(?:√|sqrt)\s*/gi, "√")
    .replace(/([\w.)])\s+([+-])\s+/g, "$1$2").replace(/([+-])\s+/g, "$1") // “1 - 2” is one number, “1 -2” are two
    .replace(/[\s,;]+/g, ",");
  let at = 0;
  const fail = (says = UNREADABLE) => { throw new SyntaxError(says); };
  const one = (values) => (values.length === 1 ? values[0] : fail());
  const next = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(tidy)?.[0] ?? "";
    at += found.length;
    return found;
  };
  function list(end) {
    const values = [];
    for (;;) {
      next(/,*/y);
      if (at >= tidy.length || tidy[at] === end) return values;
      values.push(...sum());
      if (at < tidy.length && tidy[at] !== "," && tidy[at] !== end) fail();
    }
  }
  function sum() {
    let values = product();
    for (let sign; (sign = next(/[+-]/y)); ) values = [one(values) + (sign === "-" ? -1 : 1) * one(product())];
    return values;
  }
  function product() {
    let values = signed(), divided = false;
    for (;;) {
      const sign = next(/[*/]/y);
      if (!sign && divided && /[√(]/.test(tidy[at])) fail("this can be read in two ways. Put parentheses around what belongs together, as in 1/(2√5).");
      if (!sign && !/[√(]/.test(tidy[at] ?? "")) return values;
      const [a, b] = [one(values), one(signed())];
      values = [sign === "/" ? a / b : a * b];
      divided = sign === "/";
    }
  }
  function signed() {
    const sign = next(/[+-]/y);
    if (sign) return signed().map((value, _, { length }) => (length > 1 ? fail() : sign === "-" ? -value : value));
    const values = atom();
    return next(/\^/y) ? [one(values) ** one(signed())] : values;
  }
  function atom() {
    if (next(/√/y)) return [Math.sqrt(one(atom()))];
    const open = next(/[([]/y);
    if (open) {
      const values = list(open === "(" ? ")" : "]");
      return next(/[)\]]/y) ? values : fail();
    }
    const word = next(/nan|inf(inity)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/iy);
    return word ? [/^n/i.test(word) ? NaN : /^i/i.test(word) ? Infinity : Number(word)] : fail();
  }
  try {
    const values = list();
    return at < tidy.length ? fail() : values;
  } catch (error) {
    return error instanceof SyntaxError ? error.message : UNREADABLE; // thousands of parentheses
  }
}

const near = (a, b, tolerance) => Object.is(a, b) || a === b || (Number.isFinite(b) && Math.abs(a - b) <= tolerance);
const rounding = (right, decimals) => (decimals ? 0.5 * 10 ** -decimals * (1 + 1e-6) : 0) + 1e-9 * Math.abs(right); // integers are exact
const same = (answer, right, decimals) =>
  answer.length === right.length && right.every((v, i) => near(answer[i], v, rounding(v, decimals)));
const sameNames = (a, b) => a.length === b.length && a.every((name) => b.includes(name));

/** The verdict on one answer, a list of numbers or of names: "right", "misconception", "shape", "not-finite" or "wrong". */
export function judge({ kind, decimals, ...given }, answer, sentences) {
  const plain = (value) => (kind === "names" ? value : value.map(Number)); // NaN comes as text: JSON has none
  const rights = given.rights.map(plain);
  const wrongs = given.wrongs.map(([name, value]) => ({ value: plain(value), verdict: { rung: "misconception", name, text: sentences[name] } }));
  const right = rights[0];
  if (kind === "names") {
    if (sameNames(answer, right)) return { rung: "right", text: "correct." };
    const resembles = ({ value }) => {
      const added = value.filter((name) => !right.includes(name));
      return added.length ? added.every((name) => answer.includes(name)) : sameNames(answer, value);
    };
    const known = wrongs.find(resembles);
    if (known) return known.verdict;
    const extra = answer.filter((name) => !right.includes(name)).length;
    const missing = right.filter((name) => !answer.includes(name)).length;
    return { rung: "wrong", text: `${extra} too many and ${missing} missing. Look at each one again.` };
  }
  if (rights.some((value) => same(answer, value, decimals))) return { rung: "right", text: "correct." };
  // where two wrong paths round alike, the exact one is meant
  const known = wrongs.find(({ value }) => same(answer, value, 12)) ?? wrongs.find(({ value }) => same(answer, value, decimals));
  if (known) return known.verdict;
  if (answer.length !== right.length) return { rung: "shape", text: `${answer.length === 1 ? "this is 1 number" : `these are ${answer.length} numbers`}, but ${right.length === 1 ? "1 is" : `${right.length} are`} asked for.` };
  if (right.every(Number.isFinite) && !answer.every(Number.isFinite)) return { rung: "not-finite", text: "contains NaN or infinity. Was something divided by 0?" };
  return { rung: "wrong", text: difference(answer, right, decimals) };
}

/** Read what somebody typed, and judge it. */
export function judgeText(question, text, sentences) {
  const answer = parse(text, { count: question.rights[0].length, decimals: question.decimals });
  if (typeof answer === "string") return { rung: "type", text: answer };
  const verdict = judge(question, answer, sentences);
  const example = COMMA.test(text) && /\d+(,\d+)+/.exec(text)[0];
  if (verdict.rung !== "shape" || !example) return verdict;
  return { rung: "shape", text: `${verdict.text} A comma separates two numbers: ${question.decimals ? `write ${example.replace(",", ".")} with a point` : `write ${example.replaceAll(",", "")} without one`}.` };
}

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
.nl-check > :not(:first-child, :empty), .nl-sheet > :not(:first-child) { margin-top: .75rem }
.nl-head { font-weight: 650; display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem }
.nl-head > :first-child { margin-right: auto }
.nl-check :is(label, legend) { display: block; margin: 0 0 .2rem; padding: 0; font-size: inherit; float: none }
.nl-check fieldset label { display: inline-flex; gap: .4rem; align-items: center; margin-right: 1.1rem; min-height: 1.9rem }
.nl-check input:not([type=checkbox]) { width: min(100%, 24rem); min-height: 2.1rem; padding: .2rem .6rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid color-mix(in srgb, currentColor 60%, transparent); border-radius: 6px }
.nl-check input[type=checkbox] { accent-color: currentColor }
.nl-check :is(input, button, summary):focus-visible { outline: 2px solid currentColor; outline-offset: 1px }
.nl-check button { min-height: 2.2rem; padding: .2rem 1.1rem; font: inherit; font-weight: 600; color: inherit; background: color-mix(in srgb, currentColor 9%, transparent);
  border: 1px solid currentColor; border-radius: 6px; cursor: pointer }
.nl-check button[type] { min-height: 1.9rem; padding: .1rem .7rem; font-weight: 500; background: none; border-color: color-mix(in srgb, currentColor 45%, transparent) }
.nl-check [role=status]:not(:empty) { margin-top: .25rem }
.nl-check > div[role=status]:not(:empty) { margin-top: .75rem }
.nl-check div > button + button { margin-left: .6rem }
.nl-check math { font-family: inherit; margin-right: .15em; math-style: normal }
.nl-check mo { font-family: math }
.nl-check mtd { padding: .1em .35em }
.nl-formula { white-space: nowrap }
.nl-check details > summary { cursor: pointer; font-size: inherit }
.nl-check ol { margin: .4rem 0 0; padding-left: 1.3rem }
.nl-check li > div { margin: .1rem 0 .5rem; font-weight: 600; overflow-wrap: anywhere }
.nl-note { font-size: .87em; opacity: .8 }
.nl-check .right { color: var(--course-right, inherit) }
.nl-check .wrong { color: var(--course-wrong, inherit) }
`;

function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** What catalogue and practice wrote, never what somebody typed. */
function ours(tag, text) {
  const element = html(tag);
  element.innerHTML = text;
  return element;
}

/** A question with its input, and what is said about the answer. */
function field(exercise, question, sentences) {
  const id = `check-${exercise.replace(".", "-")}-${question.name}`;
  const status = html("p", { role: "status", id: `${id}-says` });
  if (question.kind === "names") {
    const boxes = Object.keys(question.names).map((value) => html("input", { type: "checkbox", value }));
    const labels = boxes.map((box) => html("label", {}, box, question.names[box.value]));
    const picked = () => boxes.filter((box) => box.checked).map((box) => box.value);
    const box = html("fieldset", {}, html("legend", {}, question.says), ...labels, status);
    return { status, box, empty: () => !picked().length, verdict: () => judge(question, picked(), sentences) };
  }
  const input = html("input", { id, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-says` });
  const box = html("div", {}, html("label", { for: id }, question.says), input, status);
  return { status, box, input, empty: () => !input.value.trim(), verdict: () => judgeText(question, input.value, sentences) };
}

/** What can be typed into the fields, and what only `check` looks at. */
function note(questions, elsewhere) {
  const decimal = questions.filter(({ decimals, kind }) => kind === "numbers" && decimals);
  const lists = decimal.some(({ rights }) => rights[0].length > 1) ? "; separate several by commas or spaces" : "";
  const names = elsewhere.flatMap((name) => [", ", html("code", {}, name)]).slice(1);
  return [
    decimal.length ? `Numbers can be typed as −7/√2, 0.25 or 0,25${lists}. ` : "",
    ...(names.length ? ["Checked in the notebook only: ", ...names, "."] : []),
  ];
}

/** Judge all fields, say what came of each, and count the right ones. */
function judgeAll(fields) {
  let right = 0;
  for (const { status, input, empty, verdict } of fields) {
    status.textContent = "";
    input?.removeAttribute("aria-invalid");
    if (empty()) continue;
    const { rung, text } = verdict();
    const good = rung === "right";
    right += good;
    if (!good) input?.setAttribute("aria-invalid", "true");
    status.className = good ? "right" : "wrong";
    status.textContent = good ? "✓ Right." : `✗ Not yet: ${text}`;
  }
  return right;
}

function render({ model, el }) {
  const exercise = model.get("exercise"), sentences = model.get("sentences"), steps = model.get("steps");
  const sets = [{ questions: model.get("questions") }, ...model.get("more")]; // the numbers of the text, then others
  const sheets = []; // what was typed stays when one goes on and comes back
  let shown = 0;

  const title = html("span");
  const back = html("button", { type: "button" }, "Original numbers");
  const more = html("button", { type: "button" }, "New numbers");
  const statement = html("div", { role: "status" });
  const typed = html("p", { class: "nl-note" });
  const sheet = html("div", { class: "nl-sheet" });
  const summary = html("p", { role: "status" });
  const solution = html("details");
  const form = html("form", { class: "nl-check", "aria-label": `Self-check of exercise ${exercise}` },
    html("div", { class: "nl-head" }, title, more), statement, typed, sheet, html("div", {}, html("button", {}, "Check"), back), summary, solution);

  function show(number) {
    const { questions, answers, statement: text = "" } = sets[(shown = number)];
    sheets[number] ??= questions.map((question) => field(exercise, question, sentences));
    sheet.replaceChildren(...sheets[number].map(({ box }) => box));
    const total = model.get("live") ? "" : ` of ${sets.length - 1}`;
    title.textContent = number ? `${exercise} with new numbers, ${number}${total}` : `Check your answers to ${exercise}`;
    statement.innerHTML = text;
    typed.replaceChildren(...note(questions, number ? [] : model.get("elsewhere")));
    summary.textContent = "";
    back.hidden = solution.hidden = !number;
    solution.open = false;
    const lines = Object.keys(answers ?? {}).map((name) => html("li", {}, ours("span", steps[name]), ours("div", answers[name])));
    solution.replaceChildren(html("summary", {}, "Show the steps"), html("ol", {}, ...lines));
  }

  more.onclick = () => {
    if (shown + 1 < sets.length) show(shown + 1);
    else if (model.get("live")) {
      model.set("wanted", sets.length); // Python makes another one
      model.save_changes();
    } else show(1);
  };
  model.on("change:latest", () => {
    sets.push(model.get("latest"));
    show(sets.length - 1);
  });
  back.onclick = () => {
    show(0);
    more.focus();
  };
  form.onkeydown = (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
    event.preventDefault(); // JupyterLab would stop the browser from submitting, so it is done here
    form.requestSubmit();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    const fields = sheets[shown];
    const right = judgeAll(fields);
    const empties = fields.filter(({ empty }) => empty()).length;
    summary.textContent = empties === fields.length ? "Fill in an answer first." : `${right} of ${fields.length} right${empties ? `, ${empties} still empty` : ""}.`;
    if (shown || empties === fields.length) return; // only the exercise itself counts
    // whoever keeps a learner's progress listens for this
    el.dispatchEvent(new CustomEvent("selfcheck", { bubbles: true, detail: { exercise, right: right === fields.length } }));
  };
  show(0);
  el.replaceChildren(html("style", {}, STYLE), form);
}

export default { render };
