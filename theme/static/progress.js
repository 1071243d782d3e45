// A reader's progress through the exercises: on the first page, beside each exercise, and in the sidebar.
// It lives in this browser's own storage and is sent nowhere. An ordinary script: pages opened from a folder have no modules.
{
  const STORE = "layernorm-course-progress"; // {"2.1": "done", "2.2": "begun"}; what is not in it was not begun
  const COURSE = "layer-normalization"; // by which an exported file is known
  const LEVELS = [1, 2, 3, 4, 5];
  const EXERCISES = LEVELS.flatMap((level) => [1, 2, 3].map((number) => `${level}.${number}`));
  const SIGNS = { done: "✓", begun: "◐" };

  let progress = {};
  let stored = true; // whether this browser keeps anything for us

  /** What can be used of a value that may be anything. */
  function clean(value) {
    const state = (id) => (Object.hasOwn(Object(value), id) && ["begun", "done"].includes(value[id]) ? value[id] : null);
    return Object.fromEntries(EXERCISES.map((id) => [id, state(id)]).filter(([, known]) => known));
  }

  function load() {
    if (!stored) return; // then what this page knows is all there is
    let text = null;
    try {
      text = localStorage.getItem(STORE);
    } catch {
      stored = false; // switched off
      return;
    }
    try {
      progress = clean(JSON.parse(text));
    } catch {
      progress = {}; // somebody put something else there
    }
  }

  function change(changes) {
    load(); // another tab may have written
    progress = clean({ ...progress, ...changes });
    try {
      localStorage.setItem(STORE, JSON.stringify(progress));
      stored = true;
    } catch {
      stored = false; // full, or switched off
    }
    draw();
  }

  const count = (ids, state = "done") => ids.filter((id) => progress[id] === state).length;
  const summary = () => `${count(EXERCISES)} of ${EXERCISES.length} exercises done`;

  function html(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  const unseen = (text) => html("span", { class: "course-unseen" }, text);
  function button(text, onclick) {
    const element = html("button", { type: "button" }, text);
    element.onclick = onclick;
    return element;
  }

  const drawers = []; // each brings one place on the page up to date
  const draw = () => drawers.forEach((drawer) => drawer());
  const said = html("p", { role: "status", class: "course-unseen" });
  const say = (text) => (said.textContent = text);

  /** Beside an exercise: a box to tick it off by hand, half ticked when it was begun. */
  function addBox(id) {
    const card = document.getElementById(`ex-${id.replace(".", "-")}`);
    if (!card) return;
    const box = html("input", { type: "checkbox" });
    const word = html("span", { "aria-hidden": "true" });
    box.onchange = () => {
      change({ [id]: box.checked ? "done" : null });
      say(`Exercise ${id} ${box.checked ? "done" : "not done"}. ${summary()}.`);
    };
    card.firstElementChild.after(html("label", { class: "course-done" }, box, word, unseen(`Exercise ${id} done`)));
    drawers.push(() => {
      box.checked = progress[id] === "done";
      box.indeterminate = progress[id] === "begun";
      word.textContent = box.indeterminate ? "Begun" : "Done";
    });
  }

  /** In the sidebar: how much of a level is done. */
  function addLevel(level) {
    const ids = EXERCISES.filter((id) => id.startsWith(`${level}.`));
    const links = [...document.querySelectorAll(".bd-sidebar-primary .toctree-l1 > a")];
    const mark = html("small", { class: "course-level" });
    links.find((link) => link.textContent.startsWith(`Level ${level} `))?.append(mark);
    drawers.push(() => {
      const done = count(ids);
      mark.replaceChildren(...(done ? [html("span", { "aria-hidden": "true" }, `${done}/${ids.length}`), unseen(`, ${done} of ${ids.length} done`)] : []));
    });
  }

  /** On the first page: all exercises at a glance, and what can be done with the record. */
  function addOverview(place) {
    const table = [...document.querySelectorAll("a[data-exercise]")];
    const dots = new Map(table.map((link) => [link.dataset.exercise, html("a", { href: link.getAttribute("href"), title: link.textContent })]));
    const lists = LEVELS.map((level) => {
      const items = [...dots].filter(([id]) => id.startsWith(`${level}.`)).map(([, dot]) => html("li", {}, dot));
      return html("ul", { "aria-label": `Level ${level}` }, ...items);
    });
    const total = html("p", { class: "course-total" });
    const note = html("p", {});
    const file = html("input", { type: "file", accept: ".json,application/json", hidden: "", "aria-label": "File with progress" });
    file.onchange = async () => {
      const [chosen] = file.files;
      file.value = ""; // so that the same file can be chosen again
      if (chosen) takeIn(chosen.size < 100_000 ? await chosen.text() : "");
    };
    const tell = (text) => (news.textContent = text);
    const news = html("p", { role: "status" });

    function takeIn(text) {
      let given = null;
      try {
        given = JSON.parse(text);
      } catch { /* not even JSON */ }
      if (given?.course !== COURSE) return tell("Nothing was imported: this is not a file that “Export” made here.");
      const theirs = clean(given.exercises);
      load();
      const more = Object.entries(theirs).filter(([id, state]) => progress[id] !== "done" && progress[id] !== state);
      change(Object.fromEntries(more));
      return tell(`Imported. ${more.length} of ${EXERCISES.length} exercises changed.`);
    }

    function sendOut() {
      const text = JSON.stringify({ course: COURSE, exercises: progress }, null, 1);
      const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      html("a", { href: address, download: `${COURSE}-progress.json` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
      tell("Exported: look among your downloads.");
    }

    const ask = html("dialog", { "aria-labelledby": "course-ask" },
      html("form", { method: "dialog" },
        html("p", { id: "course-ask" }, "Clear the marks of all exercises? This cannot be undone, unless you exported them."),
        html("p", {}, html("button", { value: "" }, "Keep them"), " ", html("button", { value: "clear" }, "Clear them"))));
    ask.onclose = () => {
      if (ask.returnValue !== "clear") return;
      change(Object.fromEntries(EXERCISES.map((id) => [id, null])));
      tell("All marks are cleared.");
    };
    const reset = button("Reset", () => {
      ask.returnValue = ""; // Escape leaves the last answer there
      ask.showModal();
    });

    place.append(html("div", { class: "course-head" }, total, html("p", {}, button("Export", sendOut), button("Import", () => file.click()), reset)),
      html("div", { class: "course-dots" }, ...lists), news, note, file, ask);
    place.hidden = false;

    drawers.push(() => {
      const begun = count(EXERCISES, "begun");
      total.textContent = `${summary()}${begun ? `, ${begun} begun` : ""}`;
      note.textContent = stored
        ? "Kept in this browser, never sent anywhere. A self-check that is all right ticks its exercise; you can also tick it yourself."
        : "This browser keeps nothing for this page: your marks last until you leave it, unless you export them. They are never sent anywhere.";
      for (const [id, dot] of dots) {
        const state = progress[id];
        dot.dataset.state = state ?? "";
        dot.replaceChildren(html("span", { "aria-hidden": "true" }, `${SIGNS[state] ?? "○"} `), id, unseen(`, ${state ?? "not begun"}`));
      }
    });
  }

  /** The way in for a reader leads to where the reader is. */
  function addNext(link) {
    const start = [link.textContent, link.getAttribute("href")];
    drawers.push(() => {
      const next = EXERCISES.find((id) => progress[id] !== "done");
      const target = Object.keys(progress).length && document.querySelector(`a[data-exercise="${next}"]`);
      [link.textContent, link.href] = target ? [`Go on with exercise ${next}`, target.getAttribute("href")] : start;
    });
  }

  EXERCISES.forEach(addBox);
  LEVELS.forEach(addLevel);
  document.querySelectorAll(".course-progress").forEach(addOverview);
  document.querySelectorAll(".course-next a, a.course-next").forEach(addNext);
  document.querySelector("article")?.append(said);
  load();
  draw();

  document.addEventListener("selfcheck", ({ detail: { exercise, right } }) => {
    load();
    const before = progress[exercise];
    if (before === "done") return;
    change({ [exercise]: right ? "done" : "begun" });
    if (right) say(`Exercise ${exercise} done. ${summary()}.`);
  });
  addEventListener("storage", ({ key }) => {
    if (key !== STORE && key !== null) return; // null: everything was cleared
    load();
    draw();
  });
  addEventListener("pageshow", ({ persisted }) => persisted && (load(), draw())); // back from another page
}
