/** The tab of `check`: what is wrong with the stream, while it arrives. */

import { h } from "../dom.js";
import { counted } from "./events.js";
import { isDue, shownFindings } from "./schedule.js";
import { ask } from "./server.js";
import { chip, note } from "./widgets.js";

/**
 * @typedef {object} Finding
 * @property {string} code
 * @property {"error" | "warning"} severity
 * @property {number} index
 * @property {string} message
 * @property {string} remedy
 * @property {string} page The page of the documentation.
 */

/** The shortest time between two checks of a run, in milliseconds. */
const PAUSE_MS = 400;

const ABSENT = "The gateway checks streams only if it replays responses. For this stream, save the events and run:";

export class FindingsPanel {
  #checked = 0;
  #isBusy = false;
  #generation = 0;

  /**
   * @param {import("../session.js").Session} session
   * @param {string | undefined} address Where streams are checked, if the gateway does.
   * @param {{onfindings: (findings: Finding[]) => void, onreveal: (index: number) => void}} callbacks
   */
  constructor(session, address, { onfindings, onreveal }) {
    this.#session = session;
    this.#address = address;
    this.#onfindings = onfindings;
    this.#onreveal = onreveal;
    this.element = h("div", { class: "insp-findings" });
    this.#tell(address ? note("Nothing to check yet.") : note(ABSENT, " ", h("code", {}, "agui-reasoning check FILE")));
  }

  #session;
  #address;
  #onfindings;
  #onreveal;

  /** Checks the log if it has grown enough. */
  async update() {
    const { log, isRunning } = this.#session;
    if (!this.#address || this.#isBusy || !isDue({ length: log.length, checked: this.#checked, isRunning })) return;
    this.#isBusy = true;
    this.#checked = log.length;
    await this.#check(log.map(({ raw }) => raw), this.#generation);
    setTimeout(() => {
      this.#isBusy = false;
      this.update();
    }, PAUSE_MS);
  }

  /** Forgets what was found in another log. */
  reset() {
    this.#generation += 1;
    this.#checked = 0;
    this.#onfindings([]);
    if (this.#address) this.#tell(note("Nothing to check yet."));
    this.update();
  }

  async #check(raw, generation) {
    try {
      const report = await ask(/** @type {string} */ (this.#address), `[${raw.join(",")}]`);
      if (generation === this.#generation) this.#show(report);
    } catch (error) {
      if (generation === this.#generation) this.#tell(note(error.message));
    }
  }

  #show(report) {
    const { log, isRunning } = this.#session;
    const findings = shownFindings(report.findings, { events: report.events, isRunning: isRunning || log.length > report.events });
    const words = findings.length ? counted(findings.length + report.omitted, "problem") : "no problems found";
    this.#tell(note(`${counted(report.events, "event")}: ${words}.`), ...findings.map((finding) => this.#finding(finding, report.events)));
    if (report.omitted) this.element.append(note(`${counted(report.omitted, "more problem")} not shown.`));
    this.#onfindings(findings);
  }

  #finding(finding, events) {
    const isEnd = finding.index >= events;
    const place = isEnd ? "end of the stream" : `event ${finding.index + 1}`;
    const show = () => this.#onreveal(Math.min(finding.index, events - 1));
    return h(
      "article",
      { class: "insp-finding", dataset: { severity: finding.severity } },
      h("h3", {}, h("code", {}, finding.code), chip(finding.severity, finding.severity === "error" ? "bad" : "warn")),
      h("p", {}, finding.message),
      h("p", { class: "insp-remedy" }, finding.remedy),
      h("p", { class: "insp-links" }, h("button", { type: "button", class: "insp-link", onclick: show }, `Show ${place}`), pageOf(finding)),
    );
  }

  #tell(...content) {
    this.element.replaceChildren(...content);
  }
}

function pageOf({ page }) {
  return h("span", {}, "Read ", h("code", {}, `docs/${page}.md`));
}
