/** Shows one row of the timeline: the text of its deltas, the raw JSON of its events, and its problems. */

import { h } from "../dom.js";
import { rowTitle, secondsText, tookOf } from "./event-row.js";
import { abbreviated, jsonView } from "./json-view.js";
import { copyButton, prose } from "./widgets.js";

/** How much of the text of deltas is shown. */
const MAX_TEXT = 20_000;

export class EventDetail {
  #leave;
  /** @type {import("../session.js").LogEntry[]} */
  #entries = [];
  #current = 0;

  /** @param {() => void} leave Moves the focus back to the list. */
  constructor(leave) {
    this.#leave = leave;
    this.element = h("section", { class: "insp-detail", "aria-label": "Selected event", tabindex: "-1" });
    this.element.hidden = true;
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault(); // it does not stop the run
      this.close();
      this.#leave();
    });
  }

  /**
   * @param {import("./timeline.js").Row} row
   * @param {import("../session.js").LogEntry[]} entries
   * @param {import("./findings-panel.js").Finding[]} findings
   */
  show(row, entries, findings) {
    this.#entries = entries;
    this.#current = 0;
    this.#json = h("div", {});
    this.element.hidden = false;
    this.element.replaceChildren(
      h("div", { class: "insp-detail-head" }, h("h3", {}, row.type), h("span", {}, factsOf(row)), this.#closeButton()),
      ...findings.map(({ severity, message, remedy }) => h("p", { class: "insp-callout", dataset: { severity } }, ...prose(`${message} ${remedy}`))),
      ...(entries.length > 1 ? [textOf(entries), this.#stepper()] : []),
      this.#json,
      copyButton("Copy JSON", () => this.#copied()),
    );
    this.#draw();
    this.element.scrollTop = 0;
  }

  close() {
    this.element.hidden = true;
    this.element.replaceChildren();
    this.#entries = [];
  }

  focus() {
    this.element.focus();
  }

  #json = h("div", {});

  #draw() {
    this.#json.replaceChildren(jsonView(this.#entries[this.#current]?.event));
  }

  /** The events as they came, one per line. */
  #copied() {
    return this.#entries.map(({ raw }) => raw).join("\n");
  }

  #closeButton() {
    const close = () => {
      this.close();
      this.#leave();
    };
    return h("button", { type: "button", class: "insp-button insp-close", "aria-label": "Close the event", onclick: close }, "×");
  }

  #stepper() {
    const place = h("span", { "aria-live": "polite" });
    const step = (distance) => {
      this.#current = Math.min(this.#entries.length - 1, Math.max(0, this.#current + distance));
      place.textContent = `Delta ${this.#current + 1} of ${this.#entries.length}`;
      this.#draw();
    };
    step(0);
    const button = (label, distance) => h("button", { type: "button", class: "insp-button", onclick: () => step(distance) }, label);
    return h("div", { class: "insp-stepper" }, button("Previous", -1), place, button("Next", 1));
  }
}

function factsOf(row) {
  const facts = [rowTitle(row), `+${secondsText(row.offset)}`];
  const took = row.duration ?? tookOf(row);
  if (took !== null) facts.push(`took ${secondsText(took)}`);
  if (row.subagent !== null) facts.push(`subagent ${abbreviated(row.subagent)}`);
  if (row.isAlone) facts.push("nothing like it is open");
  return facts.join(" · ");
}

function textOf(entries) {
  const text = entries.map(({ event }) => (typeof event.delta === "string" ? event.delta : "")).join("");
  return h("pre", { class: "insp-text", tabindex: "0", "aria-label": "Text of the deltas" }, text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
}
