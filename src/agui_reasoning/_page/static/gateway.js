/** What the page asks its gateway about runs. */

import { PROTOCOL_VERSION } from "./conversation.js";

/** The gateway refused a request. */
export class RefusedError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export class Gateway {
  #config;
  #fetch;

  /**
   * @param {import("./config.js").Config} config
   * @param {typeof fetch} fetch
   */
  constructor(config, fetch) {
    this.#config = config;
    this.#fetch = fetch;
  }

  /** Whether runs go on without this page, so that it can join and must stop them. */
  get keepsRuns() {
    return Boolean(this.#config.runs);
  }

  /**
   * Starts a run.
   *
   * @param {object} input A RunAgentInput.
   * @param {AbortSignal} signal
   * @returns {Promise<Response>} The stream of its events.
   */
  run(input, signal) {
    return this.#post(this.#config.endpoint, input, signal);
  }

  /**
   * Joins the newest run of a thread.
   *
   * @param {string} threadId
   * @param {AbortSignal} signal
   * @returns {Promise<Response>} What the thread holds, and the rest of the run.
   */
  join(threadId, signal) {
    return this.#post(this.#config.runs.connect, { threadId, protocolVersion: PROTOCOL_VERSION }, signal);
  }

  /**
   * Stops the run of a thread.
   *
   * @param {string} threadId
   * @returns {Promise<boolean>} Whether one was running.
   */
  async stop(threadId) {
    const response = await this.#post(this.#config.runs.stop, { threadId });
    return (await response.json()).stopped === true;
  }

  async #post(address, body, signal = undefined) {
    const response = await this.#fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(body),
      cache: "no-store",
      signal,
    });
    if (!response.ok) throw await refusalOf(response);
    return response;
  }
}

/** @param {Response} response */
async function refusalOf(response) {
  const { error } = await response.json().catch(() => ({}));
  const code = typeof error?.code === "string" ? error.code : `http_${response.status}`;
  const message = typeof error?.message === "string" ? error.message : `The gateway answered with status ${response.status}.`;
  return new RefusedError(code, message);
}
