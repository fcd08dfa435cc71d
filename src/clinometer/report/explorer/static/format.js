// Numbers, colours and elements: as display/numbers.py writes them, as the style sheet has them.
const NO_NUMBER = "–";

/** A number with n digits; what lies exactly between two goes to the even one, as in Python. */
const fixed = (v, digits) => {
  const n = v * 10 ** digits;
  const between = Number.isInteger(v * 2 ** 20) && Math.abs(n % 1) === 0.5;
  return (between ? (2 * Math.round(n / 2)) / 10 ** digits : v).toFixed(digits);
};

export const asRisk = (v) => (v === null || v === undefined || Number.isNaN(v) ? NO_NUMBER : fixed(v, 3).replace(/^-(0\.0+)$/, "$1"));

export const asPercent = (v) => {
  if (v === null || v === undefined || Number.isNaN(v)) return NO_NUMBER;
  if (v > 0 && v < 0.001) return "< 0.1 %";
  if (v > 0.999 && v < 1) return "> 99.9 %";
  const digits = v === 0 || v === 1 || (v >= 0.0995 && v < 0.9895) ? 0 : 1;
  return `${fixed(100 * v, digits)} %`;
};

/** An element: el("p.why", {id: "x"}, "text", child…). Text is never parsed as HTML. */
export const el = (name, attributes = {}, ...children) => {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") made.style.cssText = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

export const svgEl = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A bar of shares with labels where there is room. */
export const shareBar = (shares, categories) => {
  const label = shares.map((v, y) => `${categories[y]} ${asPercent(v)}`).join(", ");
  return el("span.shares", { role: "img", "aria-label": label, title: label },
    ...shares.map((v, y) => v >= 0.004 &&
      el(`i.k${y % 8}`, { style: `width:${(100 * v).toFixed(2)}%` },
        v >= 0.3 ? `${categories[y]} ${asPercent(v)}` : v >= 0.09 ? fixed(100 * v, 0) : "")));
};

export const shorten = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`);

/** The end of a text, for the words before a slot. */
export const tailOf = (text, length) => (text.length <= length ? text : `… ${text.slice(-length).replace(/^\S*\s/, "")}`);
