/** Keeps one thread per page in the browser's storage. */

const PREFIX = "agui-reasoning:thread:";

/**
 * @typedef {object} StoredThread
 * @property {string} threadId
 * @property {import("./conversation.js").Message[]} messages
 * @property {unknown} state
 * @property {[string, number][]} durations
 * @property {import("./conversation.js").RunStatus} status
 * @property {import("./conversation.js").RunFailure | null} failure
 * @property {import("./session.js").LogEntry[]} log
 */

export class ThreadStore {
  /**
   * @param {Storage | null} [storage]
   * @param {string} [page] The page that the thread belongs to.
   */
  constructor(storage = localStorageOrNull(), page = globalThis.location?.pathname ?? "/") {
    this.storage = storage;
    this.key = PREFIX + page;
  }

  /** @returns {StoredThread | null} */
  load() {
    try {
      const stored = JSON.parse(this.storage?.getItem(this.key) ?? "null");
      if (!stored || typeof stored.threadId !== "string" || !Array.isArray(stored.messages)) return null;
      const log = JSON.parse(this.storage?.getItem(`${this.key}:log`) ?? "[]");
      return { ...stored, log: log.map(([at, raw]) => ({ at, raw, event: JSON.parse(raw) })) };
    } catch {
      return null;
    }
  }

  /**
   * Stores a thread. The log is left out if there is no room for it.
   *
   * @param {StoredThread} thread
   */
  save({ log, ...thread }) {
    this.#write(this.key, thread);
    if (!this.#write(`${this.key}:log`, log.map(({ at, raw }) => [at, raw]))) {
      this.storage?.removeItem(`${this.key}:log`);
    }
  }

  clear() {
    this.storage?.removeItem(this.key);
    this.storage?.removeItem(`${this.key}:log`);
  }

  /** @returns {boolean} Whether it was stored. */
  #write(key, value) {
    try {
      this.storage?.setItem(key, JSON.stringify(value));
      return true;
    } catch {
      return false; // no room
    }
  }
}

/** Returns the browser's storage, unless it is switched off. */
function localStorageOrNull() {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}
