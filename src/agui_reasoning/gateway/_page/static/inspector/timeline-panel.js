/** The tab of the timeline: filters, the list of events, and the event that is selected. */

import { h } from "../dom.js";
import { EventDetail } from "./event-detail.js";
import { EventList } from "./event-list.js";
import { counted, FAMILIES } from "./events.js";
import { Timeline } from "./timeline.js";

export class TimelinePanel {
  #follow;
  #count;
  #list;
  #detail;
  #hint;
  #timeline = new Timeline();
  #findings = [];
  #log;

  /** @param {() => import("../session.js").LogEntry[]} log Returns the current log. */
  constructor(log) {
    this.#log = log;
    this.#follow = h("input", { type: "checkbox", checked: true });
    this.#follow.addEventListener("change", () => { this.#list.follows = this.#follow.checked; });
    this.#count = h("span", { class: "insp-total" });
    this.#list = new EventList(this.#timeline, {
      onselect: (position) => this.#show(position),
      onopen: () => this.#detail.focus(),
      onfollow: (follows) => { this.#follow.checked = follows; },
    });
    this.#detail = new EventDetail(() => this.#list.element.focus());
    this.#hint = h("p", { class: "insp-empty" }, "Ask something, or drop a stored log here. Each event of the run becomes a row.");
    const toolbar = h("div", { class: "insp-toolbar" }, this.#filters(), this.#count, h("label", { class: "insp-follow" }, this.#follow, "Follow"));
    this.element = h("div", { class: "insp-timeline" }, toolbar, this.#hint, this.#list.element, this.#detail.element);
    this.update();
  }

  /** Shows the events that were added to the log. */
  update() {
    const log = this.#log();
    while (this.#timeline.length < log.length) {
      const { event, at } = log[this.#timeline.length];
      this.#timeline.add(event, at);
    }
    this.#hint.hidden = log.length > 0;
    this.#list.element.hidden = log.length === 0;
    this.#count.textContent = counted(log.length, "event");
    this.#list.draw();
  }

  /** Shows another log. */
  reset() {
    this.#timeline = new Timeline();
    this.#findings = [];
    this.#list.reset(this.#timeline);
    this.#list.follows = this.#follow.checked = true;
    this.#detail.close();
    this.update();
  }

  /** @param {import("./findings-panel.js").Finding[]} findings */
  set findings(findings) {
    this.#findings = findings;
    const problems = new Map();
    for (const { index, severity } of findings) {
      const position = this.#timeline.positionOf(index);
      if (problems.get(position) !== "error") problems.set(position, severity);
    }
    this.#list.problems = problems;
  }

  /**
   * Selects the row of an event.
   *
   * @param {number} index
   */
  reveal(index) {
    const position = this.#timeline.positionOf(index);
    this.#list.reveal(position);
    this.#list.element.focus();
  }

  draw() {
    this.#list.draw();
  }

  #show(position) {
    const row = this.#timeline.rows[position];
    const last = row.first + row.count;
    const isLast = position === this.#timeline.rows.length - 1;
    const findings = this.#findings.filter(({ index }) => index >= row.first && (index < last || isLast));
    this.#detail.show(row, this.#log().slice(row.first, last), findings);
  }

  #filters() {
    const buttons = FAMILIES.map(([family, label]) => {
      const button = h("button", { type: "button", class: "insp-filter", "aria-pressed": "true", dataset: { family } }, label);
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        this.#list.toggle(family);
      });
      return button;
    });
    return h("div", { class: "insp-filters", role: "group", "aria-label": "Show events of" }, ...buttons);
  }
}
