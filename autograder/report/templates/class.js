"use strict";
// The table of students and the sorting of the others. Every text is set as text, never as
// HTML. Only the rows in sight are in the page, so that a class of thousands stays quick.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ROW = 28, MARGIN = 12;
  const [NAME, SCORE, LETTERS, PARTIAL, QUIZ, TOLD, MESSAGES, GRADED] = [0, 1, 2, 3, 4, 5, 6, 7];
  const STATES = {
    p: ["✓", "good", "right"], r: ["✓*", "good", "right, given right parts"],
    f: ["✗", "bad", "wrong"], e: ["E", "bad", "raised an exception"],
    m: ["–", "none", "not written"], b: ["F", "bad", "used something forbidden"],
    t: ["T", "bad", "took too long"], o: ["M", "bad", "asked for too much memory"],
    c: ["C", "bad", "crashed"], i: ["?", "ours", "could not be graded"],
  };
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, attributes) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    return element;
  };
  const points = (value) => value === null ? "–" : String(Math.round(value * 100) / 100);

  // --- tables that are whole in the page ---------------------------------------------------
  const collator = new Intl.Collator(undefined, {numeric: true});
  const mark = (head, th, direction) => {
    for (const other of head.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", direction);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const button of table.querySelectorAll("button[data-sort]")) {
      button.addEventListener("click", () => {
        const th = button.closest("th"), at = th.cellIndex, number = button.dataset.sort === "number";
        const now = th.getAttribute("aria-sort");
        const up = now ? now === "descending" : !number;
        const value = (row) => {
          const cell = row.cells[at];
          if (!cell) return number ? Infinity : "";
          return number ? parseFloat(cell.dataset.value || cell.textContent) : cell.textContent;
        };
        const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => (number ? a - b : collator.compare(a, b)) * (up ? 1 : -1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
        mark(table.tHead, th, up ? "ascending" : "descending");
      });
    }
  }

  // --- the table of students ---------------------------------------------------------------
  const grid = $("grid"), heat = $("heat"), body = grid.tBodies[0];
  const exercises = data.exercises, hasQuiz = data.quiz > 0;
  const columns = 1 + exercises.length + (hasQuiz ? 1 : 0) + 1;
  let order = data.students.map((_, index) => index), all = order;
  let active = [0, 0], sorted = [0, true], first = -1, last = -1;

  const heading = (text, at, turned) => {
    const th = make("th", undefined, {scope: "col"});
    if (turned) th.className = "turned";
    const button = make("button", text, {type: "button"});
    button.addEventListener("click", () => sort(at, th));
    th.append(button);
    return th;
  };
  const head = make("tr", undefined, {"aria-rowindex": "1"});
  head.append(heading("student", 0, false));
  exercises.forEach(([name], index) => head.append(heading(name, index + 1, true)));
  if (hasQuiz) head.append(heading("questions", exercises.length + 1, true));
  head.append(heading("points", columns - 1, false));
  grid.tHead.append(head);
  grid.setAttribute("aria-colcount", columns);

  // what a cell is sorted by
  const key = (student, at) => {
    if (at === 0) return student[NAME];
    if (at === columns - 1) return student[SCORE] === null ? -1 : student[SCORE];
    if (hasQuiz && at === exercises.length + 1) return student[QUIZ];
    const letter = student[LETTERS][at - 1];
    const rank = {p: 3, r: 2.9, i: -1, m: -0.5}[letter];
    return rank !== undefined ? rank : earned(student, at - 1) / (exercises[at - 1][1] || 1);
  };
  const earned = (student, exercise) => {
    const letter = student[LETTERS][exercise];
    if (letter === "p" || letter === "r") return exercises[exercise][1];
    return (student[PARTIAL] && student[PARTIAL][exercise]) || 0;
  };
  const sort = (at, th) => {
    sorted = [at, sorted[0] === at ? !sorted[1] : at === 0];
    mark(head, th, sorted[1] ? "ascending" : "descending");
    arrange();
  };
  const matches = (student, index) => {
    const [name, holds, who] = [$("name").value.trim().toLowerCase(), $("holds").value, $("who").value];
    if (name && !student[NAME].toLowerCase().includes(name)) return false;
    if (holds !== "" && !holders(holds).has(index)) return false;
    const letters = student[LETTERS];
    if (who === "wrong") return /[^pr]/.test(letters);
    if (who === "all") return !/[^pr]/.test(letters);
    if (who === "nothing") return !/[^m]/.test(letters);
    if (who === "open") return !student[GRADED];
    return true;
  };
  const sets = new Map();
  const holders = (number) => {
    if (!sets.has(number)) sets.set(number, new Set(data.holders[number]));
    return sets.get(number);
  };
  const arrange = () => {
    const [at, up] = sorted;
    const keyed = [];
    for (const index of all) {
      const student = data.students[index];
      if (matches(student, index)) keyed.push([key(student, at), index]);
    }
    const by = at === 0 ? collator.compare : (a, b) => a - b;
    keyed.sort((a, b) => (by(a[0], b[0]) * (up ? 1 : -1)) || a[1] - b[1]);
    order = keyed.map(([, index]) => index);
    $("shown").textContent = `${order.length} of ${data.students.length} students`;
    grid.setAttribute("aria-rowcount", order.length + 1);
    active = [0, Math.min(active[1], columns - 1)];
    heat.scrollTop = 0;
    draw(true);
  };

  const gap = (rows) => {
    const row = make("tr", undefined, {class: "gap", role: "presentation"});
    const cell = make("td", undefined, {colspan: columns, role: "presentation"});
    cell.style.height = `${rows * ROW}px`;
    row.append(cell);
    return row;
  };
  const rowOf = (position) => {
    const student = data.students[order[position]];
    const row = make("tr", undefined, {"aria-rowindex": position + 2});
    const cells = [make("th", student[NAME], {scope: "row", title: student[NAME]})];
    exercises.forEach(([name, most], index) => {
      const [sign, kind, words] = STATES[student[LETTERS][index]];
      const got = student[PARTIAL] && student[PARTIAL][index];
      const cell = make("td", got ? points(got) : sign, {class: `cell ${kind}`});
      cell.setAttribute("aria-label", `${name}: ${words}, ${points(kind === "ours" ? null : earned(student, index))} of ${most}`);
      cells.push(cell);
    });
    if (hasQuiz) cells.push(make("td", points(student[QUIZ]), {class: "num"}));
    cells.push(make("td", points(student[SCORE]), {class: "num"}));
    cells.forEach((cell, at) => {
      cell.tabIndex = position === active[0] && at === active[1] ? 0 : -1;
    });
    row.append(...cells);
    return row;
  };
  // the rows in sight, and some beside them; all of them where the page is printed
  const draw = (again, everything) => {
    const from = everything ? 0 : Math.max(0, Math.floor(heat.scrollTop / ROW) - MARGIN);
    const height = heat.clientHeight || 600;
    const to = everything ? order.length
      : Math.min(order.length, Math.ceil((heat.scrollTop + height) / ROW) + MARGIN);
    if (!again && from === first && to === last) return;
    const focused = body.contains(document.activeElement);
    [first, last] = [from, to];
    const rows = [];
    if (from > 0) rows.push(gap(from));
    for (let position = from; position < to; position++) rows.push(rowOf(position));
    if (to < order.length) rows.push(gap(order.length - to));
    body.replaceChildren(...rows);
    if (!body.querySelector("[tabindex='0']")) {
      // the active cell is out of sight: Tab still has to find the table
      const cell = cellAt(from, active[1]);
      if (cell) cell.tabIndex = 0;
    }
    if (focused) {
      const cell = cellAt(...active);
      if (cell) cell.focus({preventScroll: true});
      else heat.focus({preventScroll: true});
    }
  };
  const cellAt = (position, at) => {
    const row = body.querySelector(`tr[aria-rowindex="${position + 2}"]`);
    return row && row.cells[at];
  };
  const place = (element) => {
    const cell = element.closest("th, td"), row = cell && cell.closest("tr[aria-rowindex]");
    return row && body.contains(row) ? [Number(row.getAttribute("aria-rowindex")) - 2, cell.cellIndex] : null;
  };
  const go = (position, at) => {
    if (!order.length) return;
    active = [Math.max(0, Math.min(order.length - 1, position)), Math.max(0, Math.min(columns - 1, at))];
    const top = active[0] * ROW, room = heat.clientHeight - head.offsetHeight - ROW;
    if (top < heat.scrollTop) heat.scrollTop = top;
    else if (top > heat.scrollTop + room) heat.scrollTop = top - room;
    draw(true);
    const cell = cellAt(...active);
    if (cell) cell.focus({preventScroll: true});
  };
  heat.tabIndex = -1;
  heat.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)));
  heat.addEventListener("keydown", (event) => {
    if (event.target.closest("thead")) return;
    const page = Math.max(1, Math.floor(heat.clientHeight / ROW) - 2), [y, x] = active;
    const end = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowDown: [y + 1, x], ArrowUp: [y - 1, x], ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1],
      PageDown: [y + page, x], PageUp: [y - page, x],
      Home: [end ? 0 : y, 0], End: [end ? order.length - 1 : y, columns - 1],
    };
    if (moves[event.key]) go(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") tell(y, x);
    else if (event.key === "Escape") $("told").hidden = true;
    else return;
    event.preventDefault();
  });
  body.addEventListener("click", (event) => {
    const at = place(event.target);
    if (at) { go(...at); tell(...at); }
  });
  body.addEventListener("focusin", (event) => { active = place(event.target) || active; });

  // --- what a student was told -------------------------------------------------------------
  const tell = (position, at) => {
    const student = data.students[order[position]], told = $("told");
    if (!student) return;
    const lines = [make("h3", `${student[NAME]}: ${points(student[SCORE])} of ${points(data.max)} points`)];
    const say = (index) => {
      const text = student[TOLD] ? student[TOLD][index] : -1;
      const [, , words] = STATES[student[LETTERS][index]];
      lines.push(make("p", text >= 0 ? data.texts[text] : `${exercises[index][0]}: ${words}.`));
    };
    if (at >= 1 && at <= exercises.length) say(at - 1);
    else {
      for (const text of student[MESSAGES] || []) lines.push(make("p", data.texts[text]));
      exercises.forEach((_, index) => { if (student[LETTERS][index] !== "p") say(index); });
      if (hasQuiz) lines.push(make("p", `Questions: ${points(student[QUIZ])} of ${points(data.quiz)} points.`));
    }
    told.replaceChildren(...lines);
    told.hidden = false;
  };

  // --- filters -----------------------------------------------------------------------------
  const form = $("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", arrange);
  form.addEventListener("reset", () => setTimeout(arrange));
  for (const button of document.querySelectorAll("[data-holders]")) {
    button.addEventListener("click", () => {
      form.reset();
      $("holds").value = button.dataset.holders;
      arrange();
      $("students").scrollIntoView();
      $("holds").focus({preventScroll: true});
    });
  }
  for (const [sign, kind, words] of Object.values(STATES)) {
    const item = make("li");
    item.append(make("span", sign, {class: kind}), ` ${words}`);
    $("marks").append(item);
  }
  window.addEventListener("beforeprint", () => draw(true, true));
  window.addEventListener("afterprint", () => draw(true));
  window.addEventListener("resize", () => draw(true));
  head.cells[0].setAttribute("aria-sort", "ascending");
  arrange();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
