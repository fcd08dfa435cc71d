// The middle pane: every answer, groups down and contexts across, on a canvas. Pointing reads the
// sentence, a click opens it, a drag zooms in.
import { asPercent, colour, el, shorten } from "./format.js";
import { brushOf } from "./groups.js";

const LEFT = 112, TOP = 22, BOTTOM = 20;

export class HeatPane {
  constructor(root, run, state, groups) {
    Object.assign(this, { root, run, state, groups });
    this.canvas = el("canvas", { tabindex: 0, role: "img" });
    this.reads = el("p.reads", { "aria-live": "polite" });
    this.reset = el("button.reset", { type: "button", onclick: () => state.set({ brush: "" }) }, "Show all");
    this.scale = el("div.scale", {}, ...run.categories.map((name, y) => el("span", {}, el(`i.ramp.k${y % 8}`, { "aria-hidden": "true" }), ` ${shorten(name, 20)}`)),
      el("span", {}, el("i.ramp.missing", { "aria-hidden": "true" }), " no answer"), el("span.soft", {}, "deeper: further from the reference"));
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
    const key = `${this.rows}|${this.columns.length},${this.columns[0]}|${this.run.stamp}`;
    if (key !== this.made) { this.made = key; this.picture = null; }
    this.paint();
  }

  /** One pixel per cell. */
  image() {
    const { run, rows, columns } = this;
    const rgb = (name) => { const v = colour(name); return [1, 3, 5].map((i) => parseInt(v.slice(i, i + 2), 16)); };
    const page = rgb("wash"), missing = rgb("line"), paints = run.categories.map((_, y) => rgb(`c${y % 8}`));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, columns.length);
    canvas.height = Math.max(1, rows.length);
    const pen = canvas.getContext("2d");
    const data = pen.createImageData(canvas.width, canvas.height);
    const k = run.K - 1, even = run.reference;
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
          if (share - even[y] > most) { most = share - even[y]; best = y; }
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
    pen.font = '12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
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
      pen.font = `${special ? "bold " : ""}12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif`;
      pen.fillText(label, LEFT - 8, y);
    }
    pen.textAlign = "left";
    pen.fillStyle = colour("soft");
    pen.font = '12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
    const two = run.K === 2;
    const first = two ? `← pull to ${run.categories[0]}` : `← away from ${run.categories[run.K - 1]}`;
    pen.fillText(shorten(first, 34), box.x, TOP - 8);
    pen.textAlign = "right";
    pen.fillText(shorten(`pull to ${run.categories[run.K - 1]} →`, 34), box.x + box.width, TOP - 8);
    pen.textAlign = "left";
    const total = `${box.columns.toLocaleString("en")} contexts · ${box.rows} groups`;
    pen.fillText(total, box.x, box.y + box.height + 15);
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
    const said = shares ? shares.map((v, y) => `${this.run.categories[y]} ${asPercent(v)}`).join(", ") : "no answer";
    this.reads.replaceChildren(el("bdi", {}, `${before}___${after}`), ` ${said}`);
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
