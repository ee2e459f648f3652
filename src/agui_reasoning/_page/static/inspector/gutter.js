/** Draws the brackets of a row: which pairs start, end, go on or are cut there. */

const SVG = "http://www.w3.org/2000/svg";
const COLUMN = 10;

/** @type {Record<import("./timeline.js").Line["part"], (x: number, middle: number, height: number) => string>} */
const PATHS = {
  start: (x, middle, height) => `M${x + 6} ${middle}H${x + 3}Q${x} ${middle} ${x} ${middle + 3}V${height}`,
  through: (x, middle, height) => `M${x} 0V${height}`,
  inside: (x, middle, height) => `M${x} 0V${height}M${x} ${middle}h5`,
  end: (x, middle) => `M${x} 0V${middle - 3}Q${x} ${middle} ${x + 3} ${middle}H${x + 6}`,
  cut: (x, middle) => `M${x} 0V${middle - 2}M${x - 3} ${middle - 3}l6 6m0 -6l-6 6`,
};

/**
 * Creates the drawing.
 *
 * @param {import("./timeline.js").Line[]} lines
 * @param {{middle: number, height: number}} size Where the first line of text is, and how high the row is, in CSS pixels.
 */
export function gutter(lines, { middle, height }) {
  const columns = lines.reduce((most, line) => Math.max(most, line.column + 1), 1);
  const drawing = element("svg", { class: "insp-gutter", width: columns * COLUMN + 4, height, "aria-hidden": "true" });
  for (const line of lines) {
    const x = line.column * COLUMN + COLUMN / 2 + 0.5;
    const path = element("path", { d: PATHS[line.part](x, middle, height) });
    path.dataset.pair = line.pair;
    path.dataset.part = line.part;
    drawing.append(path);
  }
  return drawing;
}

function element(name, attributes) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}
