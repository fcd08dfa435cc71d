// The left pane: groups as dots and ranges, the worst sentences, the contexts.
import { asPercent, asRisk, el, shareBar, shorten, svgEl, tailOf } from "./format.js";

/** First and last row and column of what was dragged over, in the order of the lists; or null. */
export const brushOf = (state) => {
  const ends = state.get("brush").split(",").map(Number);
  return ends.length === 4 && ends.every(Number.isInteger) ? ends : null;
};

const SORTS = { lean: "lean", swing: "swing", risk: "risk", name: "name" };

export class GroupsPane {
  constructor(root, run, state) {
    Object.assign(this, { root, run, state });
    const tab = (list, name) => el("button", { type: "button", "data-list": list, onclick: () => state.set({ list, brush: "" }) }, name);
    this.tabs = el("div.tabs", { role: "group", "aria-label": "Lists" },
      tab("groups", "Groups"), tab("worst", "Worst sentences"), tab("swinging", "Most swinging"), tab("contexts", "Contexts"));
    this.search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search", oninput: (e) => state.set({ q: e.target.value }) });
    this.sort = el("select", { "aria-label": "Sort by", onchange: (e) => state.set({ sort: e.target.value }) },
      ...Object.entries(SORTS).map(([value, name]) => el("option", { value }, `by ${name}`)));
    this.clear = el("input", { type: "checkbox", onchange: (e) => state.set({ clear: e.target.checked ? "1" : "" }) });
    this.status = el("span.soft", { role: "status" });
    this.list = el("ol.rows");
    this.tools = el("div.filters", {}, this.search, this.sort, el("label", {}, this.clear, " clear leans only"), this.status);
    root.append(this.tabs, this.tools, this.list);
  }

  /** Indices of the groups to show, in order. */
  order() {
    const { run, state } = this;
    const q = state.get("q").toLowerCase();
    const swinging = state.get("list") === "swinging";
    const sort = swinging ? "swing" : state.get("sort", "lean");
    const brush = brushOf(state);
    const shown = [...run.groups.keys()].filter((x) =>
      run.favoured_of[x] !== 255 && run.groups[x].toLowerCase().includes(q) &&
      (!state.get("clear") || run.clear_of[x]));
    const last = run.K - 1;
    const by = {
      lean: (x) => (run.K === 2 ? run.share_of[x * run.K + last] : -run.r_bias_of[x]),
      swing: (x) => -run.r_volatility_of[x],
      risk: (x) => -run.r_of[x],
    }[sort];
    if (by) shown.sort((a, b) => by(a) - by(b) || a - b);
    else shown.sort((a, b) => run.groups[a].localeCompare(run.groups[b]));
    return brush ? shown.slice(brush[0], brush[1] + 1) : shown;
  }

  /** Indices of the contexts to show, in order: from pulling to the first category to the last. */
  contexts() {
    const { run, state } = this;
    const q = state.get("list") === "contexts" ? state.get("q").toLowerCase() : "";
    const brush = brushOf(state);
    const pull = (c) => { const v = run.context_mean_of[c * run.K + run.K - 1]; return Number.isNaN(v) ? 9 : v; };
    const shown = [...run.contexts.keys()].filter((c) => run.templates[c].toLowerCase().includes(q));
    shown.sort((a, b) => pull(a) - pull(b) || a - b);
    return brush ? shown.slice(brush[2], brush[3] + 1) : shown;
  }

  draw() {
    const { run, state } = this;
    const list = state.get("list", "groups");
    for (const button of this.tabs.children) button.setAttribute("aria-pressed", String(button.dataset.list === list));
    if (document.activeElement !== this.search) this.search.value = state.get("q");
    this.sort.value = state.get("sort", "lean");
    this.sort.hidden = list !== "groups";
    this.clear.checked = state.get("clear") === "1";
    this.clear.parentElement.hidden = list === "worst" || list === "contexts";
    const key = [list, state.get("q"), state.get("sort"), state.get("clear"), state.get("brush"), run.stamp].join("|");
    if (key !== this.key) {
      this.key = key;
      this.list.replaceChildren(...this[{ worst: "worstRows", contexts: "contextRows" }[list] || "groupRows"]());
    }
    for (const row of this.list.children) {
      const at = row.dataset.group === state.get("group") && (!row.dataset.context || row.dataset.context === state.get("context"));
      const here = list === "contexts" ? row.dataset.context === state.get("context") : at;
      row.firstChild.setAttribute("aria-current", here ? "true" : "false");
    }
  }

