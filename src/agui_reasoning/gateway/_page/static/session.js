/**
 * A chat with the gateway: starts and stops runs, keeps the log of their events, and stores the thread.
 *
 * @typedef {{event: import("./conversation.js").AGUIEvent, raw: string, at: number}} LogEntry
 */

import { Conversation } from "./conversation.js";
import { newId } from "./ids.js";
import { readEvents, StreamError } from "./sse.js";
import { ThreadStore } from "./thread-store.js";

/** How many events of all runs are kept. */
const MAX_LOG = 50_000;

/**
 * Dispatches "event" (`detail`: the `LogEntry`), "change" (`detail`: the IDs of changed messages, or `null` if any can have
 * changed), "status" and "log" (the log was replaced).
 */
export class Session extends EventTarget {
  /** @type {LogEntry[]} The events of all runs, in order. */
  log = [];
  /** Whether the messages come from a log that was opened; such a thread is not stored. */
  isReplay = false;

  /** @type {{effort?: string, display?: string}} What the user chose for the next runs. */
  reasoning = {};

  /** @type {AbortController | null} Of the run that is going on. */
  #abort = null;
  /** Whether all calls were answered while their run was still going on. */
  #isAnswered = false;

  /**
   * @param {import("./config.js").Config} config
   * @param {{fetch?: typeof fetch, store?: ThreadStore, now?: () => number}} [parts]
   */
  constructor(config, { fetch = globalThis.fetch.bind(globalThis), store = new ThreadStore(), now = Date.now } = {}) {
    super();
    this.config = config;
    this.fetch = fetch;
    this.store = store;
    this.now = now;
    const stored = store.load();
    this.conversation = new Conversation(stored?.threadId ?? newId(), stored ?? {});
    if (this.conversation.status === "running") this.conversation.endRun("stopped"); // the page was left meanwhile
    this.log = stored?.log ?? [];
  }

  get threadId() {
    return this.conversation.threadId;
  }

  get status() {
    return this.conversation.status;
  }

  get isRunning() {
    return this.#abort !== null;
  }

  /**
   * Sends a message of the user, and runs.
   *
   * @param {string} text
   */
  async send(text) {
    if (this.isRunning || !text.trim()) return;
    this.conversation.addUserMessage(newId(), text);
    await this.#run();
  }

