// The gallery begins with a thumbnail of every chart: its own drawing, small, as a link to it.
document.addEventListener("DOMContentLoaded", () => {
  const start = document.querySelector("section#gallery > p");
  if (!start) return;
  const grid = document.createElement("nav");
  grid.className = "thumbnails";
  grid.setAttribute("aria-label", "Every chart");
  for (const section of document.querySelectorAll("section#gallery section section")) {
    const drawing = section.querySelector(".cell_output svg, .cell_output img");
    const title = section.querySelector("h3");
    if (!drawing || !title) continue;
    const link = document.createElement("a");
    link.href = `#${section.id}`;
    const picture = drawing.cloneNode(true);
    picture.setAttribute("aria-hidden", "true");
    const name = document.createElement("span");
    name.textContent = title.firstChild.textContent.replace(/^\d+\. /, "");
    link.append(picture, name);
    grid.append(link);
  }
  start.after(grid);
});
