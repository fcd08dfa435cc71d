// Drawings that come when they are scrolled to, and pages that follow a run as it is written.
"use strict";
(() => {
  const narrow = matchMedia("(max-width: 43rem)");
  const fetchDrawing = async (figure) => {
    const size = narrow.matches ? "narrow" : "wide";
    if (figure.dataset.drawn === size) return;
    figure.dataset.drawn = size;
    const response = await fetch(`${figure.dataset.src}&width=${size}`);
    if (response.ok) figure.innerHTML = await response.text();
    else figure.remove();
  };
  const seen = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => fetchDrawing(e.target)),
    { rootMargin: "400px" },
  );
  const watch = () => document.querySelectorAll("figure[data-src]").forEach((f) => seen.observe(f));
  narrow.addEventListener("change", () =>
    document.querySelectorAll("figure[data-drawn]").forEach(fetchDrawing));
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.filters");
    if (form && event.target.tagName === "SELECT") form.requestSubmit();
  });

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
    const page = await fetch(location.href);
    if (!page.ok) return;
    const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
    const picked = new Set([...main.querySelectorAll("input:checked")].map((i) => i.value));
    const focus = document.activeElement && document.activeElement.id;
    main.innerHTML = fresh.querySelector("main").innerHTML;
    main.dataset.live = fresh.querySelector("main").dataset.live;
    main.querySelectorAll("input[type=checkbox]").forEach((i) => { i.checked = picked.has(i.value); });
    if (focus && document.getElementById(focus)) document.getElementById(focus).focus();
    window.clinometer.enliven(main);
    watch();
  };
  watch();
  setInterval(() => follow().catch(() => {}), 1500);
})();
