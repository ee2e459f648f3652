/** The list of the timeline. Only the rows that can be seen have elements, whatever the length of the log. */

import { h } from "../dom.js";
import { eventRow, levelOf, placeBar, stateOf } from "./event-row.js";
import { ShownRows } from "./shown-rows.js";
import { perFrame } from "./widgets.js";

/** Units beyond the edges whose rows have elements too. */
const MARGIN = 12;

export class EventList {
  #timeline;
  #filter;
  #log;
  #callbacks;
  #space;
  #shown;
  /** @type {Map<number, {element: HTMLElement, state: string}>} */
  #elements = new Map();
  #selected = -1;
  #follows = true;
  /** The height of a row and of its first line, in CSS pixels: they depend on the width of the list and on the size of text. */
  #unit = 28;
  #line = 28;
  /** @type {Map<number, "error" | "warning">} The problems of rows, by position. */
  #problems = new Map();
  /** @type {string | null} The API behind the gateway, if the events are its own. */
  api = null;

  /**
   * @param {import("./timeline.js").Timeline} timeline
   * @param {import("./filter.js").Filter} filter
   * @param {() => import("../session.js").LogEntry[]} log
   * @param {{onselect: (position: number) => void, onopen: () => void, onfollow: (follows: boolean) => void}} callbacks
   */
  constructor(timeline, filter, log, callbacks) {
    this.#timeline = timeline;
    this.#filter = filter;
    this.#log = log;
    this.#callbacks = callbacks;
    this.#shown = new ShownRows(timeline, filter, log);
    this.#space = h("div", { class: "insp-rows" });
    this.element = h("div", { class: "insp-list", role: "tree", "aria-label": "Events", tabindex: "0" }, this.#space);
    this.element.addEventListener("scroll", () => this.#scrolled());
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.element.addEventListener("keydown", (event) => this.#pressed(event));
    new ResizeObserver(() => this.#resized()).observe(this.element);
  }

  draw = perFrame(() => this.#draw());

  /** The number of events in the rows that pass the filter. */
  get matched() {
    this.#shown.catchUp();
    return this.#shown.matched;
  }

  /** Shows another log. */
  reset(timeline) {
    this.#timeline = timeline;
    this.#selected = -1;
    this.#problems.clear();
    this.refilter();
  }

  /** Shows the rows that pass the filter, which has changed. */
  refilter() {
    this.#shown = new ShownRows(this.#timeline, this.#filter, this.#log);
    this.#forget();
  }

  set follows(follows) {
    this.#follows = follows;
    if (follows) this.draw();
  }

  /** @param {Map<number, "error" | "warning">} problems */
  set problems(problems) {
    this.#problems = problems;
    this.draw();
  }

  /** @param {number} position */
  shows(position) {
    this.#shown.catchUp();
    return this.#shown.placeOf(position) >= 0;
  }

  /** Selects a row, and moves it into view. */
  reveal(position) {
    if (this.shows(position)) this.#select(this.#shown.placeOf(position));
  }

  #forget() {
    for (const { element } of this.#elements.values()) element.remove();
    this.#elements.clear();
    this.draw();
  }

  #resized() {
    const { lineHeight, minHeight } = getComputedStyle(this.#space); // what inspector.css says, in pixels
    const [unit, line] = [lineHeight, minHeight].map(parseFloat);
    if (unit !== this.#unit || line !== this.#line) {
      [this.#unit, this.#line] = [unit, line];
      this.#forget();
    }
    const place = this.#shown.placeOf(this.#selected);
    if (place >= 0) this.#intoView(place);
    this.draw();
  }

  #draw() {
    const shown = this.#shown;
    shown.catchUp();
    const { element } = this;
    this.#space.style.height = `${shown.units * this.#unit}px`;
    if (this.#follows) element.scrollTop = element.scrollHeight;
    const top = element.scrollTop / this.#unit;
    const first = shown.placeAt(top - MARGIN);
    const last = Math.min(shown.length, shown.placeAt(top + element.clientHeight / this.#unit + MARGIN) + 1);
    this.#keep(first, last);
    for (let place = first; place < last; place += 1) this.#place(place);
    this.#markActive();
  }

  /** Removes the elements of the rows that cannot be seen. */
  #keep(first, last) {
    for (const [position, { element }] of this.#elements) {
      const place = this.#shown.placeOf(position);
      if (place >= first && place < last) continue;
      element.remove();
      this.#elements.delete(position);
    }
  }

  #place(place) {
    const position = this.#shown.positionAt(place);
    const row = this.#timeline.rows[position];
    const look = this.#lookOf(row, position, place);
    const state = stateOf(row, look);
    const held = this.#elements.get(position);
    const element = held?.state === state ? held.element : eventRow(row, look);
    if (held && held.element !== element) held.element.replaceWith(element);
    else if (!held) this.#space.append(element);
    element.style.transform = `translateY(${this.#shown.topOf(place) * this.#unit}px)`;
    // Only some rows have elements, so the place among all of them is told, not that among siblings.
    element.setAttribute("aria-posinset", String(place + 1));
    element.setAttribute("aria-setsize", String(this.#shown.length));
    placeBar(element, row);
    this.#elements.set(position, { element, state });
  }

  #lookOf(row, position, place) {
    return {
      position,
      isHead: row.head === position,
      isSelected: position === this.#selected,
      problem: this.#problems.get(position) ?? "",
      api: this.api,
      middle: this.#line / 2,
      height: this.#shown.unitsOf(place) * this.#unit,
    };
  }

  #markActive() {
    const isDrawn = this.#elements.has(this.#selected);
    if (isDrawn) this.element.setAttribute("aria-activedescendant", `insp-row-${this.#selected}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #scrolled() {
    const { element } = this;
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - this.#unit / 2;
    if (atEnd !== this.#follows) {
      this.#follows = atEnd;
      this.#callbacks.onfollow(atEnd);
    }
    this.draw();
  }

  #clicked(event) {
    const row = event.target.closest(".insp-row");
    if (row) this.#select(this.#shown.placeOf(Number(row.dataset.position)));
  }

  #pressed(event) {
    if (event.key === "Enter" && this.#selected >= 0) this.#callbacks.onopen();
    const last = this.#shown.length - 1;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#unit) - 1);
    const place = this.#shown.placeOf(this.#selected);
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: place + 1,
      ArrowUp: place < 0 ? last : place - 1,
      ArrowLeft: this.#outside(place),
      ArrowRight: this.#inside(place),
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: last,
    };
    if (!(event.key in places) || last < 0) return;
    event.preventDefault();
    this.#select(Math.min(last, Math.max(0, places[event.key])));
  }

  /** Returns the place of the row that a row is in: the start of the innermost pair around it. */
  #outside(place) {
    const level = this.#levelAt(place);
    let outer = place;
    while (outer > 0 && this.#levelAt(outer) >= level) outer -= 1;
    return this.#levelAt(outer) < level ? outer : place;
  }

  /** Returns the place of the first row that a row contains. */
  #inside(place) {
    return this.#levelAt(place + 1) > this.#levelAt(place) ? place + 1 : place;
  }

  #levelAt(place) {
    const row = this.#timeline.rows[this.#shown.positionAt(place)];
    return row ? levelOf(row) : 0;
  }

  #select(place) {
    if (place < 0) return;
    this.#selected = this.#shown.positionAt(place);
    this.#follows = false;
    this.#callbacks.onfollow(false);
    this.#intoView(place);
    this.draw();
    this.#callbacks.onselect(this.#selected);
  }

  #intoView(place) {
    this.#space.style.height = `${this.#shown.units * this.#unit}px`;
    const top = this.#shown.topOf(place) * this.#unit;
    const { element } = this;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + this.#shown.unitsOf(place) * this.#unit - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
  }
}
