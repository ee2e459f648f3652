/** Tabs, as described in the ARIA Authoring Practices: arrow keys move between them, and focus selects. */

import { h } from "../dom.js";

/** @type {Record<string, (index: number, count: number) => number>} */
const MOVES = {
  ArrowRight: (index, count) => (index + 1) % count,
  ArrowLeft: (index, count) => (index + count - 1) % count,
  Home: () => 0,
  End: (index, count) => count - 1,
};

/**
 * @typedef {object} Tab
 * @property {string} id
 * @property {string} label
 * @property {HTMLElement} content
 * @property {() => void} [onshow] Called when the tab is selected.
 */

export class Tabs {
  #tabs;
  #buttons;
  #panels;
  #selected = "";

  /**
   * @param {string} label
   * @param {Tab[]} tabs
   */
  constructor(label, tabs) {
    this.#tabs = tabs;
    this.#buttons = tabs.map((tab) => this.#button(tab));
    this.#panels = tabs.map(panelOf);
    const list = h("div", { role: "tablist", "aria-label": label, class: "insp-tabs" }, ...this.#buttons);
    list.addEventListener("keydown", (event) => this.#move(event));
    this.bar = h("div", { class: "insp-tab-bar" }, list);
    this.element = h("div", { class: "insp-tabbed" }, this.bar, ...this.#panels);
    this.select(tabs[0].id);
  }

  get selected() {
    return this.#selected;
  }

  /**
   * @param {string} id
   * @param {{moves?: boolean}} [options] Whether the focus moves to the tab.
   */
  select(id, { moves = false } = {}) {
    this.#selected = id;
    this.#tabs.forEach((tab, index) => {
      const isSelected = tab.id === id;
      this.#buttons[index].setAttribute("aria-selected", String(isSelected));
      this.#buttons[index].tabIndex = isSelected ? 0 : -1;
      this.#panels[index].hidden = !isSelected;
      if (isSelected && moves) this.#buttons[index].focus();
      if (isSelected) tab.onshow?.();
    });
  }

  /**
   * Shows a number beside the label of a tab.
   *
   * @param {string} id
   * @param {{text: string, meaning: string, tone: string} | null} badge
   */
  setBadge(id, badge) {
    const index = this.#tabs.findIndex((tab) => tab.id === id);
    const { label } = this.#tabs[index];
    this.#buttons[index].replaceChildren(label);
    if (!badge) return;
    this.#buttons[index].append(
      h("span", { class: "insp-badge", dataset: { tone: badge.tone }, "aria-hidden": "true" }, badge.text),
      h("span", { class: "insp-offscreen" }, badge.meaning),
    );
  }

  #button({ id, label }) {
    const properties = { type: "button", role: "tab", id: `insp-tab-${id}`, "aria-controls": `insp-panel-${id}` };
    return h("button", { ...properties, class: "insp-tab", onclick: () => this.select(id) }, label);
  }

  #move(event) {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const index = this.#tabs.findIndex((tab) => tab.id === this.#selected);
    const next = move(index, this.#tabs.length);
    this.select(this.#tabs[next].id);
    this.#buttons[next].focus();
  }
}

function panelOf({ id, content }) {
  const properties = { role: "tabpanel", id: `insp-panel-${id}`, "aria-labelledby": `insp-tab-${id}`, tabindex: "0" };
  return h("div", { ...properties, class: "insp-panel" }, content);
}
