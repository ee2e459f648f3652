/** Draws the brackets of a row: which pairs start, end, go on or are cut there. */

const SVG = "http://www.w3.org/2000/svg";
const COLUMN = 10;
const HEIGHT = 28;
const MIDDLE = HEIGHT / 2;

/** @type {Record<import("./timeline.js").Line["part"], (x: number) => string>} */
const PATHS = {
  start: (x) => `M${x + 6} ${MIDDLE}H${x + 3}Q${x} ${MIDDLE} ${x} ${MIDDLE + 3}V${HEIGHT}`,
  through: (x) => `M${x} 0V${HEIGHT}`,
  inside: (x) => `M${x} 0V${HEIGHT}M${x} ${MIDDLE}h5`,
  end: (x) => `M${x} 0V${MIDDLE - 3}Q${x} ${MIDDLE} ${x + 3} ${MIDDLE}H${x + 6}`,
  cut: (x) => `M${x} 0V${MIDDLE - 2}M${x - 3} ${MIDDLE - 3}l6 6m0 -6l-6 6`,
};

/**
 * Creates the drawing.
 *
 * @param {import("./timeline.js").Line[]} lines
 */
export function gutter(lines) {
  const columns = lines.reduce((most, line) => Math.max(most, line.column + 1), 1);
  const drawing = element("svg", { class: "insp-gutter", width: columns * COLUMN + 4, height: HEIGHT, "aria-hidden": "true" });
  for (const line of lines) {
    const x = line.column * COLUMN + COLUMN / 2 + 0.5;
    const path = element("path", { d: PATHS[line.part](x) });
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
