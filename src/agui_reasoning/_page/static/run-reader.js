/** Reads a run to its end, over as many connections as that takes. */

import { RefusedError } from "./gateway.js";
import { readEvents, StreamError } from "./sse.js";

/** How long the network gets to come back, in milliseconds. */
const PAUSE_MS = 1000;

/** A connection that lasted so long was no failed attempt to join, in milliseconds: it is followed by another one. */
const LASTING_MS = 5000;

const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);

/** The connection ended before the run did. */
export class CutError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The codes of runs that were cut, and may go on. */
export const CUT_CODES = new Set(["unreachable", "truncated_stream"]);

export const unreachable = () => new CutError("unreachable", "The gateway cannot be reached, or the connection was lost.");
const truncated = () => new CutError("truncated_stream", "The connection ended before the answer was complete. What arrived is kept.");

/** The gateway does not know the run. */
export class NothingToJoin extends Error {}

export class RunReader {
  #gateway;
  #threadId;
  #isOurs;
  #signal;
  #isEnded = false;
  /** Called when the first connection is open, or failed. */
  #opened = () => {};
  #whenOpened = new Promise((resolve) => (this.#opened = resolve));

  /**
   * @param {import("./gateway.js").Gateway} gateway
   * @param {string} threadId
   * @param {(started: import("./conversation.js").AGUIEvent) => boolean} isOurs Whether the run that a RUN_STARTED names is
   *   wanted: the newest run of the thread can be an older one.
   * @param {AbortSignal} signal
   */
  constructor(gateway, threadId, isOurs, signal) {
    this.#gateway = gateway;
    this.#threadId = threadId;
    this.#isOurs = isOurs;
    this.#signal = signal;
  }

  /**
   * Starts a run.
   *
   * @param {object} input
   * @throws {CutError} It was cut, and could not be joined.
   */
  start(input) {
    return this.#read(async () => readEvents(await this.#gateway.run(input, this.#signal)));
  }

  /**
   * Joins a run.
   *
   * @throws {NothingToJoin} The gateway does not know the run.
   * @throws {CutError} It was cut, and could not be joined again.
   */
  join() {
    return this.#read(() => this.#joined());
  }

  /**
   * Stops the run.
   *
   * @returns {Promise<boolean>} Whether its end will be read; else there is no run, or no connection.
   */
  async stop() {
    const stopped = () => this.#gateway.stop(this.#threadId).catch(() => false);
    if (await stopped()) return true;
    await this.#whenOpened; // before its response, the gateway does not know the run
    return !this.#isEnded && stopped();
  }

  async *#read(open) {
    /** @type {CutError | null} */
    let cut = null;
    for (;;) {
      const since = Date.now();
      try {
        yield* this.#whole(await open().finally(this.#opened));
        return;
      } catch (error) {
        const next = this.#signal.aborted || this.#isEnded ? null : cutOf(error);
        if (cut && Date.now() - since < LASTING_MS) throw next ?? cut;
        if (!next || !this.#gateway.keepsRuns) throw next ?? error;
        cut = next;
      }
      await pause(this.#signal);
      open = () => this.#joined();
    }
  }

  /** Yields the events of a connection, which has to end with the run. */
  async *#whole(events) {
    for await (const item of events) {
      this.#isEnded ||= ENDS.has(item.event.type);
      yield item;
    }
    if (!this.#isEnded) throw truncated();
  }

  /** @returns {Promise<AsyncGenerator<{event: import("./conversation.js").AGUIEvent, raw: string}>>} */
  async #joined() {
    const response = await this.#gateway.join(this.#threadId, this.#signal).catch((error) => {
      throw error instanceof RefusedError && error.code === "unknown_thread" ? new NothingToJoin() : error;
    });
    return this.#ours(readEvents(response));
  }

  async *#ours(events) {
    for await (const item of events) {
      if (item.event.type === "RUN_STARTED" && !this.#isOurs(item.event)) throw new NothingToJoin();
      yield item;
    }
  }
}

/** @returns {CutError | null} */
function cutOf(error) {
  if (error instanceof CutError) return error;
  const isAnswer = [RefusedError, StreamError, NothingToJoin].some((kind) => error instanceof kind);
  return isAnswer ? null : unreachable();
}

/** @param {AbortSignal} signal */
function pause(signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
    signal.addEventListener("abort", resolve, { once: true });
  });
}
