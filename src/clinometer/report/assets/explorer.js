// The explorer: one page with three linked panes over every answer of a run, and the lines from
// model to model of a comparison. A plain module without imports: a server brings it as a file, a
// report holds it whole.

// Numbers, colours and elements: as display/numbers.py writes them, as the style sheet has them.
const NO_NUMBER = "–";

/** A number with n digits; what lies exactly between two goes to the even one, as in Python. */
const fixed = (v, digits) => {
  const n = v * 10 ** digits;
  const between = Number.isInteger(v * 2 ** 20) && Math.abs(n % 1) === 0.5;
  return (between ? (2 * Math.round(n / 2)) / 10 ** digits : v).toFixed(digits);
};

export const asRisk = (v) => (v === null || v === undefined || Number.isNaN(v) ? NO_NUMBER : fixed(v, 3).replace(/^-(0\.0+)$/, "$1").replace("-", "−"));

export const asPercent = (v) => {
  if (v === null || v === undefined || Number.isNaN(v)) return NO_NUMBER;
  if (v > 0 && v < 0.001) return "< 0.1 %";
  if (v > 0.999 && v < 1) return "> 99.9 %";
  const digits = v === 0 || v === 1 || (v >= 0.0995 && v < 0.9895) ? 0 : 1;
  return `${fixed(100 * v, digits)} %`;
};

