/**
 * Keeps one thread per page and tab in the browser's storage. It survives a reload, and ends with the tab: other tabs do
 * not overwrite it, and whoever opens the page next does not see it.
 */

const PREFIX = "agui-reasoning:thread:";
const LOG_SUFFIX = ":log";

/** The limit for the stored events, in characters. Browsers have room for a few million per address and tab. */
const MAX_LOG = 1_000_000;

/**
 * @typedef {object} StoredThread
 * @property {string} threadId
 * @property {import("./conversation.js").Message[]} messages
 * @property {unknown} state
 * @property {[string, number][]} durations
 * @property {import("./conversation.js").RunStatus} status
 * @property {import("./conversation.js").RunFailure | null} failure
 * @property {[string, import("./endings.js").Ending][]} endings How runs ended that may not be complete, by the question's ID.
 * @property {[string, boolean][]} disclosed The reasoning that the user opened or folded, by the ID of its first message.
 * @property {string[]} pendingToolCallIds The calls that wait for a result.
 * @property {import("./questions.js").Interrupt[]} interrupts What the last run asks.
 * @property {import("./questions.js").Answer[]} answers The user's answers.
 * @property {string | undefined} resumedAfter The last message before the run that answers.
 * @property {{id: string, isStarted: boolean} | null} run The last run.
 * @property {number} events How many events came: the log may lack some.
 * @property {import("./session.js").LogEntry[]} log
 */

export class ThreadStore {
  /**
   * @param {Storage | null} [storage]
   * @param {string} [page] The page that the thread belongs to.
   */
  constructor(storage = sessionStorageOrNull(), page = globalThis.location?.pathname ?? "/") {
    this.storage = storage;
    this.key = PREFIX + page;
    this.logKey = this.key + LOG_SUFFIX;
  }

  /** @returns {StoredThread | null} */
  load() {
    try {
      const stored = JSON.parse(this.storage?.getItem(this.key) ?? "null");
      if (!stored || typeof stored.threadId !== "string" || !Array.isArray(stored.messages)) return null;
      const log = JSON.parse(this.storage?.getItem(this.logKey) ?? "[]");
      return { ...stored, log: log.map(([at, raw]) => ({ at, raw, event: JSON.parse(raw) })) };
    } catch {
      return null;
    }
  }

  /**
   * Stores a thread. If there is no room for it, logs make room: its own, then those of other pages.
   *
   * @param {StoredThread} thread
   */
  save({ log, ...thread }) {
    const text = JSON.stringify(thread);
    const logs = [this.logKey, ...this.#otherLogs()];
    while (!this.#write(this.key, text) && logs.length) this.storage?.removeItem(logs.shift());
    const entries = lastRuns(log).map(({ at, raw }) => [at, raw]);
    if (!this.#write(this.logKey, JSON.stringify(entries))) this.storage?.removeItem(this.logKey);
  }

  clear() {
    this.storage?.removeItem(this.key);
    this.storage?.removeItem(this.logKey);
  }

  #otherLogs() {
    const keys = Array.from({ length: this.storage?.length ?? 0 }, (_, index) => this.storage?.key(index) ?? "");
    return keys.filter((key) => key.startsWith(PREFIX) && key.endsWith(LOG_SUFFIX) && key !== this.logKey);
  }

  /** @returns {boolean} Whether it was stored. */
  #write(key, text) {
    try {
      this.storage?.setItem(key, text);
      return true;
    } catch {
      return false; // no room
    }
  }
}

/** Returns the events of as many of the last runs as may be stored. */
function lastRuns(log) {
  let first = log.length;
  let size = 0;
  for (let index = log.length - 1; index >= 0; index -= 1) {
    size += log[index].raw.length;
    if (size > MAX_LOG) break;
    if (index === 0 || log[index].event.type === "RUN_STARTED") first = index;
  }
  return log.slice(first);
}

/** Returns the browser's storage, unless it is switched off. */
function sessionStorageOrNull() {
  try {
    return globalThis.sessionStorage;
  } catch {
    return null;
  }
}
