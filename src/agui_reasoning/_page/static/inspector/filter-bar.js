/** The controls of a filter: a field for words, and a button for each family. */

import { h } from "../dom.js";
import { FAMILIES } from "./events.js";

/** How long the field waits for more words, in milliseconds: a search reads the whole log. */
const PAUSE_MS = 120;

export class FilterBar {
  #filter;
  #onchange;
  #buttons;
  #timer = 0;

  /**
   * @param {import("./filter.js").Filter} filter
   * @param {() => void} onchange Called when the filter has changed.
   */
  constructor(filter, onchange) {
    this.#filter = filter;
    this.#onchange = onchange;
    this.field = h("input", { type: "search", class: "insp-search", placeholder: "Filter by type or text", "aria-label": "Filter events by type or text", autocomplete: "off", spellcheck: "false" });
    this.field.addEventListener("input", () => this.#typed());
    this.field.addEventListener("keydown", (event) => this.#pressed(event));
    const all = this.#button("", "All", "Show all events", () => filter.showAll());
    this.#buttons = [all, ...FAMILIES.map(([family, label]) => this.#button(family, label, `Only ${label.toLowerCase()}; with Ctrl or ⌘, add it`, (adds) => (adds ? filter.toggle(family) : filter.only(family))))];
    this.chips = h("div", { class: "insp-filters", role: "group", "aria-label": "Show events of" }, ...this.#buttons);
    this.#mark();
  }

  /** Shows all events again. */
  clear() {
    this.field.value = "";
    this.#filter.words = "";
    this.#filter.showAll();
    this.#changed();
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#filter.words = this.field.value;
      this.#changed();
    }, PAUSE_MS);
  }

  /** Escape empties the field, and does not stop the run then. */
  #pressed(event) {
    if (event.key !== "Escape" || event.isComposing || !this.field.value) return;
    event.preventDefault();
    this.field.value = "";
    this.#typed();
  }

  #button(family, label, title, choose) {
    const button = h("button", { type: "button", class: "insp-filter", title, dataset: { family } }, label);
    const chosen = (event) => {
      event.preventDefault();
      choose(event.ctrlKey || event.metaKey);
      this.#changed();
    };
    button.addEventListener("click", chosen);
    button.addEventListener("keydown", (event) => {
      const adds = event.ctrlKey || event.metaKey; // not every browser makes a click of these
      if (adds && ["Enter", " "].includes(event.key)) chosen(event);
    });
    return button;
  }

  #changed() {
    this.#mark();
    this.#onchange();
  }

  #mark() {
    const { families } = this.#filter;
    for (const button of this.#buttons) {
      const { family } = button.dataset;
      button.setAttribute("aria-pressed", String(family ? families.has(family) : families.size === 0));
    }
  }
}
