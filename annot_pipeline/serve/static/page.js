"use strict";
// Decisions by keyboard, and the way from an item to the next of the list that one came from.
(() => {
  const links = [...document.querySelectorAll('main tbody th a[href^="/item?"]')];
  if (links.length && location.pathname !== "/item") {
    sessionStorage.setItem("list", JSON.stringify([...new Set(links.map((a) => a.getAttribute("href")))]));
  }

  const form = document.querySelector("form.decide");
  if (!form) return;
  const here = location.pathname + location.search;
  const list = JSON.parse(sessionStorage.getItem("list") || "[]");
  const asked = (address) => {
    const query = new URLSearchParams(address.split("?")[1]);
    ["decided", "as"].forEach((name) => query.delete(name));
    return query.toString();
  };
  const same = (a, b) => asked(a) === asked(b);
  const place = list.findIndex((href) => same(href, here));
  const next = place >= 0 ? list[place + 1] : undefined;
  form.elements.next.value = next || "";
  const expert = form.elements.expert;
  expert.value = localStorage.getItem("expert") || "";
  expert.addEventListener("input", () => localStorage.setItem("expert", expert.value));

  // a decision needs a name: the first key asks for it, Enter then decides
  const prompt = document.getElementById("name-first");
  let waiting = null;
  expert.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && waiting && expert.value.trim()) form.requestSubmit(waiting);
  });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    if (event.key === "n" && next) location.assign(next);
    const button = form.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button && expert.value.trim()) form.requestSubmit(button);
    else if (button) {
      event.preventDefault(); // the key is no part of the name
      waiting = button;
      prompt.textContent = `Who decides? Type your name, then Enter decides for ${button.value}.`;
      expert.focus();
    }
  });
})();
