// One page with three linked panes over one run.
import { fromAddress, fromBytes } from "./data.js";
import { el } from "./format.js";
import { GroupsPane } from "./groups.js";
import { HeatPane } from "./heat.js";
import { SentencePane } from "./sentence.js";
import { ViewState } from "./state.js";

const KEYS = [["/", "search"], ["j, k", "next, previous in the list"], ["m", "the same in the next model"], ["Esc", "show all again"], ["?", "this help"]];
const TABS = [["list", "List"], ["map", "Map"], ["sentence", "Sentence"]];

export const explore = (root, run, source) => {
  const state = new ViewState();
  run.stamp = 0;
  const pane = (name, label) => el(`section.pane.${name}`, { "aria-label": label });
  const [list, map, sentence] = [pane("list", "Groups and sentences"), pane("map", "Every answer"), pane("sentence", "Sentence")];
  const tabs = el("div.pane-tabs", { role: "group", "aria-label": "Panes" }, ...TABS.map(([tab, name]) => el("button", { type: "button", "data-tab": tab, onclick: () => state.set({ tab }) }, name)));
  const help = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
    el("button", { type: "button", onclick: () => help.close() }, "Close"));
  root.replaceChildren(tabs, list, map, sentence, help);
  const groups = new GroupsPane(list, run, state);
  const heat = new HeatPane(map, run, state, groups);
  const words = new SentencePane(sentence, run, state, groups, source);
  const draw = () => {
    const tab = state.get("tab", "list");
    root.dataset.tab = tab;
    for (const button of tabs.children) button.setAttribute("aria-pressed", String(button.dataset.tab === tab));
    groups.draw();
    heat.draw();
    words.draw();
  };
  state.watch(draw);
  draw();
  if (run.ready) run.ready.then(() => { run.stamp++; draw(); root.dataset.complete = "1"; });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing || help.open) return;
    const act = {
      "/": () => groups.search.focus(),
      j: () => groups.step(1),
      k: () => groups.step(-1),
      m: () => source.next && source.next(),
      "?": () => help.showModal(),
      Escape: () => state.set({ brush: "" }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  return { state, draw };
};

/** A page that a server brings: data, words and other models by address. */
const served = async (root) => {
  const id = encodeURIComponent(root.dataset.id);
  const ask = async (path) => {
    const found = await fetch(path);
    if (!found.ok) throw new Error(String(found.status));
    return found.json();
  };
  let shown = null;
  const run = await fromAddress(`/data?id=${id}`, () => shown && (run.stamp++, shown.draw()));
  const source = {
    words: async (x, c) => (await ask(`/words?id=${id}&x=${x}&c=${c}`)).words,
    peers: (x, c) => ask(`/peers?id=${id}&x=${x}&c=${c}`),
    next: async () => {
      const peers = await ask(`/peers?id=${id}`);
      if (peers.length) location.href = `${peers[0].href}${location.hash}`;
    },
  };
  shown = explore(root, run, source);
  root.dataset.ready = "1";
};

/** A page that holds its data. */
const held = (root, block) => {
  const text = atob(block.textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const run = fromBytes(bytes);
  explore(root, run, { words: async (x, c) => run.words[`${x},${c}`] || null });
  root.dataset.ready = "1";
};

const place = document.getElementById("explorer");
if (place) {
  const block = document.getElementById("explorer-data");
  if (block) held(place, block);
  else served(place).catch((error) => { place.textContent = `The run cannot be shown: ${error.message}`; });
}
