/** Which rows of the timeline are shown: families, and words that their events contain. */

import { FAMILIES } from "./events.js";

export class Filter {
  /** @type {Set<string>} The families that are shown; all if there are none. */
  families = new Set();
  #words = "";
  /** @type {RegExp | null} */
  #pattern = null;

  get words() {
    return this.#words;
  }

  set words(words) {
    this.#words = words.trim();
    const escaped = this.#words.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
    this.#pattern = escaped ? new RegExp(escaped, "i") : null;
  }

  get isOff() {
    return this.families.size === 0 && this.#pattern === null;
  }

  /**
   * Shows one family only; all of them if only this one is shown already.
   *
   * @param {string} family
   */
  only(family) {
    const isOnly = this.families.size === 1 && this.families.has(family);
    this.families = new Set(isOnly ? [] : [family]);
  }

  /**
   * Adds a family to those that are shown, or takes it away.
   *
   * @param {string} family
   */
  toggle(family) {
    if (!this.families.delete(family)) this.families.add(family);
    if (this.families.size === FAMILIES.length) this.families.clear();
  }

  showAll() {
    this.families.clear();
  }

  /** @param {string} family */
  shows(family) {
    return this.families.size === 0 || this.families.has(family);
  }

  /**
   * Returns whether a row is shown.
   *
   * @param {import("./timeline.js").Row} row
   * @param {import("../session.js").LogEntry[]} log
   * @param {number} [from] The first event of the row to look at: what came before is known not to contain the words.
   */
  passes(row, log, from = row.first) {
    if (!this.shows(row.family)) return false;
    if (this.#pattern === null || this.#pattern.test(row.type)) return true;
    // Words can begin in one delta and end in a later one, and no delta that counts is empty.
    const first = Math.max(row.first, from - this.#words.length);
    const entries = log.slice(first, row.first + row.count);
    if (entries.some(({ raw }) => this.#pattern.test(raw))) return true;
    return this.#pattern.test(entries.map(({ event }) => (typeof event.delta === "string" ? event.delta : "")).join(""));
  }
}