  row(content, data, choose, label) {
    const made = el("li", {}, el("button", { type: "button", onclick: choose, "aria-label": label }, ...content));
    Object.assign(made.dataset, data);
    return made;
  }

  groupRows() {
    const { run, state } = this;
    const order = this.order();
    this.status.textContent = `${order.length} of ${run.X}`;
    return order.map((x) => {
      const clear = run.clear_of[x];
      const said = run.K === 2 ? `${asPercent(run.share_of[x * 2 + 1])} ${run.categories[1]}` : `leans to ${run.categories[run.favoured_of[x]]}`;
      const label = `${run.groups[x]}: ${said}${clear ? "" : ", not clear"}; risk ${asRisk(run.r_of[x])}, swing ${asRisk(run.r_volatility_of[x])}`;
      const picture = run.K === 2 ? this.dots(x) : shareBar([...run.row("share", x, run.K)], run.categories);
      return this.row([el(clear ? "span.name" : "span.name.unclear", {}, shorten(run.groups[x], 60)), picture],
        { group: run.groups[x] }, () => state.set({ group: run.groups[x], tab: "sentence" }), label);
    });
  }

  dots(x) {
    const { run } = this;
    const [mean, low, high] = ["share", "low", "high"].map((name) => 100 * run[`${name}_of`][x * 2 + 1]);
    const clear = run.clear_of[x];
    const paint = clear ? `var(--c${run.favoured_of[x]})` : "var(--mark)";
    return svgEl("svg", { class: "track", "aria-hidden": "true", height: 14 },
      svgEl("line", { x1: `${100 * run.reference[1]}%`, x2: `${100 * run.reference[1]}%`, y1: 0, y2: 14, stroke: "var(--mark)", "stroke-dasharray": "2 2" }),
      svgEl("rect", { x: `${low}%`, width: `${Math.max(0.5, high - low)}%`, y: 5, height: 4, rx: 2, fill: paint, opacity: 0.3 }),
      svgEl("circle", { cx: `${mean}%`, cy: 7, r: 4.5, fill: clear ? paint : "var(--page)", stroke: paint, "stroke-width": clear ? 0 : 1.5 }));
  }

  worstRows() {
    const { run, state } = this;
    const q = state.get("q").toLowerCase();
    const found = run.worst.filter(([x, c]) => run.sentence(x, c).join(" ").toLowerCase().includes(q));
    this.status.textContent = `${found.length} strongest answers`;
    return found.map(([x, c]) => {
      const [before, after] = run.sentence(x, c);
      const shares = run.shares(x, c);
      const k = shares ? run.favoured(x, c) : 0;
      const said = `${before}___${after}`;
      return this.row([el("span.said", {}, el("bdi", {}, tailOf(before, 80)), el(`b.u${k % 8}`, {}, "\u00a0\u00a0\u00a0"), el("bdi", {}, shorten(after, 60))), shares && shareBar(shares, run.categories)],
        { group: run.groups[x], context: run.contexts[c] },
        () => state.set({ group: run.groups[x], context: run.contexts[c], tab: "sentence" }), shares ? `${said}: ${run.categories[k]} ${asPercent(shares[k])}` : said);
    });
  }

  contextRows() {
    const { run, state } = this;
    const order = this.contexts();
    this.status.textContent = `${order.length.toLocaleString("en")} of ${run.C.toLocaleString("en")}`;
    return order.slice(0, 400).map((c) => {
      const mean = [...run.row("context_mean", c, run.K)];
      const top = mean.indexOf(Math.max(...mean));
      const text = run.templates[c].replace("[X]", "…").replace("[Y]", "___");
      return this.row([el("span.name", {}, shorten(text, 120)), el("small.soft", {}, Number.isNaN(mean[0]) ? "no answer" : `pulls to ${run.categories[top]} ${asRisk(mean[top])} · adds ${asRisk(run.influence_of[c])} to swing`)],
        { context: run.contexts[c] }, () => state.set({ context: run.contexts[c], group: state.get("group") || run.groups[this.order()[0]], tab: "sentence" }), text);
    });
  }

  /** Move to the next or the one before in the list. */
  step(by) {
    const rows = [...this.list.children];
    const now = rows.findIndex((row) => row.firstChild.getAttribute("aria-current") === "true");
    const next = rows[Math.min(rows.length - 1, Math.max(0, now + by))];
    if (!next) return;
    next.firstChild.click();
    next.firstChild.scrollIntoView({ block: "nearest" });
  }
}
