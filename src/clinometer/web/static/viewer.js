// Pages that follow a run as it is written.
import { enliven } from "./page.js";

// What was found in each run: read one after the other, since a run has to be opened for it.
const known = new Map();
const findings = async () => {
  const live = document.querySelector("main").dataset.live;
  for (const place of document.querySelectorAll("[data-finding]")) {
    const key = `${live}|${place.dataset.finding}`;
    if (!known.has(key)) {
      const response = await fetch(`/finding?id=${encodeURIComponent(place.dataset.finding)}`);
      known.set(key, response.ok ? (await response.json()).text : "");
    }
    place.textContent = known.get(key);
  }
};
findings().catch(() => {});

// The page is fetched again when its runs have changed; what one is typing or has chosen stays.
const follow = async () => {
  const main = document.querySelector("main");
  const live = main.dataset.live;
  if (!live || document.hidden) return;
  const id = new URLSearchParams(location.search).get("id");
  const response = await fetch(id ? `/version?id=${encodeURIComponent(id)}` : "/version");
  if (!response.ok || (await response.json()).version === live) return;
  const typing = document.activeElement && document.activeElement.matches("input[type=search]");
  if (typing) return; // next time
  if (id) { location.reload(); return; } // what is shown lies in the address
  const page = await fetch(location.href);
  if (!page.ok) return;
  const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
  const picked = new Set([...main.querySelectorAll("input:checked")].map((i) => i.value));
  const focus = document.activeElement && document.activeElement.id;
  const sorted = main.querySelector("th[aria-sort]");
  const sought = main.querySelector(".filter input");
  main.innerHTML = fresh.querySelector("main").innerHTML;
  main.dataset.live = fresh.querySelector("main").dataset.live;
  main.querySelectorAll("input[type=checkbox]").forEach((i) => { i.checked = picked.has(i.value); });
  if (focus && document.getElementById(focus)) document.getElementById(focus).focus();
  enliven(main);
  if (sorted) {
    const heading = main.querySelectorAll("thead th")[sorted.cellIndex];
    while (heading.ariaSort !== sorted.ariaSort) heading.querySelector("button").click();
  }
  const box = main.querySelector(".filter input");
  if (sought && box) {
    box.value = sought.value;
    box.dispatchEvent(new Event("input"));
  }
  await findings();
};
setInterval(() => follow().catch(() => {}), 1500);