/** An element: el("p.why", {id: "x"}, "text", child…). Text is never parsed as HTML. */
const el = (name, attributes = {}, ...children) => {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

const svgEl = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A bar of shares with labels where there is room; of a score, how far up the scale it is, and a
 * tick at `star`, where all groups are. */
const shareBar = (shares, run, star) => {
  const { categories } = run;
  if (run.points.length) {
    return el("span.shares.score", { role: "img", "aria-label": run.said(shares) },
      el(`i.k${Number(shares[1] > star)}`, { style: `width:${(100 * shares[1]).toFixed(2)}%` }, fixed(run.score(shares), 1)),
      el("em", { style: `left:${(100 * star).toFixed(2)}%` }));
  }
  const label = shares.map((v, y) => `${categories[y]} ${asPercent(v)}`).join(", ");
  return el("span.shares", { role: "img", "aria-label": label, title: label },
    ...shares.map((v, y) => v >= 0.004 &&
      el(`i.k${y % 8}`, { style: `width:${(100 * v).toFixed(2)}%` },
        v >= 0.3 ? `${categories[y]} ${asPercent(v)}` : v >= 0.09 ? fixed(100 * v, 0) : "")));
};

const shorten = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`);

/** The end of a text, for the words before a slot. */
const tailOf = (text, length) => (text.length <= length ? text : `… ${text.slice(-length).replace(/^\S*\s/, "")}`);

// One run (see report/page.py): JSON whose `columns` are typed arrays in base64.
const ARRAYS = { f4: Float32Array, u2: Uint16Array, u1: Uint8Array };
const NO_SHARE = 65535;

class RunData {
  constructor({ columns, ...about }) {
    Object.assign(this, about);
    for (const [name, { type, data }] of Object.entries(columns)) {
      const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
      this[`${name}_of`] = new ARRAYS[type](bytes.buffer);
    }
    this.X = this.groups.length;
    this.C = this.contexts.length;
    this.K = this.categories.length;
    this.parsed = this.templates.map(parseTemplate);
    this.right = this.decides ?? this.K - 1; // the category that an axis ends with
    if (this.away_of) this.reach = Math.max(...[...this.away_of, ...this.away_low_of, ...this.away_high_of].filter(Number.isFinite).map(Math.abs)) || 1;
  }

  /** The colour of a category: of a decision the favourable answer has one, the other is grey. */
  paint(y) {
    if (this.decides === null) return `c${y % 8}`;
    return y === this.decides ? "c0" : "mark";
  }

  score(shares) {
    return this.points[0] + (this.points.at(-1) - this.points[0]) * shares[1];
  }

  /** An answer in words. */
  said(shares) {
    if (this.points.length) return `${fixed(this.score(shares), 1)} of ${this.points[0]} to ${this.points.at(-1)}`;
    return shares.map((v, y) => `${this.categories[y]} ${asPercent(v)}`).join(", ");
  }

  /** How far a group is from the mean, with the interval that decides. */
  distance(x) {
    const signed = (v) => `${v < 0 ? "−" : "+"}${Math.abs(v).toFixed(2)}`;
    const [away, low, high] = [this.away_of[x], this.away_low_of[x], this.away_high_of[x]];
    return `${signed(away)} ${this.unit} from the mean${Number.isNaN(low) ? "" : ` (${signed(low)} to ${signed(high)})`}`;
  }

  /** What stands for the word of a sentence: nothing in a question or a case. */
  gap(c) {
    return this.asked || !this.parsed[c] ? "" : "___";
  }

  /** The share of a category that is no lean: of decisions and scores what all groups get there. */
  star(c, y) {
    return this.mean_share_of ? this.mean_share_of[c * this.K + y] : this.reference[y];
  }

  /** What a cell without an answer is called: an unfinished run has not asked everything. */
  get absent() {
    return this.state === "half-finished" ? "not asked yet" : "no answer";
  }

  /** The shares of the categories in a cell; null where it has no answer. */
  shares(x, c) {
    const k = this.K - 1;
    const at = (x * this.C + c) * k;
    const out = [];
    let rest = 1;
    for (let y = 0; y < k; y++) {
      const level = this.p_of[at + y];
      if (level === NO_SHARE) return null;
      out.push(level / (NO_SHARE - 1));
      rest -= out[y];
    }
    out.push(Math.max(0, rest));
    return out;
  }

  /** How far a cell is from the reference, 0 to 1; null where it has no answer. */
  strength(x, c) {
    const level = this.strength_of[x * this.C + c];
    return level === 255 ? null : level / 254;
  }

  faint(x, c) {
    const at = x * this.C + c;
    return (this.faint_of[at >> 3] >> (at & 7)) & 1;
  }

  /** The category furthest above the reference. */
  favoured(x, c) {
    return highest(this.shares(x, c).map((v, y) => v - this.star(c, y)));
  }

  /** A column of several values per row. */
  row(name, i, width) {
    return this[`${name}_of`].subarray(i * width, (i + 1) * width);
  }

  /** [before, after]: the sentence around the word, as `topics/prompt.py` renders it. */
  sentence(x, c) {
    const parts = this.parsed[c];
    if (!parts) return [`${this.groups[x]}: ${this.templates[c]}`, ""];
    const article = this.articles[x];
    let { head } = parts;
    let text = this.texts[x];
    if (article === "") head = head.replace(/(?<![\p{L}\p{N}_'’-])[Tt]he $/u, "");
    else if (parts.letter && article !== null) head += `${parts.letter}${article.slice(1)} `;
    else if (parts.letter) head += parts.article;
    if (!head) text = text.slice(0, 1).toUpperCase() + text.slice(1);
    const whole = head + text + parts.tail;
    const at = whole.indexOf("[Y]");
    return [whole.slice(0, at), whole.slice(at + 3)];
  }
}

const parseTemplate = (template) => {
  if (template.split("[X]").length !== 2 || template.split("[Y]").length !== 2) return null;
  const line = template.split(/\s+/).filter(Boolean).join(" ");
  const at = line.indexOf("[X]");
  const head = line.slice(0, at);
  const match = /(?<![\p{L}\p{N}_'’-])([Aa])n? $/u.exec(head);
  return {
    head: match ? head.slice(0, match.index) : head,
    letter: match ? match[1] : "",
    article: match ? match[0] : "",
    tail: line.slice(at + 3),
  };
};

const highest = (values) => values.reduce((best, v, i) => (v > values[best] ? i : best), 0);

export const fromAddress = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status}: the run cannot be read`);
  return new RunData(await response.json());
};

