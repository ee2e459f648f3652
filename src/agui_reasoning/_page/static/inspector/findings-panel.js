/** The tab of `check`: what is wrong with the stream, while it arrives. */

import { h } from "../dom.js";
import { counted } from "./events.js";
import { checkedStream, isDue, shownFindings, storedStream } from "./checked-stream.js";
import { RuleList } from "./rule-list.js";
import { ask } from "./server.js";
import { chip, disclosure, note, prose } from "./widgets.js";

/**
 * @typedef {object} Finding
 * @property {string} code
 * @property {"error" | "warning"} severity
 * @property {number} index
 * @property {string} message
 * @property {string} remedy
 */

/** How many findings of a group are shown at first. */
const SHOWN = 5;
/** The shortest time between two checks of a run, in milliseconds. */
const PAUSE_MS = 400;

const ABSENT = "The gateway checks streams only if it replays responses. For this stream, save the events and run:";

export class FindingsPanel {
  #session;
  #address;
  #onfindings;
  #onreveal;
  #result = h("div", { class: "insp-result" });
  #rules = new RuleList();
  #checked = { length: 0, isRunning: false };
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
    this.element = h("div", { class: "insp-findings" }, this.#result, this.#rules.element);
    this.#tell(address ? note("Nothing to check yet.") : note(ABSENT, " ", h("code", {}, "agui-reasoning check FILE")));
  }

  /** The tab is shown. */
  show() {
    this.#rules.show();
  }

  /** Checks the log if it has grown enough. */
  async update() {
    const { log, isRunning } = this.#session;
    if (!this.#address || this.#isBusy || !isDue({ length: log.length, isRunning }, this.#checked)) return;
    this.#isBusy = true;
    this.#checked = { length: log.length, isRunning };
    await this.#check(this.#generation);
    setTimeout(() => {
      this.#isBusy = false;
      this.update();
    }, PAUSE_MS);
  }

  /** Forgets what was found in another log. */
  reset() {
    this.#generation += 1;
    this.#checked = { length: 0, isRunning: false };
    this.#onfindings([]);
    this.#rules.found = null;
    if (this.#address) this.#tell(note("Nothing to check yet."));
    this.update();
  }

  async #check(generation) {
    const { log, status, isReplay } = this.#session;
    const length = log.length;
    const { body, places } = isReplay ? storedStream(log) : checkedStream(log, { isStopped: status === "stopped" });
    try {
      const report = await ask(/** @type {string} */ (this.#address), body);
      const found = report.findings.map((finding) => ({ ...finding, index: places[finding.index] ?? length }));
      if (generation === this.#generation) this.#show({ ...report, findings: found }, length);
    } catch (error) {
      if (generation === this.#generation) this.#tell(note(error.message));
    }
  }

  #show({ findings: found, omitted }, length) {
    const { log, isRunning } = this.#session;
    const findings = shownFindings(found, { events: length, isRunning: isRunning || log.length > length });
    const words = findings.length ? counted(findings.length + omitted, "problem") : "no problems found";
    this.#tell(note(`${counted(length, "event")}: ${words}.`), ...grouped(findings).map((group) => this.#group(group, length)));
    if (omitted) this.#result.append(note(`${counted(omitted, "more problem")} not shown.`));
    this.#rules.found = countsOf(findings);
    this.#onfindings(findings);
  }

  #group(findings, events) {
    const [{ code, severity, remedy }] = findings;
    const places = findings.map((finding) => this.#place(finding, events));
    const rest = places.splice(SHOWN);
    return h(
      "article",
      { class: "insp-finding" },
      h("h3", {}, h("code", {}, code), chip(severity, severity === "error" ? "bad" : "warn")),
      ...places,
      rest.length ? disclosure(counted(rest.length, "more"), () => h("div", {}, ...rest)) : null,
      h("p", { class: "insp-remedy" }, ...prose(remedy)),
      disclosure("Why it matters, with an example", () => this.#rules.pageOf(code)),
    );
  }

  #place({ index, message }, events) {
    const words = index < events ? `event ${index + 1}` : "the end";
    const show = () => this.#onreveal(Math.min(index, events - 1));
    const button = h("button", { type: "button", class: "insp-link", "aria-label": `Show ${words}`, onclick: show }, words);
    return h("p", {}, ...prose(message), " ", button);
  }

  #tell(...content) {
    this.#result.replaceChildren(...content);
  }
}

/** @returns {Map<string, number>} How often each code was found. */
function countsOf(findings) {
  const counts = new Map();
  for (const { code } of findings) counts.set(code, (counts.get(code) ?? 0) + 1);
  return counts;
}

/** Groups findings that one change would solve, in order of their first occurrence. */
function grouped(findings) {
  const groups = new Map();
  for (const finding of findings) {
    const key = `${finding.severity} ${finding.code} ${finding.remedy}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}
