// Sorting, filtering and pointer texts. Without script everything is there to read, only still.
"use strict";
(() => {
  const value = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
  };
  const sort = (table, i, down) => {
    const body = table.tBodies[0];
    const number = [...body.rows].some((r) => r.cells[i].dataset.v !== undefined);
    const rank = (row) => {
      const v = value(row, i);
      return number ? (v === "" || v === undefined || isNaN(v) ? null : Number(v)) : v;
    };
    const rows = [...body.rows].map((row, n) => [rank(row), n, row]);
    rows.sort(([a, m], [b, n]) => {
      if (a === null || b === null) return (a === null) - (b === null) || m - n; // missing last
      const order = number ? a - b : a.localeCompare(b);
      return (down ? -order : order) || m - n;
    });
    body.append(...rows.map(([, , row]) => row));
  };
  const makeSortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((th, i) => {
      if (th.querySelector(".hidden")) return; // a column of bars sorts by the number beside it
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener("click", () => {
        const first = table.tBodies[0].rows[0];
        const number = first && first.cells[i].dataset.v !== undefined;
        const was = th.getAttribute("aria-sort");
        const down = was ? was === "ascending" : number; // numbers: the highest first
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, i, down);
      });
    });
  };
  const makeFilter = (table) => {
    const box = document.createElement("div");
    box.className = "filter";
    const label = document.createElement("label");
    label.textContent = "Show rows that contain";
    const input = document.createElement("input");
    input.type = "search";
    label.append(input);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    box.append(label, count);
    table.closest(".scroll").before(box);
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const update = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !wanted.every((w) => texts[i].includes(w));
        shown += !row.hidden;
      });
      count.textContent = wanted.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
    };
    input.addEventListener("input", update);
    update();
  };
  const enliven = (root) => {
    for (const table of root.querySelectorAll("table.sortable")) makeSortable(table);
    for (const table of root.querySelectorAll("table.filterable")) makeFilter(table);
  };
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY + 16 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 16}px`;
  });
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
  enliven(document);
  window.clinometer = { enliven };
})();