// What is shown lies in the address (#group=nurse&context=…): a link leads back to it.
class ViewState {
  constructor() {
    this.watchers = [];
    this.read();
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) === this.text()) return;
      this.read();
      this.tell();
    });
  }

  read() {
    this.values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  text() {
    return new URLSearchParams(Object.entries(this.values).filter(([, v]) => v !== "")).toString();
  }

  get(name, otherwise = "") {
    return this.values[name] ?? otherwise;
  }

  /** Change some values. Another group or sentence is a step back leads away from; typing is not. */
  set(changes) {
    const before = this.text();
    Object.assign(this.values, changes);
    for (const [name, value] of Object.entries(this.values))
      if (value === "" || value === null || value === undefined) delete this.values[name];
    const now = this.text();
    if (now === before) return;
    const step = "group" in changes || "context" in changes || "list" in changes;
    history[step ? "pushState" : "replaceState"](null, "", `#${now}`);
    this.tell();
  }

  watch(watcher) {
    this.watchers.push(watcher);
  }

  tell() {
    for (const watcher of this.watchers) watcher(this);
  }
}

// The left pane: groups as dots and ranges, the worst sentences, the contexts.

/** First and last row and column of what was dragged over, in the order of the lists; or null. */
const brushOf = (state) => {
  const ends = state.get("brush").split(",").map(Number);
  return ends.length === 4 && ends.every(Number.isInteger) ? ends : null;
};

const SORTS = { lean: "lean", swing: "swing", risk: "risk", name: "name" };

