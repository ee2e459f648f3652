/** Icons, drawn with strokes in the color of the text. */

const NAMESPACE = "http://www.w3.org/2000/svg";

const PATHS = {
  chevron: "M6 3.5 10.5 8 6 12.5",
  spark: "M8 1.8v3.4M8 10.8v3.4M1.8 8h3.4M10.8 8h3.4M3.6 3.6 6 6M10 10l2.4 2.4M12.4 3.6 10 6M6 10l-2.4 2.4",
  lock: "M4 7.2h8v6.3H4zM5.6 7V5a2.4 2.4 0 0 1 4.8 0v2",
  tool: "M9.8 2.4a3.4 3.4 0 0 0-3.5 4.7l-4 4a1.5 1.5 0 0 0 2.2 2.2l4-4a3.4 3.4 0 0 0 4.6-4.3L11 7 9 5l2-2.1a3.4 3.4 0 0 0-1.2-.5z",
  send: "M8 13V3M3.8 7.2 8 3l4.2 4.2",
  stop: "M4.5 4.5h7v7h-7z",
  copy: "M5.5 5.5V2.8h7.7v7.7h-2.7M2.8 5.5h7.7v7.7H2.8z",
  cut: "M2.5 8h11M5 4.5h6M5 11.5h3",
  check: "M3 8.5 6.3 12 13 4.5",
  redo: "M13 8a5 5 0 1 1-1.6-3.7M13 2.2v3.1H9.9",
  edit: "M3 13l.6-2.8 7.3-7.3 2.2 2.2-7.3 7.3zM9.6 4.2l2.2 2.2",
  alert: "M8 2.2 14.5 13.5h-13zM8 6.5v3.3M8 11.4v.3",
  down: "M8 3v10M3.8 8.8 8 13l4.2-4.2",
  plus: "M8 3v10M3 8h10",
  rule: "M5.5 8h5",
  open: "M2 12.5v-9h4.2l1.6 1.8H14v7.2zM2 7.4h12",
  save: "M8 2.2v7.6M4.6 6.6 8 10l3.4-3.4M2.5 13.5h11",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
};

/**
 * Creates an icon, which screen readers skip.
 *
 * @param {keyof typeof PATHS} name
 */
export function icon(name) {
  const svg = document.createElementNS(NAMESPACE, "svg");
  const path = document.createElementNS(NAMESPACE, "path");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", "aria-hidden": "true", class: `icon icon-${name}` })) {
    svg.setAttribute(key, value);
  }
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
