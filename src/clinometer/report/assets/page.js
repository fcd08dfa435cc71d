// Sorting, filtering and pointer texts. Without script everything is there to read, only still.
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
export const enliven = (root) => {
  for (const table of root.querySelectorAll("table.sortable")) makeSortable(table);
  for (const table of root.querySelectorAll("table.filterable")) makeFilter(table);
  explain(root);
};
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const NAMED = "[data-tip]";
const showTip = (mark, x, y) => {
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 16 + height > innerHeight ? y - height - 10 : y + 16}px`;
};
const markAt = (event) => (event.target.closest ? event.target.closest(NAMED) : null);
// What a browser shows of a title after a while is shown at once, also by a tap and by a key.
const explain = (root) => {
  for (const named of root.querySelectorAll("abbr[title], .chip[title], .risk .key [title]")) {
    named.dataset.tip = named.title;
    named.setAttribute("aria-description", named.title);
    named.removeAttribute("title");
  }
};
for (const kind of ["pointermove", "pointerdown"])
  document.addEventListener(kind, (event) => showTip(markAt(event), event.clientX, event.clientY));
document.addEventListener("focusin", (event) => {
  const mark = event.target.matches(NAMED) && event.target.matches(":focus-visible") ? event.target : null;
  const { left = 0, bottom = 0 } = mark ? mark.getBoundingClientRect() : {};
  showTip(mark, left, bottom - 12);
});
// A group that is chosen in one chart or table stands out in all of them; Escape ends it.
const groupOf = (element) => {
  const said = element.dataset && element.dataset.tip ? element.dataset.tip : element.textContent;
  return said.split(/:|, model /)[0].trim();
};
const marksOf = () => [...document.querySelectorAll("figure svg [data-tip]")].filter((m) => m.tagName !== "text");
const groups = new Map();
for (const mark of marksOf()) {
  const name = groupOf(mark);
  groups.set(name, [...(groups.get(name) || []), mark]);
}
const listed = new Set([...document.querySelectorAll("table td.t:first-child")].map((cell) => cell.textContent.trim()));
let chosen = "";
const choose = (name) => {
  chosen = name === chosen ? "" : name;
  for (const [group, marks] of groups)
    for (const mark of marks) mark.classList.toggle("other", Boolean(chosen) && listed.has(group) && group !== chosen);
  for (const label of document.querySelectorAll("figure svg text"))
    label.classList.toggle("chosen", Boolean(chosen) && label.textContent.trim() === chosen);
  for (const row of document.querySelectorAll("tbody tr"))
    row.classList.toggle("chosen", Boolean(chosen) && row.cells[0].textContent.trim() === chosen);
};
document.addEventListener("click", (event) => {
  const place = event.target.closest && event.target.closest("figure svg [data-tip], figure svg text, tbody td.t:first-child");
  if (!place) return;
  const name = groupOf(place);
  if (listed.has(name) && groups.has(name)) choose(name);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  tip.hidden = true;
  if (chosen) choose(chosen);
});
// A link to a chart opens what it is folded into.
const unfold = () => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = place; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  if (place) place.scrollIntoView();
};
addEventListener("hashchange", unfold);
if (location.hash) unfold();
const everything = document.getElementById("print-all");
if (everything) {
  everything.hidden = false;
  everything.addEventListener("click", () => {
    document.documentElement.classList.add("print-all");
    for (const one of document.querySelectorAll("details")) one.open = true;
    print();
    document.documentElement.classList.remove("print-all");
  });
}
// A drawing as a separate file, in the colours that the page has now.
const toSvg = (svg) => {
  const copy = svg.cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  copy.setAttribute("font-family", "Helvetica, Arial, sans-serif");
  for (const mark of [copy, ...copy.querySelectorAll("*")])
    for (const { name, value } of [...mark.attributes])
      if (value.includes("var("))
        mark.setAttribute(name, value.replace(/var\((--\w+),[^)]*\)/g, (_, v) => style.getPropertyValue(v)));
  return new XMLSerializer().serializeToString(copy);
};
// A drawing as a PNG, twice its size, on the colour of the page: to the clipboard, or as a file.
const toPng = async (svg) => {
  const { width, height } = svg.viewBox.baseVal;
  const style = getComputedStyle(document.documentElement);
  const picture = new Image();
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(toSvg(svg));
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  const pen = canvas.getContext("2d");
  pen.fillStyle = style.getPropertyValue("--page");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};
const save = (blob, name) => {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(blob);
  link.click();
};
const hand = async (png, name) => {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    return "Copied";
  } catch {
    save(png, `${name}.png`);
    return "Saved";
  }
};
// Some browsers do not save from a data address that is clicked: the same bytes, handed over.
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest(".tools a[download]");
  if (!link || !link.href.startsWith("data:text/csv;base64,")) return;
  event.preventDefault();
  const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (sign) => sign.charCodeAt(0));
  save(new Blob([bytes], { type: "text/csv" }), link.download);
});
const shownIn = (figure) => [...figure.querySelectorAll("svg")].find((one) => one.getBoundingClientRect().width);
for (const button of document.querySelectorAll("button.svg")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const figure = button.closest("figure");
    save(new Blob([toSvg(shownIn(figure))], { type: "image/svg+xml" }), `${figure.id}.svg`);
  });
}
const makeCopy = (button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const figure = button.closest("figure");
    button.textContent = await hand(await toPng(shownIn(figure)), figure.id);
    button.addEventListener("blur", () => { button.textContent = "Copy as PNG"; }, { once: true });
  });
};
for (const button of document.querySelectorAll("button.copy")) makeCopy(button);
enliven(document);