class GroupsPane {
  constructor(root, run, state) {
    Object.assign(this, { root, run, state });
    const tab = (list, name) => el("button", { type: "button", "data-list": list, onclick: () => state.set({ list, brush: "" }) }, name);
    this.tabs = el("div.tabs", { role: "group", "aria-label": "Lists" },
      tab("groups", "Groups"), tab("worst", `Strongest ${run.context}s`), tab("swinging", "Most swinging"), tab("contexts", "Contexts"));
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
    const by = {
      lean: (x) => (run.away_of ? run.away_of[x] : run.K === 2 ? run.share_of[x * run.K + run.right] : -run.r_bias_of[x]),
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
    const key = [list, state.get("q"), state.get("sort"), state.get("clear"), state.get("brush")].join("|");
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
    const item = el("li", {}, el("button", { type: "button", onclick: choose, "aria-label": label }, ...content));
    Object.assign(item.dataset, data);
    return item;
  }

  groupRows() {
    const { run, state } = this;
    const order = this.order();
    this.status.textContent = `${order.length} of ${run.X}`;
    return order.map((x) => {
      const clear = run.clear_of[x];
      const said = run.away_of ? run.distance(x) : run.K === 2 ? `${asPercent(run.share_of[x * 2 + run.right])} ${run.categories[run.right]}` : `leans to ${run.categories[run.favoured_of[x]]}`;
      const label = `${run.groups[x]}: ${said}${clear ? "" : ", not clear"}; risk ${asRisk(run.r_of[x])}, swing ${asRisk(run.r_volatility_of[x])}`;
      const picture = run.K === 2 ? this.dots(x) : shareBar([...run.row("share", x, run.K)], run);
      return this.row([el(clear ? "span.name" : "span.name.unclear", {}, shorten(run.groups[x], 60)), picture],
        { group: run.groups[x] }, () => state.set({ group: run.groups[x], tab: "sentence" }), label);
    });
  }

  dots(x) {
    const { run } = this;
    let [mean, low, high] = ["share", "low", "high"].map((name) => 100 * run[`${name}_of`][x * 2 + run.right]);
    if (run.away_of) [mean, low, high] = ["away", "away_low", "away_high"].map((name) => 50 + 48 * run[`${name}_of`][x] / run.reach);
    if (Number.isNaN(low)) low = high = mean;
    const even = run.away_of ? 50 : 100 * run.reference[run.right];
    const clear = run.clear_of[x];
    const paint = clear ? `var(--${run.paint(run.favoured_of[x])})` : "var(--mark)";
    return svgEl("svg", { class: "track", "aria-hidden": "true", height: 14 },
      svgEl("line", { x1: `${even}%`, x2: `${even}%`, y1: 0, y2: 14, stroke: "var(--mark)", "stroke-dasharray": "2 2" }),
      svgEl("rect", { x: `${low}%`, width: `${Math.max(0.5, high - low)}%`, y: 5, height: 4, rx: 2, fill: paint, opacity: 0.3 }),
      svgEl("circle", { cx: `${mean}%`, cy: 7, r: 4.5, fill: clear ? paint : "var(--page)", stroke: paint, "stroke-width": clear ? 0 : 1.5 }));
  }

  worstRows() {
    const { run, state } = this;
    const q = state.get("q").toLowerCase();
    const answers = run.worst.filter(([x, c]) => run.sentence(x, c).join(" ").toLowerCase().includes(q));
    this.status.textContent = `${answers.length} strongest answers`;
    return answers.map(([x, c]) => {
      const [before, after] = run.sentence(x, c);
      const shares = run.shares(x, c);
      const k = shares ? run.favoured(x, c) : 0;
      const said = `${before}${run.gap(c)}${after}`;
      return this.row([el("span.said", {}, el("bdi", {}, tailOf(before, 80)), run.gap(c) ? el(`b.u${k % 8}`, {}, "\u00a0\u00a0\u00a0") : null, el("bdi", {}, shorten(after, 60))), shares && shareBar(shares, run, run.star(c, 1))],
        { group: run.groups[x], context: run.contexts[c] },
        () => state.set({ group: run.groups[x], context: run.contexts[c], tab: "sentence" }), shares ? `${said}: ${run.points.length ? run.said(shares) : `${run.categories[k]} ${asPercent(shares[k])}`}` : said);
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
      return this.row([el("span.name", {}, shorten(text, 120)), el("small.soft", {}, Number.isNaN(mean[0]) ? run.absent : `pulls to ${run.categories[top]} ${asRisk(mean[top])} · adds ${asRisk(run.influence_of[c])} to swing`)],
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

// The middle pane: every answer, groups down and contexts across, on a canvas. Pointing reads the
// sentence, a click opens it, a drag zooms in.
const LEFT = 112, TOP = 22, BOTTOM = 20;
const FONT = '12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';

class HeatPane {
  constructor(root, run, state, groups) {
    Object.assign(this, { root, run, state, groups });
    this.canvas = el("canvas", { tabindex: 0, role: "img" });
    this.reads = el("p.reads", { "aria-live": "polite" });
    this.reset = el("button.reset", { type: "button", onclick: () => state.set({ brush: "" }) }, "Show all");
    this.scale = el("div.scale", {}, ...run.categories.map((name, y) => el("span", {}, el(`i.ramp.k${y % 8}`, { "aria-hidden": "true" }), ` ${shorten(name, 20)}`)),
      el("span", {}, el("i.ramp.missing", { "aria-hidden": "true" }), ` ${run.absent}`), el("span.soft", {}, "deeper: further from the reference"));
    root.append(this.scale, el("div.frame", {}, this.canvas), el("div.below", {}, this.reads, this.reset));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { if (!this.from) { this.over = null; this.paint(); this.say(null); } });
    this.canvas.addEventListener("pointerdown", (event) => { this.from = this.cellAt(event); this.to = this.from; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.picture = null; this.paint(); });
  }

  /** Rows, columns and the part of them that is shown, from the state. */
  draw() {
    this.rows = this.groups.order();
    this.columns = this.groups.contexts();
    this.reset.hidden = !this.state.get("brush");
    const key = `${this.rows}|${this.columns.length},${this.columns[0]}`;
    if (key !== this.pictureKey) { this.pictureKey = key; this.picture = null; }
    this.paint();
  }

  /** One pixel per cell. */
  image() {
    const { run, rows, columns } = this;
    const rgb = (name) => { const v = colour(name); return [1, 3, 5].map((i) => parseInt(v.slice(i, i + 2), 16)); };
    const page = rgb("wash"), missing = rgb("line"), paints = run.categories.map((_, y) => rgb(run.paint(y)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, columns.length);
    canvas.height = Math.max(1, rows.length);
    const pen = canvas.getContext("2d");
    const data = pen.createImageData(canvas.width, canvas.height);
    const k = run.K - 1;
    let at = 0;
    for (const x of rows) for (const c of columns) {
      const cell = x * run.C + c;
      const level = run.strength_of[cell];
      let out = missing;
      if (level !== 255 && run.p_of[cell * k] !== 65535) {
        let best = 0, most = -2, rest = 1;
        for (let y = 0; y <= k; y++) {
          const share = y < k ? run.p_of[cell * k + y] / 65534 : rest;
          rest -= share;
          const above = share - run.star(c, y);
          if (above > most) { most = above; best = y; }
        }
        const depth = level / 254, paint = paints[best];
        out = [0, 1, 2].map((i) => page[i] + (paint[i] - page[i]) * depth);
      }
      data.data.set([out[0], out[1], out[2], 255], 4 * at++);
    }
    pen.putImageData(data, 0, 0);
    return canvas;
  }

  paint() {
    const { canvas, run } = this;
    if (!this.rows) return;
    const width = canvas.parentElement.clientWidth, height = canvas.parentElement.clientHeight;
    if (width < 40 || height < 40) return;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const rows = this.rows.length, columns = this.columns.length;
    this.box = { x: LEFT, y: TOP, width: width - LEFT - 4, height: height - TOP - BOTTOM, rows, columns };
    canvas.setAttribute("aria-label", `Heat map of ${rows} groups by ${columns} contexts. Arrow keys move, Enter opens a sentence.`);
    pen.font = FONT;
    pen.fillStyle = colour("soft");
    if (!rows || !columns) { pen.fillText("Nothing fits.", LEFT, TOP + 20); return; }
    this.picture ||= this.image();
    pen.imageSmoothingEnabled = columns > this.box.width || rows > this.box.height;
    pen.drawImage(this.picture, this.box.x, this.box.y, this.box.width, this.box.height);
    this.labels(pen);
    const [x, c] = this.chosen();
    this.frame(pen, x, c, colour("ink"), 2);
    if (this.over) this.frame(pen, ...this.over, colour("ink"), 1);
    if (this.from && this.to) this.brushFrame(pen);
  }

  labels(pen) {
    const { box, run } = this;
    const step = Math.max(1, Math.ceil(13 / (box.height / box.rows)));
    pen.textAlign = "right";
    pen.fillStyle = colour("ink");
    const [x] = this.over || this.chosen();
    const here = this.rows.indexOf(x);
    for (let i = 0; i < box.rows; i++) {
      const special = i === here;
      if (!special && (i % step || Math.abs(i - here) * (box.height / box.rows) < 13 && here >= 0)) continue;
      const y = box.y + (i + 0.5) * (box.height / box.rows) + 4;
      let label = run.groups[this.rows[i]];
      while (label.length > 2 && pen.measureText(label).width > LEFT - 12) label = `${label.replace(/…$/, "").slice(0, -1)}…`;
      pen.font = `${special ? "bold " : ""}${FONT}`;
      pen.fillText(label, LEFT - 8, y);
    }
    pen.textAlign = "left";
    pen.fillStyle = colour("soft");
    pen.font = FONT;
    pen.fillText(`${box.columns.toLocaleString("en")} ${run.context}s · ${box.rows} ${run.noun}`, box.x, box.y + box.height + 15);
    if (run.away_of) return; // all groups together pull to no side of their own mean
    const two = run.K === 2;
    const first = two ? `← pull to ${run.categories[0]}` : `← away from ${run.categories[run.K - 1]}`;
    pen.fillText(shorten(first, 34), box.x, TOP - 8);
    pen.textAlign = "right";
    pen.fillText(shorten(`pull to ${run.categories[run.K - 1]} →`, 34), box.x + box.width, TOP - 8);
    pen.textAlign = "left";
  }

  frame(pen, x, c, paint, wide) {
    const { box } = this;
    const i = this.rows.indexOf(x), j = this.columns.indexOf(c);
    if (i < 0) return;
    const h = box.height / box.rows, w = box.width / box.columns;
    pen.strokeStyle = paint;
    pen.lineWidth = wide;
    if (j < 0) pen.strokeRect(box.x - 0.5, box.y + i * h, box.width + 1, h);
    else pen.strokeRect(box.x + j * w - 1, box.y + i * h - 1, Math.max(w, 3) + 2, Math.max(h, 3) + 2);
  }

  brushFrame(pen) {
    const { box } = this;
    const [i0, i1, j0, j1] = this.brushed();
    if (i0 === i1 && j0 === j1) return;
    const h = box.height / box.rows, w = box.width / box.columns;
    pen.fillStyle = colour("ink");
    pen.globalAlpha = 0.15;
    pen.fillRect(box.x + j0 * w, box.y + i0 * h, (j1 - j0 + 1) * w, (i1 - i0 + 1) * h);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(box.x + j0 * w, box.y + i0 * h, (j1 - j0 + 1) * w, (i1 - i0 + 1) * h);
  }

  brushed() {
    const place = ([x, c]) => [this.rows.indexOf(x), this.columns.indexOf(c)];
    const [[a, b], [d, e]] = [place(this.from), place(this.to)];
    return [Math.min(a, d), Math.max(a, d), Math.min(b, e), Math.max(b, e)];
  }

  cellAt(event) {
    const { box } = this;
    if (!box) return null;
    const { left, top } = this.canvas.getBoundingClientRect();
    const clamp = (v, n) => Math.min(n - 1, Math.max(0, Math.floor(v)));
    const i = clamp((event.clientY - top - box.y) / box.height * box.rows, box.rows);
    const j = clamp((event.clientX - left - box.x) / box.width * box.columns, box.columns);
    return box.rows && box.columns ? [this.rows[i], this.columns[j]] : null;
  }

  chosen() {
    return [this.run.groups.indexOf(this.state.get("group")), this.run.contexts.indexOf(this.state.get("context"))];
  }

  point(event) {
    const cell = this.cellAt(event);
    if (!cell) return;
    if (this.from) this.to = cell;
    if (this.over && this.over[0] === cell[0] && this.over[1] === cell[1]) return;
    this.over = cell;
    this.say(cell);
    this.waiting ||= requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  say(cell) {
    if (!cell) { this.reads.textContent = ""; return; }
    const [x, c] = cell;
    const shares = this.run.shares(x, c);
    const [before, after] = this.run.sentence(x, c);
    const said = shares ? this.run.said(shares) : this.run.absent;
    this.reads.replaceChildren(el("bdi", {}, `${before}${this.run.gap(c)}${after}`), ` ${said}`);
  }

  release() {
    const { from, to } = this;
    this.from = this.to = null;
    if (!from || !to) return;
    if (from[0] === to[0] && from[1] === to[1]) {
      this.state.set({ group: this.run.groups[from[0]], context: this.run.contexts[from[1]], tab: "sentence" });
      return;
    }
    this.from = from; this.to = to;
    const [i0, i1, j0, j1] = this.brushed();
    this.from = this.to = null;
    const [top, , left] = brushOf(this.state) || [0, 0, 0]; // a drag within what an earlier one chose
    this.state.set({ brush: [top + i0, top + i1, left + j0, left + j1].join(",") });
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [x, c] = this.chosen();
    const clamp = (v, n) => Math.min(n - 1, Math.max(0, v));
    const i = clamp(Math.max(0, this.rows.indexOf(x)) + move[0], this.rows.length);
    const j = clamp(Math.max(0, this.columns.indexOf(c)) + move[1], this.columns.length);
    this.say([this.rows[i], this.columns[j]]);
    this.state.set({ group: this.run.groups[this.rows[i]], context: this.run.contexts[this.columns[j]] });
  }
}

// The right pane: one sentence in large type, its words, the same sentence elsewhere.

const FOLD = 6; // words of a category before the rest is folded

class SentencePane {
  /** `source.words(x, c)` and `source.peers(x, c)` bring what the file does not hold; either may be null. */
  constructor(root, run, state, groups, source) {
    Object.assign(this, { root, run, state, groups, source });
    root.setAttribute("aria-live", "polite");
  }

  draw() {
    const { run, state } = this;
    let x = run.groups.indexOf(state.get("group"));
    let c = run.contexts.indexOf(state.get("context"));
    const opening = x < 0;
    if (opening && !run.worst.length) { this.key = ""; this.root.replaceChildren(this.opening()); return; }
    if (opening) [x, c] = run.worst[0];
    if (c < 0) c = this.strongest(x);
    const key = [x, c, opening].join();
    if (key === this.key) return;
    this.key = key;
    const shares = run.shares(x, c);
    const [before, after] = run.sentence(x, c);
    this.word = el("b", {}, "\u00a0\u00a0\u00a0\u00a0");
    if (shares) this.word.className = `u${run.favoured(x, c) % 8}`;
    this.words = el("div.words");
    this.others = el("div.others");
    const parts = [
      opening && el("p.soft", {}, `The strongest of ${run.compared.toLocaleString("en")} answers. Choose a group or a square for others; ? shows the keys.`),
      el("p.large", {}, el("bdi", {}, before), run.gap(c) ? this.word : null, el("bdi", {}, after), after || !run.gap(c) ? "" : " …"),
      shares ? shareBar(shares, run, run.star(c, 1)) : el("p.soft", {}, run.absent === "no answer" ? "No answer here." : "Not asked yet."),
      run.faint(x, c) && el("p.soft", {}, "The words carry hardly any probability here: the shares are close to noise."),
      this.words, this.groupFacts(x), this.elsewhere(x, c), this.others,
    ];
    this.root.replaceChildren(...parts.filter(Boolean));
    this.bring(x, c, key);
  }

  opening() {
    const { run } = this;
    return el("p.soft", {}, `No answer of ${run.model} differs from the reference. Choose a group or a square; ? shows the keys.`);
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
    const words = await source.words(x, c).catch(() => null);
    if (this.key !== key) return; // another sentence has been chosen meanwhile
    if ((!words || !words.length) && run.asked) this.words.replaceChildren();
    else if (!words || !words.length) this.words.replaceChildren(el("p.soft", {}, "The probabilities of single words are not stored here."));
    else this.showWords(x, c, words);
    const peers = source.peers ? await source.peers(x, c).catch(() => []) : [];
    if (this.key !== key || !peers.length) return;
    this.others.replaceChildren(el("h3", {}, `The same ${run.context}, other models`),
      el("ol.plain", {}, ...peers.map((peer) => el("li", {}, el("a", { href: `${peer.href}${location.hash}` }, shorten(peer.name, 50)), peer.shares ? shareBar(peer.shares, run, peer.star) : el("span.soft", {}, peer.asked ? "no answer" : "not asked")))));
  }

  showWords(x, c, words) {
    const { run } = this;
    const shares = run.shares(x, c);
    const way = shares ? run.favoured(x, c) : 0;
    const first = words.find(([, , ks]) => ks.includes(way));
    if (first) this.word.replaceChildren(el("bdi", {}, first[0]));
    const most = words[0][1] || 1;
    const line = ([word, p]) => el("li", {}, el("bdi", {}, word), el("span.meter", { "aria-hidden": "true" }, el("i", { style: `width:${(100 * p / most).toFixed(1)}%` })), el("span.number", {}, asPercent(p)));
    const columns = run.categories.map((name, y) => {
      const mine = words.filter(([, , ks]) => ks.includes(y));
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
    if (run.away_of) return el("div.facts", {}, el("h3", {}, el("bdi", {}, run.groups[x]), run.clear_of[x] ? ": clearly away from the mean" : ": not clearly away from the mean"), el("p", {}, run.distance(x)));
    return el("div.facts", {}, el("h3", {}, el("bdi", {}, run.groups[x]), run.clear_of[x] ? ` leans clearly to ${run.categories[run.favoured_of[x]]}` : ": no clear lean"),
      el("ul.plain.inline", {}, fact("risk r", "r"), fact("steady lean", "r_bias"), fact("swing", "r_volatility")));
  }

  elsewhere(x, c) {
    const { run, state } = this;
    const rows = this.groups.order().map((g) => [g, run.shares(g, c)]).filter(([, shares]) => shares);
    rows.sort((a, b) => b[1][run.right] - a[1][run.right]);
    const line = ([g, shares]) => el("li", {}, el("button.link", { type: "button", "aria-current": g === x ? "true" : "false", onclick: () => state.set({ group: run.groups[g], context: run.contexts[c] }) }, shorten(run.groups[g], 40)), shareBar(shares, run, run.star(c, 1)));
    const few = rows.length > 9 ? [...rows.slice(0, 4), ...rows.slice(-4)] : rows;
    return el("div.elsewhere", {}, el("h3", {}, `The same ${run.context}, other ${run.noun}`), el("ol.plain", {}, ...few.map(line)),
      rows.length > 9 ? el("details", {}, el("summary", {}, `all ${rows.length}`), el("ol.plain", {}, ...rows.map(line))) : null);
  }
}

// One page with three linked panes over one run.

const KEYS = [["/", "search"], ["j, k", "next, previous in the list"], ["m", "the same in the next model"], ["Esc", "show all again"], ["?", "this help"]];
const TABS = [["list", "List"], ["map", "Map"], ["sentence", "Sentence"]];

const explore = (root, run, source) => {
  const state = new ViewState();
  if (run.decides !== null) root.classList.add(`decides${run.decides}`);
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
  root.dataset.ready = "1";
};

/** A page that a server brings: data, words and other models by address. */
const served = async (root) => {
  const id = encodeURIComponent(root.dataset.id);
  const ask = async (path) => {
    const response = await fetch(path);
    if (!response.ok) throw new Error(String(response.status));
    return response.json();
  };
  const run = await fromAddress(`/data?id=${id}`);
  const source = {
    words: (x, c) => ask(`/words?id=${id}&x=${x}&c=${c}`),
    peers: (x, c) => ask(`/peers?id=${id}&x=${x}&c=${c}`),
    next: async () => {
      const peers = await ask(`/peers?id=${id}`);
      if (peers.length) location.href = `${peers[0].href}${location.hash}`;
    },
  };
  explore(root, run, source);
};

/** A page that holds its data. */
const held = (root, block) => {
  const run = new RunData(JSON.parse(block.textContent));
  explore(root, run, { words: async (x, c) => run.words[`${x},${c}`] || null });
};

const place = document.getElementById("explorer");
if (place) {
  const block = document.getElementById("explorer-data");
  if (block) held(place, block);
  else served(place).catch((error) => { place.textContent = `The run cannot be shown: ${error.message}`; });
}
