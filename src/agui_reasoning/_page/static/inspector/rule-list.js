/** What `check` looks for: the rules, whether they hold, and the page of each. */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { counted } from "./events.js";
import { disclosure, prose } from "./widgets.js";

/**
 * @typedef {[kind: string, text: string]} Piece A piece of a page: a title, a heading, a text or code.
 * @typedef {{code: string, severity: "error" | "warning", means: string, page: Piece[]}} Rule
 */

const GROUPS = /** @type {const} */ ([
  ["error", "What breaks the protocol"],
  ["warning", "What is valid, and loses something in real clients"],
]);

export class RuleList {
  /** @type {Rule[] | null} */
  #rules = null;
  #isAsked = false;
  /** @type {Map<string, number> | null} How often each rule is broken; `null` if nothing was checked. */
  #found = null;

  constructor() {
    this.element = h("section", { class: "insp-rules", "aria-label": "Rules" });
  }

  /** Asks for the rules, once. */
  async show() {
    if (this.#isAsked) return;
    this.#isAsked = true;
    try {
      const response = await fetch("_page/findings.json");
      if (response.ok) this.#rules = await response.json();
    } catch {
      this.#isAsked = false; // maybe next time
    }
    this.#draw();
  }

  /** @param {Map<string, number> | null} found */
  set found(found) {
    const before = JSON.stringify([...(this.#found ?? ["none"])]);
    this.#found = found;
    if (before !== JSON.stringify([...(found ?? ["none"])])) this.#draw();
  }

  /**
   * Returns what the page of a rule says; empty as long as it is not there.
   *
   * @param {string} code
   */
  pageOf(code) {
    const rule = this.#rules?.find((one) => one.code === code);
    return h("div", { class: "insp-page" }, ...(rule ? piecesOf(rule.page) : []));
  }

  #draw() {
    if (!this.#rules) return;
    const groups = GROUPS.map(([severity, title]) => {
      const rules = this.#rules.filter((rule) => rule.severity === severity);
      return [h("h3", {}, title), h("ul", {}, ...rules.map((rule) => h("li", {}, this.#line(rule))))];
    });
    this.element.replaceChildren(...groups.flat());
  }

  #line({ code, severity, means, page }) {
    const count = this.#found?.get(code) ?? 0;
    const [tone, name, words] = this.#found === null ? ["neutral", "rule", "Not checked: "] : count ? [severity === "error" ? "bad" : "warn", "alert", `Found ${counted(count, "time")}: `] : ["good", "check", "Holds: "];
    const summary = h("span", { dataset: { tone } }, icon(name), h("span", { class: "insp-offscreen" }, words), h("code", {}, code), " ", h("span", {}, ...prose(means)));
    return disclosure(summary, () => h("div", { class: "insp-page" }, ...piecesOf(page)));
  }
}

/** @param {Piece[]} pieces */
function piecesOf(pieces) {
  const shown = pieces.filter(([kind]) => kind !== "title");
  return shown.map(([kind, text]) => {
    if (kind === "heading") return h("h4", {}, text);
    if (kind === "code") return h("pre", { class: "insp-text", tabindex: "0" }, h("code", {}, text));
    return h("p", {}, ...prose(text));
  });
}