  /**
   * Answers a call, and runs when no other call waits and the run of the calls has ended.
   *
   * @param {string} toolCallId
   * @param {string} content
   * @param {{error?: string}} [options]
   */
  async answer(toolCallId, content, { error } = {}) {
    if (!this.conversation.pendingToolCalls.some((call) => call.id === toolCallId)) return;
    this.conversation.addToolResult(newId(), toolCallId, content, error);
    this.#isAnswered = this.conversation.pendingToolCalls.length === 0;
    if (this.#isAnswered && !this.isRunning) await this.#run();
    else this.#changed(null); // the run that is going on starts the next one
  }

  /** Stops the run. */
  stop() {
    this.#abort?.abort();
  }

  /** Whether there is something that a run can answer. */
  get canRetry() {
    return this.conversation.messages.some(isInput);
  }

  /** Repeats the last run after it failed or was stopped. What arrived of it is removed. */
  async retry() {
    if (this.isRunning || !this.canRetry) return;
    const { messages } = this.conversation;
    const partial = messages[messages.findLastIndex(isInput) + 1];
    if (partial) this.conversation.truncateBefore(partial.id);
    await this.#run();
  }

  /**
   * Answers the question before a message once more.
   *
   * @param {string} messageId
   */
  async regenerate(messageId) {
    if (this.isRunning) return;
    const { messages } = this.conversation;
    const index = messages.findIndex((message) => message.id === messageId);
    const question = messages.slice(0, index + 1).findLastIndex((message) => message.role === "user");
    if (question < 0) return;
    if (question + 1 < messages.length) this.conversation.truncateBefore(messages[question + 1].id);
    await this.#run();
  }

  /**
   * Replaces a message of the user and all that follows.
   *
   * @param {string} messageId
   * @param {string} text
   */
  async edit(messageId, text) {
    if (this.isRunning || !text.trim()) return;
    this.conversation.truncateBefore(messageId);
    await this.send(text);
  }

  /** Starts a new thread. */
  reset() {
    this.#leaveRun();
    this.isReplay = false;
    this.log = [];
    this.conversation = new Conversation(newId());
    this.store.clear();
    this.#dispatch("log");
    this.#changed(null);
  }

  /**
   * Shows a stored log instead of the thread. It keeps its thread ID, which its encrypted values are bound to.
   *
   * @param {import("./conversation.js").AGUIEvent[]} events
   */
  loadLog(events) {
    this.#leaveRun();
    this.isReplay = true;
    this.log = [];
    this.conversation = new Conversation(threadIdOf(events) ?? newId());
    for (const event of events) this.#receive(event, JSON.stringify(event), timeOf(event) ?? this.now());
    if (this.conversation.status === "running") this.conversation.endRun("stopped");
    this.#dispatch("log");
    this.#changed(null);
  }

  /** Stores the thread, so that it survives a reload. */
  save() {
    if (this.isReplay) return;
    const { threadId, messages, state, durations, status, failure } = this.conversation;
    const pendingToolCallIds = this.conversation.pendingToolCalls.map((call) => call.id);
    this.store.save({ threadId, messages, state, durations: [...durations], status, failure, pendingToolCallIds, log: this.log });
  }

  // -- the run

  async #run() {
    const abort = new AbortController();
    const conversation = this.conversation;
    this.#abort = abort;
    this.#isAnswered = false;
    conversation.endRun("running");
    this.#changed(null);
    try {
      await this.#read(conversation, abort.signal);
      if (conversation.status === "running") conversation.endRun("failed", TRUNCATED);
    } catch (error) {
      const isOpen = conversation.status === "running"; // else an event said how the run ended
      if (abort.signal.aborted && (isOpen || this.#isAnswered)) conversation.endRun("stopped");
      else if (isOpen) conversation.endRun("failed", failureOf(error));
    }
    if (this.#abort !== abort) return; // the thread was left meanwhile
    this.#abort = null;
    if (this.#isAnswered && conversation.status === "finished") await this.#run();
    else this.#changed(null);
  }

  /** Stops the run, and does not wait for its end. */
  #leaveRun() {
    this.stop();
    this.#abort = null;
  }

  /**
   * @param {Conversation} conversation
   * @param {AbortSignal} signal
   */
  async #read(conversation, signal) {
    const tools = this.config.tools.map((tool) => tool.declaration);
    const forwardedProps = Object.keys(this.reasoning).length ? { reasoning: this.reasoning } : {};
    const response = await this.fetch(this.config.endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(conversation.runInput({ runId: newId(), tools, forwardedProps })),
      cache: "no-store",
      signal,
    });
    if (!response.ok) throw await refusalOf(response);
    for await (const { event, raw } of readEvents(response)) {
      if (signal.aborted) throw signal.reason;
      this.#receive(event, raw, this.now());
    }
  }

  #receive(event, raw, at) {
    const entry = { event, raw, at };
    if (this.log.length < MAX_LOG) this.log.push(entry);
    const before = this.conversation.status;
    const changed = this.conversation.receive(event, at);
    this.dispatchEvent(new CustomEvent("event", { detail: entry }));
    if (changed.size) this.dispatchEvent(new CustomEvent("change", { detail: changed }));
    if (this.conversation.status !== before) this.#dispatch("status");
  }

  /** @param {Set<string> | null} ids */
  #changed(ids) {
    this.save();
    this.dispatchEvent(new CustomEvent("change", { detail: ids }));
    this.#dispatch("status");
  }

  /** @param {string} type */
  #dispatch(type) {
    this.dispatchEvent(new Event(type));
  }
}

const TRUNCATED = {
  code: "truncated_stream",
  message: "The connection ended before the answer was complete. What arrived is kept.",
};

/** The request was rejected before a run began. */
class RefusedError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** @param {Response} response */
async function refusalOf(response) {
  const { error } = await response.json().catch(() => ({}));
  const code = typeof error?.code === "string" ? error.code : `http_${response.status}`;
  const message = typeof error?.message === "string" ? error.message : `The gateway answered with status ${response.status}.`;
  return new RefusedError(code, message);
}

/** @returns {import("./conversation.js").RunFailure} */
function failureOf(error) {
  if (error instanceof RefusedError) return { code: error.code, message: error.message };
  if (error instanceof StreamError) return { code: "not_an_event_stream", message: error.message };
  return { code: "unreachable", message: "The gateway cannot be reached, or the connection was lost." };
}

/** Returns whether a message is what runs answer. */
function isInput({ role }) {
  return role === "user" || role === "tool";
}

function threadIdOf(events) {
  const id = events.findLast(({ type }) => type === "RUN_STARTED")?.threadId;
  return typeof id === "string" ? id : undefined;
}

function timeOf(event) {
  return Number.isFinite(event.timestamp) ? event.timestamp : undefined;
}
