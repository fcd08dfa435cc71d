// Answers by key, and the next item without a new page. An answer that the server did not take is
// sent again until it does: the same answer twice is one answer. Without script the forms work too.
"use strict";
(() => {
  let sending = false;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const trouble = (text) => {
    const box = document.getElementById("trouble");
    if (!box) return;
    box.textContent = text;
    box.hidden = !text;
  };
  const show = (html, address) => {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    document.title = fresh.title;
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    history.replaceState(null, "", address);
    const head = document.querySelector("main h1");
    if (head) head.focus();
    scrollTo(0, 0);
  };
  const send = async (form, button) => {
    if (sending) return;
    sending = true;
    const body = new URLSearchParams(new FormData(form, button));
    try {
      for (;;) {
        try {
          const response = await fetch(form.getAttribute("action"), { method: "POST", body });
          if (response.status < 500) {
            show(await response.text(), response.url);
            return;
          }
        } catch (error) {
          if (!(error instanceof TypeError)) throw error; // a TypeError: no answer
        }
        trouble("The server does not answer. Your answer is not stored yet; keep this page open, it is sent again every second.");
        await wait(1000);
      }
    } finally {
      sending = false;
    }
  };
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });
  addEventListener("beforeunload", (event) => {
    if (sending) event.preventDefault();
  });

  const keys = document.getElementById("keys");
  if (keys) {
    keys.checked = localStorage.getItem("clinometer-keys") !== "off";
    keys.addEventListener("change", () => localStorage.setItem("clinometer-keys", keys.checked ? "on" : "off"));
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, input:not([type=checkbox])");
    if (typing && event.key === "Escape") event.target.blur();
    const held = event.ctrlKey || event.metaKey || event.altKey || event.repeat;
    if (typing || held || !keys || !keys.checked || event.key.length !== 1) return;
    const mark = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!mark) return;
    event.preventDefault();
    mark.click();
    const box = mark.parentElement.querySelector("textarea");
    if (box && mark.parentElement.open) box.focus();
    if (mark.closest("aside")) mark.scrollIntoView({ block: "nearest" });
  });
})();
