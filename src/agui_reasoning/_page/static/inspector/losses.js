/** What front ends of this gateway did not return, thread by thread: a section of the tab of the gateway. */

import { h } from "../dom.js";
import { counted, short } from "./events.js";
import { ask } from "./server.js";
import { note } from "./widgets.js";

/**
 * @typedef {object} Loss
 * @property {string} reason The code in the report of a request.
 * @property {number} count The number of units.
 * @property {string} sentence
 *
 * @typedef {{thread: string, losses: Loss[]}} LossyThread
 */

export class LossesSection {
  #session;
  #address;
  #oncount;

  /**
   * @param {import("../session.js").Session} session
   * @param {string | undefined} address Where the gateway says what was lost, if it tells this page.
   * @param {(threads: number) => void} oncount
   */
  constructor(session, address, oncount) {
    this.#session = session;
    this.#address = address;
    this.#oncount = oncount;
    this.element = h("section", { class: "insp-losses", "aria-label": "Reasoning that did not come back" });
  }

  /** Asks again when a run has ended. */
  changed() {
    if (this.#session.status === "finished") this.show();
  }

  async show() {
    if (!this.#address) return;
    try {
      const { threads } = await ask(this.#address, "{}");
      this.#oncount(threads.length);
      this.element.replaceChildren(...this.#content(threads));
    } catch (error) {
      this.element.replaceChildren(note(error.message));
    }
  }

  /** @param {LossyThread[]} threads */
  #content(threads) {
    if (threads.length === 0) return [];
    return [
      h("h3", {}, "Reasoning that did not come back"),
      note("Front ends returned it in another form than it was sent, so it is missing in the requests of these threads."),
      h("dl", { class: "insp-facts" }, ...threads.flatMap((lost) => this.#thread(lost))),
    ];
  }

  #thread({ thread, losses }) {
    const isOwn = thread === this.#session.conversation.threadId;
    return [
      h("dt", { title: thread }, isOwn ? "This thread" : h("code", {}, short(thread))),
      ...losses.map(({ reason, count, sentence }) =>
        h("dd", {}, `${counted(count, "unit")}: ${sentence} (`, h("code", {}, reason), ").")),
    ];
  }
}
