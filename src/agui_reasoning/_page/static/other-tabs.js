/**
 * Tells the other tabs of a page that a run started: those that show the same thread can join it.
 *
 * @typedef {{threadId: string, runId: string}} StartedRun
 */

const NAME = "agui-reasoning:runs:";

export class OtherTabs {
  #channel;

  /** @param {string} [page] The page: gateways have threads of their own. */
  constructor(page = globalThis.location?.pathname ?? "/") {
    this.#channel = new BroadcastChannel(NAME + page);
  }

  /** @param {StartedRun} run A run that this tab started. */
  tell(run) {
    this.#channel.postMessage(run);
  }

  /** @param {(run: StartedRun) => void} hear Gets the runs that other tabs start. */
  listen(hear) {
    this.#channel.addEventListener("message", ({ data }) => hear(data));
  }
}
