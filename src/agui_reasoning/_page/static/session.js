/**
 * A chat with the gateway: starts and stops runs, keeps the log of their events, and stores the thread.
 *
 * @typedef {{event: import("./conversation.js").AGUIEvent, raw: string, at: number}} LogEntry
 */

import { Conversation } from "./conversation.js";
import { Gateway } from "./gateway.js";
import { newId } from "./ids.js";
import { CUT_CODES, NothingToJoin, RunReader, unreachable } from "./run-reader.js";
import { StreamError } from "./sse.js";
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
  /** Whether it is known when events came: the events of a log may not tell. */
  isTimed = true;
  /** How many events came that are not in the log: before it, because there was no room to store them, and after it was full. */
  dropped = { before: 0, after: 0 };

  /** @type {Map<string, boolean>} Whether the user opened or folded reasoning, by the ID of its first message. */
  disclosed = new Map();

  /** Whether reasoning is open while it streams: as the user had it the last time. */
  opensReasoning = true;

  /** @type {{effort?: string, display?: string}} What the user chose for the next runs. */
  reasoning = {};

  /** @type {{id: string, isStarted: boolean} | null} The last run, and whether an event of it came. */
  run = null;

  /** @type {AbortController | null} Of the run that is going on. */
  #abort = null;
  /** @type {RunReader | null} Of the run that is going on, until it is asked to stop. */
  #reader = null;
  /** Whether all calls were answered while their run was still going on. */
  #isAnswered = false;

  /**
   * @param {import("./config.js").Config} config
   * @param {{fetch?: typeof fetch, store?: ThreadStore, now?: () => number, tabs?: import("./other-tabs.js").OtherTabs | null}} [parts]
   */
  constructor(config, { fetch = globalThis.fetch.bind(globalThis), store = new ThreadStore(), now = Date.now, tabs = null } = {}) {
    super();
    this.config = config;
    this.fetch = fetch;
    this.gateway = new Gateway(config, fetch);
    this.store = store;
    this.now = now;
    this.tabs = tabs;
    tabs?.listen((run) => this.#joinOther(run));
    this.#restore();
  }

  /** Shows the thread that is stored, or a new one. */
  #restore() {
    const stored = this.store.load();
    this.conversation = new Conversation(stored?.threadId ?? newId(), stored ?? {});
    this.disclosed = new Map(stored?.disclosed ?? []);
    this.run = stored?.run ?? null;
    if (this.status === "running" && !this.#mayGoOn) this.conversation.endRun("stopped"); // the page was left meanwhile
    this.#clearLog(stored?.log);
    this.dropped.before = Math.max(0, (stored?.events ?? 0) - this.log.length);
  }

  /** @param {LogEntry[]} [log] */
  #clearLog(log = []) {
    this.log = log;
    this.dropped = { before: 0, after: 0 };
    this.isTimed = true;
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

  /**
   * Answers what the agent asks, and runs when no other question waits.
   *
   * @param {import("./questions.js").Answer} answer
   */
  async decide(answer) {
    const { conversation } = this;
    if (this.isRunning || !conversation.questions.some(({ interrupt }) => interrupt.id === answer.interruptId)) return;
    conversation.answers.set(answer.interruptId, answer);
    if (conversation.questions.every((question) => question.answer)) await this.#run();
    else this.#changed(null);
  }

  /**
   * Takes an answer back that was not sent.
   *
   * @param {string} interruptId
   */
  reconsider(interruptId) {
    if (this.isRunning) return;
    this.conversation.answers.delete(interruptId);
    this.#changed(null);
  }

  /** Stops the run. If the gateway keeps it, its end is read; who stops again does not wait for that. */
  stop() {
    const abort = this.#abort;
    const reader = this.#reader;
    this.#reader = null;
    if (!reader || !this.gateway.keepsRuns) abort?.abort();
    else reader.stop().then((isRead) => isRead || abort?.abort());
  }

  /** Joins the last run if it may go on without this page, because the page was left or the connection lost. */
  async resume() {
    if (this.isRunning || !this.#mayGoOn) return;
    this.conversation.endRun("running");
    await this.#follow((reader) => reader.join());
  }

  /** Joins a run of this thread that another tab started. */
  async #joinOther({ threadId, runId }) {
    const isNews = threadId === this.threadId && this.run?.id !== runId;
    if (!isNews || this.isRunning || this.isReplay || !this.gateway.keepsRuns) return;
    this.run = { id: runId, isStarted: true };
    this.conversation.endRun("running");
    await this.#follow((reader) => reader.join());
  }

  get #mayGoOn() {
    const { status, failure } = this.conversation;
    return this.gateway.keepsRuns && this.run !== null && (status === "running" || CUT_CODES.has(failure?.code ?? ""));
  }

  /** Whether there is something that a run can answer. */
  get canRetry() {
    return this.conversation.messages.some(isInput);
  }

  /** Repeats the last run after it failed or was stopped, and is not going on. What arrived of it is removed. */
  async retry() {
    if (this.isRunning || !this.canRetry) return;
    if (this.#mayGoOn) {
      await this.resume();
      if (this.status !== "stopped") return;
    }
    const { messages, resumedAfter } = this.conversation;
    const before = messages.findIndex(({ id }) => id === resumedAfter);
    const partial = messages[Math.max(messages.findLastIndex(isInput), before) + 1];
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
    this.conversation.forgetQuestions();
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
    this.conversation.forgetQuestions();
    this.conversation.truncateBefore(messageId);
    await this.send(text);
  }

  /** Starts a new thread. */
  reset() {
    this.#leaveRun();
    this.isReplay = false;
    this.run = null;
    this.#clearLog();
    this.disclosed.clear();
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
    this.save();
    this.#leaveRun();
    this.isReplay = true;
    this.#clearLog();
    this.isTimed = events.some((event) => timeOf(event) !== undefined);
    this.conversation = new Conversation(threadIdOf(events) ?? newId());
    let at = events.map(timeOf).find((time) => time !== undefined) ?? this.now();
    for (const event of events) {
      at = timeOf(event) ?? at;
      this.#take({ event, raw: JSON.stringify(event), at }); // told once, for all of them
    }
    if (this.conversation.status === "running") this.conversation.endRun("stopped");
    this.#dispatch("log");
    this.#changed(null);
  }

  /** Shows the thread again that was there before a log was opened. */
  async closeLog() {
    if (!this.isReplay) return;
    this.#leaveRun();
    this.isReplay = false;
    this.#restore();
    this.#dispatch("log");
    this.#changed(null);
    await this.resume();
  }

  /** Stores the thread, so that it survives a reload. */
  save() {
    if (this.isReplay) return;
    const { threadId, messages, state, durations, status, failure, endings, interrupts, answers, resumedAfter } = this.conversation;
    const pendingToolCallIds = this.conversation.pendingToolCalls.map((call) => call.id);
    const { run } = this;
    const asked = { interrupts, answers: [...answers.values()], resumedAfter };
    const shown = { durations: [...durations], endings: [...endings], disclosed: [...this.disclosed] };
    const events = this.log.length + this.dropped.before + this.dropped.after;
    this.store.save({ threadId, messages, state, status, failure, pendingToolCallIds, ...shown, ...asked, run, events, log: this.log });
  }

  // -- the run

  async #run() {
    const tools = this.config.tools.map((tool) => tool.declaration);
    const forwardedProps = Object.keys(this.reasoning).length ? { reasoning: this.reasoning } : {};
    const runId = newId();
    this.run = { id: runId, isStarted: false };
    this.conversation.beginRun();
    const input = this.conversation.runInput({ runId, tools, forwardedProps });
    await this.#follow((reader) => reader.start(input));
  }

  /** @param {(reader: RunReader) => ReturnType<RunReader["join"]>} open */
  async #follow(open) {
    const abort = new AbortController();
    const conversation = this.conversation;
    this.#abort = abort;
    this.#reader = new RunReader(this.gateway, conversation.threadId, (started) => this.#isOurs(started), abort.signal);
    this.#isAnswered = false;
    this.#changed(null);
    try {
      for await (const { event, raw } of open(this.#reader)) {
        if (abort.signal.aborted) throw abort.signal.reason;
        this.#receive(event, raw, this.now());
      }
    } catch (error) {
      const isOpen = conversation.status === "running"; // else an event said how the run ended
      const isStopped = abort.signal.aborted || error instanceof NothingToJoin;
      if (isStopped && (isOpen || this.#isAnswered)) conversation.endRun("stopped");
      else if (isOpen) conversation.endRun("failed", failureOf(error));
    }
    if (this.#abort !== abort) return; // the thread was left meanwhile
    this.#abort = null;
    this.#reader = null;
    if (this.#isAnswered && conversation.status === "finished") await this.#run();
    else this.#changed(null);
  }

  /** Returns whether a run is the last one of this page, or a newer one: not one from before the last question. */
  #isOurs({ runId }) {
    return this.run !== null && (this.run.isStarted || this.run.id === runId);
  }

  /** Stops the run, and does not wait for its end. */
  #leaveRun() {
    const abort = this.#abort;
    this.stop();
    abort?.abort();
    this.#abort = null;
  }

  #receive(event, raw, at) {
    if (event.type === "RUN_STARTED") this.#started(event.runId);
    const entry = { event, raw, at };
    const before = this.conversation.status;
    const changed = this.#take(entry);
    this.dispatchEvent(new CustomEvent("event", { detail: entry }));
    if (changed.size) this.dispatchEvent(new CustomEvent("change", { detail: changed }));
    if (this.conversation.status !== before) this.#dispatch("status");
  }

  /**
   * Adds an event to the log and to the conversation.
   *
   * @param {LogEntry} entry
   * @returns {Set<string>} The IDs of the messages that it changed.
   */
  #take(entry) {
    if (this.log.length < MAX_LOG) this.log.push(entry);
    else this.dropped.after += 1;
    return this.conversation.receive(entry.event, entry.at);
  }

  /** Notes that a run started. One that was joined tells again, at once, what came of it before. */
  #started(runId) {
    if (this.run?.id === runId && !this.run.isStarted) this.tabs?.tell({ threadId: this.threadId, runId });
    this.run = { id: runId, isStarted: true };
    const before = this.log.findLastIndex(({ event }) => event.type === "RUN_STARTED");
    if (before < 0 || this.log[before].event.runId !== runId) return;
    this.log.length = before;
    this.#dispatch("log");
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

/** @returns {import("./conversation.js").RunFailure} */
function failureOf(error) {
  if (error instanceof StreamError) return { code: "not_an_event_stream", message: error.message };
  const { code, message } = typeof error.code === "string" ? error : unreachable();
  return { code, message };
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
