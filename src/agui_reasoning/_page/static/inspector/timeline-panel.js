/** The tab of the timeline: filters, the list of events, and the event that is selected. */

import { h } from "../dom.js";
import { EventDetail } from "./event-detail.js";
import { EventList } from "./event-list.js";
import { counted } from "./events.js";
import { Filter } from "./filter.js";
import { FilterBar } from "./filter-bar.js";
import { Timeline } from "./timeline.js";

const NOTHING = "Ask something, or drop a stored log here. Each event of the run becomes a row.";

export class TimelinePanel {
  #follow;
  #count;
  #bar;
  #list;
  #detail;
  #hint;
  #missing;
  #told;
  #timeline = new Timeline();
  #filter = new Filter();
  #findings = [];
  #session;
  #config;

  /**
   * @param {import("../session.js").Session} session
   * @param {import("../config.js").Config} config
   */
  constructor(session, config) {
    this.#session = session;
    this.#config = config;
    this.#follow = h("input", { type: "checkbox", checked: true });
    this.#follow.addEventListener("change", () => { this.#list.follows = this.#follow.checked; });
    this.#count = h("span", { class: "insp-total" });
    this.#bar = new FilterBar(this.#filter, () => this.#filtered());
    this.#list = new EventList(this.#timeline, this.#filter, () => session.log, {
      onselect: (position) => this.#show(position),
      onopen: () => this.#detail.focus(),
      onfollow: (follows) => { this.#follow.checked = follows; },
    });
    this.#detail = new EventDetail(() => this.#list.element.focus());
    this.#hint = h("p", { class: "insp-empty" }, NOTHING);
    this.#missing = h("p", { class: "insp-missing", hidden: true });
    this.#told = h("span", { class: "insp-offscreen", role: "status" });
    this.element = h("div", { class: "insp-timeline" }, this.#toolbar(), this.#missing, this.#hint, this.#list.element, this.#detail.element);
    this.update();
  }

  /** Shows the events that were added to the log. */
  update() {
    const { log } = this.#session;
    while (this.#timeline.length < log.length) {
      const { event, at } = log[this.#timeline.length];
      this.#timeline.add(event, at);
    }
    this.#list.api = this.#session.isReplay ? null : this.#config.upstream.api;
    this.#hint.hidden = log.length > 0;
    this.#list.element.hidden = log.length === 0;
    this.#tellCount();
    this.#tellMissing();
    this.#list.draw();
  }

  /** Shows another log. */
  reset() {
    this.#timeline = new Timeline();
    this.#findings = [];
    this.element.toggleAttribute("data-untimed", !this.#session.isTimed);
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
   * Selects the row of an event. If the filter hides it, all events are shown.
   *
   * @param {number} index
   */
  reveal(index) {
    const position = this.#timeline.positionOf(index);
    if (!this.#list.shows(position)) this.#bar.clear();
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
    this.#detail.show(row, this.#session.log.slice(row.first, last), findings);
  }

  #toolbar() {
    return h(
      "div", { class: "insp-toolbar" },
      this.#bar.field,
      this.#bar.chips,
      this.#count,
      this.#told,
      h("label", { class: "insp-follow" }, this.#follow, "Follow"),
      h("div", { class: "insp-columns", "aria-hidden": "true" }, h("span", {}, "start"), h("span", {}, "took")),
    );
  }

  #filtered() {
    this.#list.refilter();
    this.#tellCount();
    this.#told.textContent = this.#count.textContent; // the count itself would be read with each event
  }

  #tellCount() {
    const { log } = this.#session;
    const all = counted(log.length, "event");
    this.#count.textContent = this.#filter.isOff ? all : `${this.#list.matched.toLocaleString("en")} of ${all}`;
  }

  /** Says which events are not there although they came. */
  #tellMissing() {
    const { dropped } = this.#session;
    const words = [
      dropped.before ? `${counted(dropped.before, "earlier event")} did not fit into the browser's storage, and ${dropped.before === 1 ? "is" : "are"} gone since the page was reloaded. Next time, save the log first.` : "",
      dropped.after ? `The log is full: ${counted(dropped.after, "later event")} ${dropped.after === 1 ? "is" : "are"} not in it.` : "",
    ].filter(Boolean).join(" ");
    if (this.#missing.textContent === words) return;
    this.#missing.textContent = words;
    this.#missing.hidden = words === "";
  }
}
