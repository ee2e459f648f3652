/** The list of the timeline. Only the rows that can be seen have elements, whatever the length of the log. */

import { h } from "../dom.js";
import { counted, FAMILIES } from "./events.js";
import { gutter } from "./gutter.js";
import { perFrame } from "./widgets.js";

/** The height of a row in CSS pixels, as in inspector.css. */
const ROW_HEIGHT = 28;
/** Rows beyond the edges that have elements too. */
const MARGIN = 12;

export class EventList {
  #timeline;
  #callbacks;
  #space;
  /** @type {number[]} The positions of the rows that pass the filter. */
  #shown = [];
  #seen = 0;
  #families = new Set(FAMILIES.map(([family]) => family));
  /** @type {Map<number, {element: HTMLElement, state: string}>} */
  #elements = new Map();
  #selected = -1;
  #follows = true;
  /** @type {Map<number, "error" | "warning">} The problems of rows, by position. */
  #problems = new Map();

  /**
   * @param {import("./timeline.js").Timeline} timeline
   * @param {{onselect: (position: number) => void, onopen: () => void, onfollow: (follows: boolean) => void}} callbacks
   */
  constructor(timeline, callbacks) {
    this.#timeline = timeline;
    this.#callbacks = callbacks;
    this.#space = h("div", { class: "insp-rows" });
    this.element = h("div", { class: "insp-list", role: "listbox", "aria-label": "Events", tabindex: "0" }, this.#space);
    this.element.addEventListener("scroll", () => this.#scrolled());
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.element.addEventListener("keydown", (event) => this.#pressed(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  draw = perFrame(() => this.#draw());

  /** Shows another log. */
  reset(timeline) {
    this.#timeline = timeline;
    this.#selected = -1;
    this.#problems.clear();
    this.#forget();
  }

  /** @param {string} family */
  toggle(family) {
    if (!this.#families.delete(family)) this.#families.add(family);
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

  /** Selects a row, and moves it into view; shows its family if it is filtered out. */
  reveal(position) {
    const row = this.#timeline.rows[position];
    if (!row) return;
    this.#catchUp();
    if (!this.#families.has(row.family)) this.toggle(row.family);
    this.#catchUp();
    this.#select(this.#shown.indexOf(position));
  }

  #forget() {
    this.#shown = [];
    this.#seen = 0;
    for (const { element } of this.#elements.values()) element.remove();
    this.#elements.clear();
    this.draw();
  }

  #catchUp() {
    const { rows } = this.#timeline;
    for (; this.#seen < rows.length; this.#seen += 1) {
      if (this.#families.has(rows[this.#seen].family)) this.#shown.push(this.#seen);
    }
  }

  #draw() {
    this.#catchUp();
    const { element } = this;
    this.#space.style.height = `${this.#shown.length * ROW_HEIGHT}px`;
    if (this.#follows) element.scrollTop = element.scrollHeight;
    const first = Math.max(0, Math.floor(element.scrollTop / ROW_HEIGHT) - MARGIN);
    const last = Math.min(this.#shown.length, Math.ceil((element.scrollTop + element.clientHeight) / ROW_HEIGHT) + MARGIN);
    const kept = new Set(this.#shown.slice(first, last));
    for (const [position, { element: old }] of this.#elements) {
      if (!kept.has(position)) {
        old.remove();
        this.#elements.delete(position);
      }
    }
    for (let place = first; place < last; place += 1) this.#place(place);
    this.#markActive();
  }

  #place(place) {
    const position = this.#shown[place];
    const row = this.#timeline.rows[position];
    const problem = this.#problems.get(position) ?? "";
    const state = `${row.count} ${row.lines.map((line) => line.part)} ${problem} ${position === this.#selected}`;
    const held = this.#elements.get(position);
    const element = held?.state === state ? held.element : this.#row(row, position, problem);
    if (held && held.element !== element) held.element.replaceWith(element);
    else if (!held) this.#space.append(element);
    element.style.transform = `translateY(${place * ROW_HEIGHT}px)`;
    element.setAttribute("aria-posinset", String(place + 1));
    element.setAttribute("aria-setsize", String(this.#shown.length));
    this.#elements.set(position, { element, state });
  }

  #row(row, position, problem) {
    const isSelected = position === this.#selected;
    return h(
      "div",
      {
        role: "option",
        id: `insp-row-${position}`,
        class: "insp-row",
        "aria-selected": String(isSelected),
        dataset: { position, family: row.family, problem },
      },
      gutter(row.lines),
      h("span", { class: "insp-type" }, row.type),
      row.count > 1 ? h("span", { class: "insp-count" }, `× ${row.count.toLocaleString("en")}`) : null,
      row.subagent === null ? null : h("span", { class: "insp-chip" }, row.subagent),
      h("span", { class: "insp-summary" }, row.summary),
      problem ? h("span", { class: "insp-problem" }, problem) : null,
      row.isAlone ? h("span", { class: "insp-problem" }, "not open") : null,
      h("span", { class: "insp-time" }, timeOf(row)),
    );
  }

  #markActive() {
    const isDrawn = this.#elements.has(this.#selected);
    if (isDrawn) this.element.setAttribute("aria-activedescendant", `insp-row-${this.#selected}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #scrolled() {
    const { element } = this;
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW_HEIGHT / 2;
    if (atEnd !== this.#follows) {
      this.#follows = atEnd;
      this.#callbacks.onfollow(atEnd);
    }
    this.draw();
  }

  #clicked(event) {
    const row = event.target.closest(".insp-row");
    if (row) this.#select(this.#shown.indexOf(Number(row.dataset.position)));
  }

  #pressed(event) {
    if (event.key === "Enter" && this.#selected >= 0) this.#callbacks.onopen();
    const last = this.#shown.length - 1;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
    const place = this.#shown.indexOf(this.#selected);
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: place + 1,
      ArrowUp: place < 0 ? last : place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: last,
    };
    if (!(event.key in places) || last < 0) return;
    event.preventDefault();
    this.#select(Math.min(last, Math.max(0, places[event.key])));
  }

  #select(place) {
    if (place < 0) return;
    this.#selected = this.#shown[place];
    this.#follows = false;
    this.#callbacks.onfollow(false);
    this.#intoView(place);
    this.draw();
    this.#callbacks.onselect(this.#selected);
  }

  #intoView(place) {
    this.#space.style.height = `${this.#shown.length * ROW_HEIGHT}px`;
    const top = place * ROW_HEIGHT;
    const { element } = this;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + ROW_HEIGHT - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
  }
}

function timeOf(row) {
  return row.duration === null ? `+${secondsText(row.offset)}` : `took ${secondsText(row.duration)}`;
}

/** Returns a duration for people. */
export function secondsText(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Returns the name of a row for people. */
export function rowTitle(row) {
  return row.count === 1 ? `Event ${row.first + 1}` : `Events ${row.first + 1} to ${row.first + row.count}, ${counted(row.count, "delta")}`;
}
