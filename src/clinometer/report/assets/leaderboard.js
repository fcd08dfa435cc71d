// Filters of the leaderboard: they hide rows of the tables and points of the charts alike.
document.getElementById("filters").hidden = false;
const [text, board, kind] = ["q", "board", "kind"].map((id) => document.getElementById(id));
const status = document.getElementById("found");
const rows = [...document.querySelectorAll("tr[data-name]")];
const points = (row) => [...row.closest("section").querySelectorAll("[data-point]")]
  .filter((point) => point.dataset.point === row.dataset.page);
const pairs = rows.map((row) => [row, points(row)]);
const update = () => {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [row, marks] of pairs) {
    const section = row.closest("section");
    const shown = words.every((word) => row.dataset.name.includes(word)) &&
      (!kind || !kind.value || row.dataset.kind === kind.value) &&
      (!board || !board.value || section.id === board.value);
    row.hidden = !shown;
    for (const mark of marks) mark.toggleAttribute("hidden", !shown);
    count += shown;
  }
  for (const section of document.querySelectorAll("section.board-section"))
    section.hidden = ![...section.querySelectorAll("tr[data-name]")].some((row) => !row.hidden);
  status.textContent = count === rows.length ? `${rows.length} runs` : `${count} of ${rows.length} runs`;
};
for (const one of [text, board, kind]) if (one) one.addEventListener("input", update);
const light = (row, marks, on) => {
  row.classList.toggle("lit", on);
  for (const mark of marks) {
    mark.classList.toggle("lit", on);
    if (on) mark.parentNode.append(mark); // over its neighbours
  }
};
for (const [row, marks] of pairs) {
  row.addEventListener("pointerenter", () => light(row, marks, true));
  row.addEventListener("pointerleave", () => light(row, marks, false));
  for (const mark of marks) {
    mark.addEventListener("pointerenter", () => row.classList.add("lit"));
    mark.addEventListener("pointerleave", () => row.classList.remove("lit"));
    mark.addEventListener("click", () => row.querySelector("a").click()); // keys use the table
  }
}
update();
