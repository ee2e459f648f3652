/** Shows JSON as lines: long strings are abbreviated and shown in full on demand, and selected values are marked. */

import { h } from "../dom.js";

/** Strings up to this length are shown in full. */
const LONG = 120;
const HEAD = 36;
const TAIL = 10;
/** Objects up to this length are written on one line. */
const INLINE = 56;
const MAX_DEPTH = 64;
/** How many lines are shown at first. */
const MAX_LINES = 1500;

/**
 * @typedef {{label: string, tone: string}} Mark
 * @typedef {{depth: number, key: string, pointer: string, end: string}} Place
 */

/**
 * Creates an element that shows a value.
 *
 * @param {unknown} value
 * @param {Map<string, Mark>} [marks] The marks of values, by JSON pointer.
 */
export function jsonView(value, marks = new Map()) {
  const lines = linesOf(value, { depth: 0, key: "", pointer: "", end: "" }, marks);
  const shown = lines.slice(0, MAX_LINES);
  const element = h("div", { class: "insp-json" }, ...shown.map((make) => make()));
  if (lines.length > shown.length) element.append(moreButton(lines.slice(MAX_LINES)));
  return element;
}

/** Returns a string that is abbreviated as in the view. */
export function abbreviated(text) {
  if (text.length <= LONG) return text;
  return isProse(text) ? `${text.slice(0, LONG - 8).trimEnd()}…` : `${text.slice(0, HEAD)}…${text.slice(-TAIL)}`;
}

function isProse(text) {
  return text.slice(0, LONG).includes(" ");
}

function moreButton(rest) {
  const button = h("button", { type: "button", class: "insp-button" }, `Show ${rest.length.toLocaleString("en")} more lines`);
  button.addEventListener("click", () => button.replaceWith(...rest.map((make) => make())));
  return button;
}

/**
 * @param {unknown} value
 * @param {Place} place
 * @param {Map<string, Mark>} marks
 * @returns {(() => HTMLElement)[]} Makes the lines; most of them are never needed.
 */
function linesOf(value, place, marks) {
  if (typeof value !== "object" || value === null || isInline(value, place, marks)) {
    return [() => line(place, scalar(value, place.end), marks.get(place.pointer))];
  }
  const isList = Array.isArray(value);
  const members = isList ? value.map((member, index) => [index, member]) : Object.entries(value);
  const children = members.flatMap(([name, member], index) => linesOf(member, {
    depth: place.depth + 1,
    key: isList ? "" : String(name),
    pointer: `${place.pointer}/${escaped(name)}`,
    end: index < members.length - 1 ? "," : "",
  }, marks));
  const closing = { ...place, key: "" };
  return [
    () => line(place, [isList ? "[" : "{"], marks.get(place.pointer)),
    ...children,
    () => line(closing, [(isList ? "]" : "}") + place.end]),
  ];
}

/** Returns whether a container is short enough for one line, or too deep for more. */
function isInline(value, { depth, pointer }, marks) {
  if (depth >= MAX_DEPTH) return true;
  if (Object.keys(value).length > 4 || JSON.stringify(value).length > INLINE) return false;
  return ![...marks.keys()].some((marked) => marked.startsWith(`${pointer}/`));
}

/** @returns {HTMLElement} */
function line({ depth, key }, content, mark) {
  const element = h("div", { class: "insp-json-line", dataset: mark ? { tone: mark.tone } : {} });
  element.style.setProperty("--depth", String(depth));
  if (key) element.append(h("span", { class: "insp-json-key" }, JSON.stringify(key)), ": ");
  element.append(...content);
  if (mark) element.append(" ", h("span", { class: "insp-json-mark" }, mark.label));
  return element;
}

/** @returns {(Node | string)[]} */
function scalar(value, end) {
  if (typeof value !== "string") return [h("span", { class: "insp-json-plain" }, JSON.stringify(value) ?? "null"), end];
  const short = abbreviated(value);
  const text = h("span", { class: "insp-json-string", dataset: { prose: isProse(value) } }, JSON.stringify(short));
  return short === value ? [text, end] : [text, end, " ", sizeButton(text, value, short)];
}

function sizeButton(text, value, short) {
  const size = `${value.length.toLocaleString("en")} characters`;
  const button = h("button", { type: "button", class: "insp-json-more", "aria-expanded": "false" }, size);
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    text.textContent = JSON.stringify(isOpen ? short : value);
    button.textContent = isOpen ? size : "Show less";
  });
  return button;
}

function escaped(name) {
  return String(name).replaceAll("~", "~0").replaceAll("/", "~1");
}
