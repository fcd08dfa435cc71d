// The right pane: one sentence in large type, its words, the same sentence elsewhere.
import { asPercent, asRisk, el, shareBar, shorten } from "./format.js";

const FOLD = 6; // words of a category before the rest is folded

export class SentencePane {
  /** `source.words(x, c)` and `source.peers(x, c)` bring what the file does not hold; either may be null. */
  constructor(root, run, state, groups, source) {
    Object.assign(this, { root, run, state, groups, source });
    root.setAttribute("aria-live", "polite");
  }

  draw() {
    const { run, state } = this;
    const x = run.groups.indexOf(state.get("group"));
    let c = run.contexts.indexOf(state.get("context"));
    if (x < 0) { this.key = ""; this.root.replaceChildren(this.opening()); return; }
    if (c < 0) c = this.strongest(x);
    const key = [x, c, run.stamp].join();
    if (key === this.key) return;
    this.key = key;
    const shares = run.shares(x, c);
    const [before, after] = run.sentence(x, c);
    this.word = el("b", {}, "\u00a0\u00a0\u00a0\u00a0");
    if (shares) this.word.className = `u${run.favoured(x, c) % 8}`;
    this.words = el("div.words");
    this.others = el("div.others");
    const parts = [
      el("p.large", {}, el("bdi", {}, before), this.word, el("bdi", {}, after), after ? "" : " …"),
      shares ? shareBar(shares, run.categories) : el("p.soft", {}, run.state === "half-finished" ? "No answer yet." : "No answer here."),
      run.faint(x, c) && el("p.soft", {}, "The words carry hardly any probability here: the shares are close to noise."),
      this.words, this.groupFacts(x), this.elsewhere(x, c), this.others,
    ];
    this.root.replaceChildren(...parts.filter(Boolean));
    this.bring(x, c, key);
  }

  opening() {
    const { run } = this;
    return el("div", {}, el("h2", {}, "Choose a group or a square"),
      el("p.soft", {}, `Every answer of ${run.model}: ${run.X} ${run.noun} in ${run.C.toLocaleString("en")} sentences. “Worst sentences” lists the strongest; ? shows the keys.`));
  }

  /** The sentence in which a group is furthest from the reference. */
  strongest(x) {
    let best = 0, most = -1;
    for (let c = 0; c < this.run.C; c++) {
      const value = (this.run.strength(x, c) ?? -1) - (this.run.faint(x, c) ? 2 : 0);
      if (value > most) { most = value; best = c; }
    }
    return best;
  }

  async bring(x, c, key) {
    const { run, source } = this;
    const found = await source.words(x, c).catch(() => null);
    if (this.key !== key) return; // another sentence has been chosen meanwhile
    if (!found || !found.length) this.words.replaceChildren(el("p.soft", {}, "The probabilities of single words are not stored here."));
    else this.showWords(x, c, found);
    const peers = source.peers ? await source.peers(x, c).catch(() => []) : [];
    if (this.key !== key || !peers.length) return;
    this.others.replaceChildren(el("h3", {}, "The same sentence, other models"),
      el("ol.plain", {}, ...peers.map((peer) => el("li", {}, el("a", { href: `${peer.href}${location.hash}` }, shorten(peer.name, 50)), peer.shares ? shareBar(peer.shares, run.categories) : " no answer"))));
  }

  showWords(x, c, found) {
    const { run } = this;
    const shares = run.shares(x, c);
    const way = shares ? run.favoured(x, c) : 0;
    const first = found.find(([, , ks]) => ks.includes(way));
    if (first) this.word.replaceChildren(el("bdi", {}, first[0]));
    const most = found[0][1] || 1;
    const line = ([word, p]) => el("li", {}, el("bdi", {}, word), el("span.meter", { "aria-hidden": "true" }, el("i", { style: `width:${(100 * p / most).toFixed(1)}%` })), el("span.number", {}, asPercent(p)));
    const columns = run.categories.map((name, y) => {
      const mine = found.filter(([, , ks]) => ks.includes(y));
      const rest = mine.slice(FOLD);
      const held = rest.reduce((sum, [, p]) => sum + p, 0);
      return el(`section.k${y % 8}`, {}, el("h3", {}, name), el("ol.plain", {}, ...mine.slice(0, FOLD).map(line)),
        rest.length ? el("details", {}, el("summary", {}, `${rest.length} more: ${asPercent(held)}`), el("ol.plain", {}, ...rest.map(line))) : null);
    });
    this.words.replaceChildren(...columns);
  }

  groupFacts(x) {
    const { run } = this;
    const fact = (name, key) => {
      const ends = run[`${key}_ends_of`];
      const shown = ends && ends[2 * x] < ends[2 * x + 1] && ends[2 * x + 1] >= 0.0005 ? ` (${asRisk(ends[2 * x])}–${asRisk(ends[2 * x + 1])})` : "";
      return el("li", {}, el("span.soft", {}, `${name} `), asRisk(run[`${key}_of`][x]), el("span.soft", {}, shown));
    };
    return el("div.facts", {}, el("h3", {}, el("bdi", {}, run.groups[x]), run.clear_of[x] ? ` leans clearly to ${run.categories[run.favoured_of[x]]}` : ": no clear lean"),
      el("ul.plain.inline", {}, fact("risk r", "r"), fact("steady lean", "r_bias"), fact("swing", "r_volatility")));
  }

  elsewhere(x, c) {
    const { run, state } = this;
    const rows = this.groups.order().map((g) => [g, run.shares(g, c)]).filter(([, shares]) => shares);
    rows.sort((a, b) => b[1][run.K - 1] - a[1][run.K - 1]);
    const line = ([g, shares]) => el("li", {}, el("button.link", { type: "button", "aria-current": g === x ? "true" : "false", onclick: () => state.set({ group: run.groups[g], context: run.contexts[c] }) }, shorten(run.groups[g], 40)), shareBar(shares, run.categories));
    const few = rows.length > 9 ? [...rows.slice(0, 4), ...rows.slice(-4)] : rows;
    return el("div.elsewhere", {}, el("h3", {}, "The same sentence, other groups"), el("ol.plain", {}, ...few.map(line)),
      rows.length > 9 ? el("details", {}, el("summary", {}, `all ${rows.length}`), el("ol.plain", {}, ...rows.map(line))) : null);
  }
}
