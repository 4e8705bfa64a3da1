"use strict";
// Adds sorting and filtering to tables that are whole without it.
(() => {
  const said = (cell) => cell.textContent.trim();

  function keyOf(cell, isNumber) {
    if (!isNumber) return said(cell).toLowerCase();
    const written = cell.dataset.v ?? said(cell).replace(/[,%\s]/g, "").replace("\u2212", "-");
    const value = written === "" ? NaN : Number.parseFloat(written);
    return Number.isNaN(value) ? null : value;
  }

  function compare(a, b) {
    return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
  }

  function sortBy(table, heads, column, live) {
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

  function chooser(rows, column) {
    const values = [...new Set(rows.map((row) => said(row.cells[column])))].sort();
    if (values.length < 2 || values.length > 500) return null;
    const select = document.createElement("select");
    select.append(new Option("all", "all"));
    values.forEach((value, place) => select.append(new Option(value || "(none)", String(place))));
    const fits = (row) =>
      select.value === "all" || said(row.cells[column]) === values[Number(select.value)];
    return { field: select, fits };
  }

  function searchBox(rows) {
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
    const rows = Array.from(table.tBodies[0].rows);
    const form = document.createElement("form");
    form.className = "filters";
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", `Filter: ${said(table.caption)}`);
    const fields = [{ words: "Search", ...searchBox(rows) }];
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const found = "choose" in head.dataset ? chooser(rows, column) : null;
      if (found) fields.push({ words: said(head), ...found });
    });
    for (const { words, field } of fields) form.append(labelled(words, field));
    form.append(live);
    const apply = () => {
      let shown = 0;
      for (const row of rows) {
        row.hidden = !fields.every(({ fits }) => fits(row));
        shown += row.hidden ? 0 : 1;
      }
      live.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    };
    let waiting = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 80);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    box.before(form);
    apply();
  }

  for (const table of document.querySelectorAll("table.sortable, table.search")) {
    const box = table.parentElement;
    const live = document.createElement("output");
    live.setAttribute("aria-live", "polite");
    // filters first: their choices are named by heads that have no buttons yet
    if (table.classList.contains("search")) filters(table, box, live);
    else {
      live.className = "quiet";
      box.after(live);
    }
    if (table.classList.contains("sortable")) sortable(table, live);
  }

  function openAround(element) {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) openAround(target);
  }

  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  follow();
})();
