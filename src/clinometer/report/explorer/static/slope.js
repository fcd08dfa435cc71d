// Two or more runs of one topic: one line per group from model to model; a click opens the group.
import { fromAddress } from "./data.js";
import { asPercent, el, shorten, svgEl } from "./format.js";

const HEIGHT = 520, TOP = 34, SIDE = 150;

const slopes = (runs, ids) => {
  const y = runs[0].K - 1;
  const name = runs[0].categories[y];
  const shared = runs[0].groups.filter((g) => runs.every((run) => run.groups.includes(g)));
  const value = (run, group) => run.share_of[run.groups.indexOf(group) * run.K + y];
  const rows = shared.map((group) => ({ group, values: runs.map((run) => value(run, group)) })).filter((row) => row.values.every((v) => !Number.isNaN(v)));
  for (const row of rows) row.moved = Math.max(...row.values) - Math.min(...row.values);
  rows.sort((a, b) => b.moved - a.moved);
  const named = new Set(rows.slice(0, 10).map((row) => row.group));
  const width = Math.max(560, 300 * runs.length);
  const at = (i) => SIDE + i * (width - 2 * SIDE) / (runs.length - 1);
  const high = (v) => TOP + (1 - v) * (HEIGHT - TOP - 12);
  const svg = svgEl("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "group", "aria-label": `Share of ${name} words of ${rows.length} groups in ${runs.length} models` });
  runs.forEach((run, i) => {
    svg.append(svgEl("line", { x1: at(i), x2: at(i), y1: TOP, y2: HEIGHT - 12, stroke: "var(--line)" }));
    const label = svgEl("text", { x: at(i), y: 16, "text-anchor": "middle", class: "model" });
    label.textContent = shorten(run.model, 30);
    svg.append(label);
  });
  let last = -99;
  for (const row of [...rows].sort((a, b) => b.values.at(-1) - a.values.at(-1))) {
    const strong = named.has(row.group);
    const link = svgEl("a", { href: `/run?id=${encodeURIComponent(ids.at(-1))}#${new URLSearchParams({ group: row.group, tab: "sentence" })}`, class: strong ? "slope strong" : "slope" });
    const d = row.values.map((v, i) => `${i ? "L" : "M"}${at(i).toFixed(1)},${high(v).toFixed(1)}`).join("");
    const about = `${row.group}: ${row.values.map((v, i) => `${runs[i].model} ${asPercent(v)}`).join(", ")}`;
    link.setAttribute("aria-label", about);
    const title = svgEl("title");
    title.textContent = about;
    link.append(title, svgEl("path", { d, class: "wide" }), svgEl("path", { d, class: "line" }));
    if (strong) {
      last = Math.max(high(row.values.at(-1)), last + 14);
      const text = svgEl("text", { x: at(runs.length - 1) + 8, y: last + 4 });
      text.textContent = shorten(row.group, 22);
      link.append(text);
    }
    svg.append(link);
  }
  return el("div", {}, el("p.soft", {}, `Share of ${name} words, averaged over sentences: one line per group; the ten that move most are named. A click opens the group’s sentences.`), el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Slopes" }, svg));
};

const stage = document.getElementById("slopes");
if (stage) {
  const ids = JSON.parse(stage.dataset.ids);
  Promise.all(ids.map((id) => fromAddress(`/data?id=${encodeURIComponent(id)}`)))
    .then((runs) => { stage.replaceChildren(slopes(runs, ids)); stage.dataset.ready = "1"; })
    .catch((error) => { stage.textContent = `The runs cannot be drawn: ${error.message}`; });
}
