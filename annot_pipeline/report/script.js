"use strict";
// Adds to tables sorting, filtering and the rows that wait in templates; lists items to doubt.
(() => {
  function keyOf(cell, isNumber) {
    if (!isNumber) return said(cell).toLowerCase();
    const written = cell.dataset.v ?? said(cell).replace(/[,%\s]/g, "").replace("\u2212", "-");
    const value = written === "" ? NaN : Number.parseFloat(written);
    return Number.isNaN(value) ? null : value;
  }

  function compare(a, b) {
    return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
  }

  // rows that wait: a cell is HTML, or HTML and the exact number, or null; last is the id
  const restBox = (table) => table.parentElement.querySelector("script");

  function restOf(table) {
    const box = restBox(table), { texts, rows } = JSON.parse(box ? box.textContent : '{"rows":[]}');
    return rows.map((cells) => cells.map((cell) => (typeof cell === "number" ? texts[cell] : cell)));
  }

  function fragment(html) {
    const box = document.createElement("template");
    box.innerHTML = html ?? "";
    return box.content;
  }

  async function inflated(box) {
    const bytes = Uint8Array.from(atob(box.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream);
  }

  // figures wait until every part that they are in is open
  addEventListener("toggle", async ({ target }) => {
    for (const waiting of target.querySelectorAll(".figures > script")) {
      if (waiting.closest("details:not([open])")) continue;
      const boxes = waiting.parentElement.querySelectorAll(".wide"), response = await inflated(waiting);
      const drawings = [...fragment(await response.text()).children];
      boxes.forEach((box, n) => box.replaceChildren(drawings[n]));
      waiting.remove();
    }
  }, true);

  const said = (cell) => (cell instanceof Element ? cell : fragment([cell].flat()[0])).textContent.trim();

  function rowOf(cells, heads) {
    const id = cells.at(-1);
    return make("tr", heads.map((head, n) => {
      const [html, exact] = [cells[n]].flat(), content = fragment(html), length = content.textContent.length;
      const isNumber = head.classList.contains("number");
      const cell = make(n ? "td" : "th", length > 240 && !content.querySelector("details") ? make("div", content, { className: "clamp", tabIndex: 0 }) : content);
      if (!n) cell.scope = "row";
      if (isNumber || length > 28) cell.className = isNumber ? "number" : "long";
      if ("detail" in head.dataset) cell.classList.add("detail");
      if (exact) cell.dataset.v = exact;
      return cell;
    }), id ? { id } : {});
  }

  // where annot serve shows the report, first cells lead to its pages
  function linkRows(table) {
    const page = location.pathname === "/report" && table.dataset.served;
    if (!page) return;
    const task = [...table.tHead.rows[0].cells].findIndex((head) => said(head) === "task");
    for (const { cells } of table.tBodies[0].rows) {
      if (cells[0].querySelector("a, .cut")) continue;
      const query = new URLSearchParams(location.search);
      query.set(page === "judge" ? "judge" : "item", said(cells[0]));
      if (task > 0) query.set("task", said(cells[task]));
      cells[0].replaceChildren(make("a", [...cells[0].childNodes], { href: `/${page}?${query}` }));
    }
  }

  // elsewhere changed labels lead to the items to doubt among them
  function linkItems(table) {
    if (served || table.dataset.served !== "cause") return;
    const task = [...table.tHead.rows[0].cells].findIndex((head) => said(head) === "task");
    const ofAll = said(table.caption).match(/In all rows:.*? task (.+?)(?:,|$)/)?.[1];
    for (const { cells } of table.tBodies[0].rows) {
      if (cells[0].querySelector("a, .cut")) continue;
      const name = `item=${task < 0 ? ofAll : said(cells[task])}/${said(cells[0])}`;
      if (items.some((row) => anchorOf(row) === name))
        cells[0].replaceChildren(make("a", [...cells[0].childNodes], { href: `#${encodeURIComponent(name)}` }));
    }
  }

  function showAll(table) {
    if (!restBox(table)) return;
    table.classList.add("whole");
    const heads = [...table.tHead.rows[0].cells];
    table.tBodies[0].append(...restOf(table).map((cells) => rowOf(cells, heads)));
    restBox(table).remove();
    linkRows(table);
    linkItems(table);
    const words = table.parentElement.nextElementSibling;
    if (words && words.classList.contains("rest")) words.remove();
  }

  function sortBy(table, heads, column, live) {
    showAll(table);
    const head = heads[column];
    const up = head.getAttribute("aria-sort") !== "ascending";
    const isNumber = head.classList.contains("number");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [keyOf(row.cells[column], isNumber), row]);
    const blank = (key) => key === null || key === "";
    rows.sort(([a], [b]) => {
      if (blank(a) || blank(b)) return blank(a) - blank(b); // what is missing comes last
      return up ? compare(a, b) : compare(b, a);
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    live.textContent = `sorted by ${said(head)}, ${up ? "ascending" : "descending"}`;
  }

  function sortable(table, live) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      if (said(head) === "") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sortBy(table, heads, column, live));
    });
  }

  function labelled(words, field) {
    const label = document.createElement("label");
    label.append(words, field);
    return label;
  }

  function chooser(table, column) {
    const cells = [...Array.from(table.tBodies[0].rows, (row) => row.cells[column]),
      ...restOf(table).map((row) => row[column])];
    const values = [...new Set(cells.map(said))].sort();
    if (values.length < 2 || values.length > 500) return null;
    const select = document.createElement("select");
    select.append(new Option("all", "all"));
    values.forEach((value, place) => select.append(new Option(value || "(none)", String(place))));
    const fits = (row) =>
      select.value === "all" || said(row.cells[column]) === values[Number(select.value)];
    return { field: select, fits };
  }

  function searchBox() {
    const input = document.createElement("input");
    input.type = "search";
    const texts = new Map();
    const fits = (row) => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return true;
      if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
      return words.every((word) => texts.get(row).includes(word));
    };
    return { field: input, fits };
  }

  function filters(table, box, live) {
    const rows = () => [...table.tBodies[0].rows];
    const n = table.tBodies[0].rows.length + restOf(table).length;
    const form = document.createElement("form");
    form.className = "filters";
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", `Filter: ${box.getAttribute("aria-label")}`);
    const fields = [{ words: "Search", ...searchBox() }];
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const found = "choose" in head.dataset ? chooser(table, column) : null;
      if (found) fields.push({ words: said(head), ...found });
    });
    for (const { words, field } of fields) form.append(labelled(words, field));
    form.append(live);
    const say = (shown) => {
      live.textContent = `${shown.toLocaleString("en")} of ${n.toLocaleString("en")} rows`;
    };
    const apply = () => {
      showAll(table);
      let shown = 0;
      for (const row of rows()) {
        row.hidden = !fields.every(({ fits }) => fits(row));
        shown += row.hidden ? 0 : 1;
      }
      say(shown);
    };
    let waiting = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 80);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    box.before(form);
    say(table.tBodies[0].rows.length);
  }

  function restButton(table) {
    const words = table.parentElement.nextElementSibling;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "show";
    button.textContent = `Show all ${(table.tBodies[0].rows.length + restOf(table).length).toLocaleString("en")} rows`;
    button.addEventListener("click", () => showAll(table));
    words.replaceChildren(button);
  }

  // columns of details wait for a button, so that a table fits on a screen
  function foldColumns(table) {
    const heads = [...table.tHead.rows[0].cells], n = heads.filter((head) => "detail" in head.dataset).length;
    if (!n) return;
    for (const row of [table.tHead.rows[0], ...table.tBodies[0].rows]) {
      heads.forEach((head, column) => "detail" in head.dataset && row.cells[column].classList.add("detail"));
    }
    table.classList.add("folds");
    const button = make("button", `Show ${n} more column${n > 1 ? "s" : ""}`, { type: "button", className: "show columns" });
    button.addEventListener("click", () => {
      table.classList.remove("folds");
      button.remove();
      heads.find((head) => "detail" in head.dataset).querySelector("button")?.focus();
    });
    table.parentElement.before(button);
  }

  document.querySelectorAll("table[data-served]").forEach(linkRows);
  for (const table of document.querySelectorAll("table.sortable, table.search")) {
    const box = table.parentElement;
    const live = document.createElement("output");
    live.setAttribute("aria-live", "polite");
    // filters first: their choices are named by heads that have no buttons yet
    if (table.classList.contains("search")) filters(table, box, live);
    else {
      live.className = "quiet";
      box.before(live);
    }
    if (table.classList.contains("sortable")) sortable(table, live);
    if (restBox(table)) restButton(table);
    foldColumns(table);
  }

  function openAround(element) {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }

  function follow(how) {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      // a name with a bare %
    }
    for (const table of document.querySelectorAll("table")) {
      if (restOf(table).some((cells) => cells.at(-1) === name)) showAll(table);
    }
    const target = document.getElementById(name);
    if (!target) return openItem(name);
    openAround(target);
    target.scrollIntoView(how);
  }

  // ---- items to doubt -------------------------------------------------------------------------

  const STEP = 20;
  const doubt = document.getElementById("doubt-data");
  let data = { tasks: [] }, items = [], list = { shown: [] };
  const each = (values, k) => (Array.isArray(values) ? values[k] : values);

  function answersOfItem([judges, answers, evidence, files, rows, offsets, fates]) {
    return judges.map((judge, k) => [judge, answers[k], each(evidence, k), each(files, k), rows[k],
      each(offsets, k), fates[k - judges.length + fates.length]]);
  }

  function itemAt(n) {
    const row = Object.fromEntries(Object.entries(data.columns).map(([name, values]) => [name, values[n]]));
    const answered = data.answered[n];
    return { ...row, answers: answered ? answersOfItem(answered) : [], n: answered ? answered[7] : 0 };
  }

  const anchorOf = (row) => `item=${data.tasks[row.task]}/${row.item}`;
  const decisions = new Map();
  let unsaved = false;
  addEventListener("beforeunload", (event) => {
    if (unsaved) event.preventDefault();
  });

  // no control characters, none that reorder a line
  const clean = (text) => String(text).replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (c) => (c === "\n" ? c : "\ufffd"));
  const short = (text, most = 120) => {
    const whole = clean(text);
    return whole.length > most ? `${whole.slice(0, most)}… (${whole.length.toLocaleString("en")} characters)` : whole;
  };

  function make(tag, content, options = {}) {
    const element = Object.assign(document.createElement(tag), options);
    for (const part of [content].flat()) if (part !== null) element.append(part);
    return element;
  }

  const isolated = (text, most) => make("bdi", short(text, most));
  const served = location.pathname === "/report";
  function page(name, chosen) {
    const release = new URLSearchParams(location.search).get("release");
    return `/${name}?${new URLSearchParams({ ...(release && { release }), ...chosen })}`;
  }

  const share = (p) => (p === null ? "" : `${(100 * p).toFixed(1)}%`);

  function votes(row) {
    if (row.votes !== null) return row.votes;
    const counts = new Map();
    for (const [, answer, , , , , fate] of row.answers)
      if (!fate) counts.set(answer, (counts.get(answer) || 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
    return most.map(([answer, n]) => `${short(data.answers[answer], 40)}${n === 1 ? "" : ` x${n}`}`).join(", ");
  }

  function tableOf(caption, heads, rows) {
    const head = make("thead", make("tr", heads.map((name) => make("th", name, { scope: "col" }))));
    const cells = (row) => row.map((content, n) => {
      const cell = n ? make("td", content) : make("th", content, { scope: "row" });
      if (cell.textContent.length > 28) cell.className = "long"; // wraps on a phone too
      return cell;
    });
    const body = make("tbody", rows.map((row) => make("tr", cells(row))));
    const box = make("div", make("table", [make("caption", caption), head, body], { className: "plain" }),
      { className: "wide", tabIndex: 0, role: "group" });
    box.setAttribute("aria-label", caption);
    return box;
  }

  function answersOf(row) {
    const hasEvidence = row.answers.some(([, , evidence]) => evidence !== null);
    const heads = ["judge", "answer", ...(hasEvidence ? ["evidence, nats"] : []), "file and row"];
    const against = hasEvidence ? `; evidence is for ${short(row.label, 40)} against ${short(row.runner_up, 40)}, 2.3 nats are 10 to 1` : "";
    return tableOf(`Answers${against}`, heads, row.answers.map(([judge, answer, evidence, file, at, offset, fate]) => {
      const [name, anchor] = [data.judges[judge]].flat();
      const link = anchor ? make("a", isolated(name), { href: `#${anchor}` }) : isolated(name);
      const place = `row ${at.toLocaleString("en")}${offset === null ? "" : ` (line ${(at + offset).toLocaleString("en")})`}`;
      const [shortName, whole, digest] = data.files[file], where = `${clean(shortName)} ${place}`;
      const rawRow = served ? make("a", where, { href: page("row", { file: whole, digest, row: at }) }) : where;
      const cells = [link, [isolated(data.answers[answer]), fate ? ` (${fate})` : null], rawRow];
      if (hasEvidence) cells.splice(2, 0, evidence === null ? "" : evidence.toFixed(1).replace("-", "\u2212"));
      return cells;
    }));
  }

  function decisionForm(row) {
    const classes = data.classes[row.task];
    if (!classes.length) return null;
    const key = anchorOf(row), before = decisions.get(key);
    const select = make("select", [new Option("", ""), ...classes.map((name) => new Option(short(name), name))]);
    select.value = before ? before.label : "";
    const why = make("input", null, { type: "text", value: before ? before.why : "" });
    const record = () => {
      if (select.value) decisions.set(key, { row, label: select.value, why: why.value, at: new Date().toISOString() });
      else decisions.delete(key);
      unsaved = decisions.size > 0;
      list.tellDecisions();
    };
    select.addEventListener("change", record);
    why.addEventListener("change", record);
    return make("form", [labelled("Your decision", select), labelled("Why", why)],
      { className: "filters", onsubmit: (event) => event.preventDefault() });
  }

  const dialog = make("dialog", null, { className: "item-page" });
  dialog.setAttribute("aria-labelledby", "item-title");
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#item=")) history.replaceState(null, "", "#doubt");
  });
  dialog.addEventListener("click", (event) => {
    if (event.target.closest("a")) dialog.close();
  });

  function openItem(name) {
    const row = items.find((other) => anchorOf(other) === name);
    if (row) showItem(row);
  }

  function showItem(row) {
    const close = make("button", "Close", { type: "button", className: "show", onclick: () => dialog.close() });
    const at = list.shown.indexOf(row);
    const step = (by, words) => make("button", words, {
      type: "button", className: "show", disabled: !list.shown[at + by] || at < 0,
      onclick: () => showItem(list.shown[at + by]),
    });
    const told = row.label === null ? [] : [`Label ${short(row.label)}, probability ${share(row.probability) || "unknown"}`,
      row.runner_up === null ? "" : `; runner-up ${short(row.runner_up)}`, "."];
    dialog.replaceChildren(
      make("p", [step(-1, "Previous"), " ", step(1, "Next"), " ", close], { className: "buttons" }),
      make("h3", isolated(row.item), { id: "item-title" }),
      make("p", [isolated(data.tasks[row.task]), `: ${row.reasons}. `, ...told]),
      ...(row.text ? [make("p", short(row.text, 1000), { className: "text", dir: "auto" })] : []),
      row.answers.length ? answersOf(row) : make("p", ["Votes: ", isolated(row.votes || "none"), ". ", whoSaidWhat(row)]),
      ...(row.n > row.answers.length ? [make("p", `${row.n - row.answers.length} more answers: annot trace.`)] : []),
      ...[decisionForm(row)].filter(Boolean),
    );
    history.replaceState(null, "", `#${encodeURIComponent(anchorOf(row))}`);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }

  function whoSaidWhat(row) {
    const words = "Who said what";
    if (!served) return `${words}: annot trace, or annot serve.`;
    return make("a", words, { href: page("item", { task: data.tasks[row.task], item: row.item }) });
  }

  function csv(rows) {
    const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
    return rows.map((row) => row.map((value) => cell(String(value))).join(",")).join("\r\n") + "\r\n";
  }

  function download(expert) {
    const rows = [...decisions.values()].map(({ row, label, why, at }) =>
      [data.tasks[row.task], row.item, expert, label, at, why]);
    const text = csv([["task", "item", "expert", "decision", "decided_at", "comment"], ...rows]);
    const link = make("a", null, { href: URL.createObjectURL(new Blob([text])), download: "decisions.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
    unsaved = false;
  }

  function doubtList() {
    const box = document.getElementById("doubt-list");
    const live = make("output", null);
    live.setAttribute("aria-live", "polite");
    const search = make("input", null, { type: "search" });
    const several = (values) => [...new Set(values)];
    const facet = (words, values) => {
      const select = make("select", [new Option("all", ""), ...values.map((v) => new Option(short(v, 60), v))]);
      return values.length > 1 ? labelled(words, select) : null;
    };
    const task = facet("task", several(items.map((row) => data.tasks[row.task])).sort());
    const label = facet("label", several(items.map((row) => row.label)).filter((v) => v !== null).sort());
    const reason = facet("reason", several(items.flatMap((row) => row.reasons.split(", "))));
    const chosen = (field) => (field ? field.querySelector("select").value : "");
    const form = make("form", [labelled("Search", search), task, label, reason, live],
      { className: "filters", onsubmit: (event) => event.preventDefault() });
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", "Filter: items to doubt");
    const rowsBox = make("div", null);
    const told = make("p", null, { className: "decided" });
    let most = STEP;
    const list = { shown: items, tellDecisions };

    function tellDecisions() {
      if (!decisions.size) return told.replaceChildren();
      const name = make("input", list.expert || null, { type: "text", value: list.expert || "" });
      name.addEventListener("input", () => { list.expert = name.value; });
      const n = decisions.size === 1 ? "1 decision" : `${decisions.size} decisions`;
      told.replaceChildren(labelled(`${n}, kept until the page is closed. Your name`, name), " ",
        make("button", "Download decisions.csv", { type: "button", className: "show",
          onclick: () => (name.value ? download(name.value) : name.focus()) }));
    }

    function draw() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      list.shown = items.filter((row) =>
        (!chosen(task) || data.tasks[row.task] === chosen(task)) &&
        (!chosen(label) || row.label === chosen(label)) &&
        (!chosen(reason) || row.reasons.split(", ").includes(chosen(reason))) &&
        words.every((word) => `${row.item} ${row.text}`.toLowerCase().includes(word)));
      live.textContent = `${list.shown.length.toLocaleString("en")} of ${items.length.toLocaleString("en")} items`;
      const visible = list.shown.slice(0, most), labels = items.some((row) => row.label !== null);
      const columns = [
        ["item", (row) => `${row.task} ${row.item}`, (row) =>
          make("button", isolated(row.item, 60), { type: "button", className: "link", onclick: () => showItem(row) })],
        ["task", (row) => data.tasks[row.task], (row) => isolated(data.tasks[row.task], 40)],
        ...(labels ? [["label", (row) => row.label ?? "", (row) => (row.label === null ? "" : isolated(row.label, 40))],
          ["probability", (row) => share(row.probability)]] : []),
        ["answers", votes, (row) => isolated(votes(row), 160)],
        ["why", (row) => row.reasons],
      ];
      // a column that is the same in all rows is said once
      const isSame = ([, value]) => visible.length > 2 && visible.every((row) => value(row) === value(visible[0]));
      const shown = columns.filter((column) => !isSame(column));
      const same = columns.filter((column) => isSame(column) && column[1](visible[0]) !== "")
        .map(([name, value]) => `${name} ${short(value(visible[0]), 60)}`);
      const rows = visible.map((row) => shown.map(([, value, cell]) => (cell || value)(row)));
      const ofAll = columns.filter(isSame).every(([, value]) =>
        list.shown.every((row) => value(row) === value(visible[0])));
      const which = ofAll ? "in all rows" : "in the rows shown";
      rowsBox.replaceChildren(tableOf(`Items to doubt${same.length ? `; ${which}: ${same.join(", ")}` : ""}`,
        shown.map(([name]) => name), rows));
      if (list.shown.length > most)
        rowsBox.append(make("p", make("button", `Show ${Math.min(100, list.shown.length - most)} more`,
          { type: "button", className: "show", onclick: () => { most += 100; draw(); } })));
    }

    form.addEventListener("input", () => { most = STEP; draw(); });
    box.replaceChildren(form, told, rowsBox);
    draw();
    return list;
  }

  // the address of the page is met at once, and again when the list of items has its height
  const arrive = () => location.hash && follow({ behavior: "instant" });
  addEventListener("hashchange", () => follow());
  arrive();
  if (doubt) inflated(doubt).then((response) => response.json()).then((unpacked) => {
    data = unpacked;
    items = data.columns.item.map((_, n) => itemAt(n));
    list = doubtList();
    document.querySelectorAll("table[data-served]").forEach(linkItems);
    arrive();
  });
})();
