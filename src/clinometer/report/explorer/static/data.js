// The file of one run (see explorer/data.py): read from bytes, or fetched in ranges.
const ARRAYS = { f32: Float32Array, u16: Uint16Array, u8: Uint8Array };
const FIRST = 1 << 18; // bytes of the first request: header and small columns of most runs
const CHUNK = 1 << 22;
const NO_SHARE = 65535;

export class RunData {
  constructor(header, buffer, start) {
    Object.assign(this, header);
    this.size = start;
    for (const { name, type, shape, at } of header.arrays) {
      const count = shape.reduce((a, b) => a * b, 1);
      const values = new ARRAYS[type](buffer, start + at, count);
      this.size = Math.max(this.size, start + at + values.byteLength);
      this[`${name}_of`] = values;
    }
    this.X = this.groups.length;
    this.C = this.contexts.length;
    this.K = this.categories.length;
    this.parsed = this.templates.map(parseTemplate);
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
    return highest(this.shares(x, c).map((v, y) => v - this.reference[y]));
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

export const highest = (values) => values.reduce((best, v, i) => (v > values[best] ? i : best), 0);

const headerOf = (bytes) => {
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== "CLV1") throw new Error("not a view file");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  return { length, start: 8 + length };
};

/** A run from all of its bytes. */
export const fromBytes = (bytes) => {
  const { start } = headerOf(bytes);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  return new RunData(header, bytes.buffer, start);
};

/** A run from an address: usable at once, complete when `run.ready` resolves. */
export const fromAddress = async (address, arrived = () => {}) => {
  const get = async (first, last) => {
    const found = await fetch(address, { headers: { Range: `bytes=${first}-${last}` } });
    if (!found.ok) throw new Error(`${found.status}: the run cannot be read`);
    const total = Number((found.headers.get("Content-Range") || "").split("/")[1]);
    return { bytes: new Uint8Array(await found.arrayBuffer()), total };
  };
  const opening = await get(0, FIRST - 1);
  const total = opening.total || opening.bytes.length;
  const whole = new Uint8Array(total);
  whole.fill(255); // a share that has not come yet is missing
  whole.set(opening.bytes);
  let have = opening.bytes.length;
  const { start } = headerOf(whole);
  while (have < Math.min(total, start)) {
    const more = await get(have, Math.min(total, have + CHUNK) - 1);
    whole.set(more.bytes, have);
    have += more.bytes.length;
  }
  const run = fromBytes(whole);
  run.ready = (async () => {
    while (have < total) {
      const more = await get(have, Math.min(total, have + CHUNK) - 1);
      whole.set(more.bytes, have);
      have += more.bytes.length;
      arrived(run);
    }
    return run;
  })();
  return run;
};
