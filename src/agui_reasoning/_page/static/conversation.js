/**
 * The client side of an AG-UI conversation, without input or output: events go in, messages come out, and the
 * next run input is made of them. Members that are not known here are kept and sent back untouched.
 *
 * @typedef {{type: string, [member: string]: any}} AGUIEvent
 * @typedef {{id: string, type: "function", function: {name: string, arguments: string}, [member: string]: any}} ToolCall
 * @typedef {{id: string, role: string, content?: any, toolCalls?: ToolCall[], [member: string]: any}} Message
 * @typedef {"idle" | "running" | "finished" | "interrupted" | "stopped" | "failed"} RunStatus
 * @typedef {{code: string, message: string}} RunFailure
 */

import { Expander } from "./chunks.js";
import { endingOf } from "./endings.js";
import { History } from "./history.js";
import { PatchError, applyPatch } from "./json-patch.js";
import { isMessage, isObject, listOf, mergeMetadata, some, textOf, withoutNulls } from "./members.js";
import { entryOf, isInterrupt } from "./questions.js";

export const PROTOCOL_VERSION = "1.0";

/** The member of `metadata` that holds this project's hints. */
const HINT = "agui-reasoning";

/** @type {Map<string, RunStatus>} */
const OUTCOMES = new Map([["success", "finished"], ["interrupt", "interrupted"], ["cancelled", "stopped"]]);

/** The code of RUN_ERROR that tells that an answer came too late. */
const EXPIRED_CODE = "expired_interrupt";

/** The codes of RUN_ERROR that tell that somebody stopped the run. */
const STOP_CODES = new Set(["abort", "aborted", "cancelled"]);

/**
 * Returns this project's hint on an event, a message or a call.
 *
 * @param {{metadata?: any}} entity
 * @returns {Record<string, any>}
 */
export function hintOf(entity) {
  const hint = entity?.metadata?.[HINT];
  return typeof hint === "object" && hint !== null ? hint : {};
}

export class Conversation {
  /** @type {unknown} */
  state = {};
  /** @type {RunStatus} */
  status = "idle";
  /** @type {RunFailure | null} Why the last run failed. */
  failure = null;
  /** @type {Map<string, import("./endings.js").Ending>} How the last runs ended that may not be complete, by the question's ID. */
  endings = new Map();
  /** @type {Map<string, {name: string, status: string}>} The subagents of all runs. */
  subagents = new Map();
  /** @type {Map<string, number>} How long reasoning took, in milliseconds, by message ID. */
  durations = new Map();
  /** @type {import("./questions.js").Interrupt[]} What the last run that finished asks. */
  interrupts = [];
  /** @type {Map<string, import("./questions.js").Answer>} The answers of the user, by interrupt ID. */
  answers = new Map();
  /** @type {string | undefined} The last message before the run that answers the interrupts. */
  resumedAfter = undefined;

  #history = new History();
  /** @type {Map<string, number>} When the open messages and calls were opened. */
  #open = new Map();
  /** @type {Set<string>} The open spans of reasoning. */
  #spans = new Set();
  /** @type {Map<string, boolean>} The calls of the last run, and whether they have results. */
  #answered = new Map();
  /** @type {string[]} The calls that the last run left to the client, if it named them. */
  #named = [];
  /** @type {Set<string>} */
  #changed = new Set();
  #expander = new Expander();

  /**
   * @param {string} threadId
   * @param {{messages?: Message[], state?: unknown, durations?: Iterable<[string, number]>, status?: RunStatus, endings?: Iterable<[string, import("./endings.js").Ending]>,
   *   failure?: RunFailure | null, pendingToolCallIds?: string[], interrupts?: import("./questions.js").Interrupt[],
   *   answers?: import("./questions.js").Answer[], resumedAfter?: string}} [stored]
   */
  constructor(threadId, stored = {}) {
    this.threadId = threadId;
    this.state = stored.state ?? {};
    this.durations = new Map(stored.durations ?? []);
    this.endings = new Map(stored.endings ?? []);
    this.status = stored.status ?? "idle";
    this.failure = stored.failure ?? null;
    this.interrupts = stored.interrupts ?? [];
    this.answers = new Map((stored.answers ?? []).map((answer) => [answer.interruptId, answer]));
    this.resumedAfter = stored.resumedAfter;
    for (const message of stored.messages ?? []) this.#history.add(message);
    for (const id of stored.pendingToolCallIds ?? []) this.#answered.set(id, false);
  }

  /** @returns {Message[]} */
  get messages() {
    return this.#history.messages;
  }

  /** @param {string} id */
  message(id) {
    return this.#history.get(id);
  }

  /** Returns whether a message or a call is still being received. */
  isOpen(id) {
    return this.#open.has(id);
  }

  /** Whether the model is thinking, visibly or not. */
  get isThinking() {
    return this.#spans.size > 0;
  }

  /** The calls that wait for a result of this client. */
  get pendingToolCalls() {
    if (this.status !== "finished" && this.status !== "idle") return [];
    const ids = this.#named.length ? this.#named : [...this.#answered.keys()];
    const open = ids.filter((id) => !this.#answered.get(id));
    return open.map((id) => this.#history.call(id)?.call).filter((call) => call !== undefined);
  }

  /**
   * What the agent asks, with the answers so far.
   *
   * @returns {import("./questions.js").Question[]}
   */
  get questions() {
    if (this.status !== "interrupted") return [];
    return this.interrupts.map((interrupt) => ({ interrupt, answer: this.answers.get(interrupt.id) }));
  }

  /**
   * Returns the questions about a call, or those about no call that waits.
   *
   * @param {string} [callId]
   */
  questionsAbout(callId) {
    return this.questions.filter(({ interrupt: { toolCallId } }) => {
      const isWaiting = toolCallId !== undefined && this.#history.call(toolCallId) && !this.#answered.get(toolCallId);
      return callId === undefined ? !isWaiting : isWaiting && toolCallId === callId;
    });
  }

  /** Marks that a run begins, which answers what the last one asked. */
  beginRun() {
    this.endRun("running");
    this.#noteEnding(null);
    this.resumedAfter = this.interrupts.length ? this.messages.at(-1)?.id : undefined;
  }

  /** Forgets what the agent asked, because it is asked something else. */
  forgetQuestions() {
    this.interrupts = [];
    this.answers.clear();
    this.resumedAfter = undefined;
  }

  /**
   * Applies one event.
   *
   * @param {AGUIEvent} event Unknown types are ignored.
   * @param {number} [at] When it arrived, in milliseconds.
   * @returns {Set<string>} The IDs of the messages that it changed.
   */
  receive(event, at = Date.now()) {
    this.#changed = new Set();
    for (const expanded of this.#expander.receive(withoutNulls(event))) {
      const handler = HANDLERS.get(expanded.type);
      if (handler) handler(this, expanded, at);
    }
    return this.#changed;
  }

  /**
   * Marks the run as ended, although no event said so.
   *
   * @param {RunStatus} status
   * @param {RunFailure | null} [failure]
   * @param {number} [at] When it ended, in milliseconds.
   */
  endRun(status, failure = null, at = Date.now()) {
    this.status = status;
    this.failure = failure;
    if (status === "failed") this.#noteEnding({ kind: status, code: failure?.code });
    if (status === "stopped") this.#noteEnding({ kind: status });
    for (const id of this.#open.keys()) this.#measure(this.#history.get(id), at);
    this.#open.clear();
    this.#spans.clear();
    this.#answered.clear();
    this.#named = [];
    this.#expander = new Expander();
  }

  /** How the last question was answered, if not completely. */
  get ending() {
    return this.endings.get(this.#lastQuestion?.id ?? "") ?? null;
  }

  get #lastQuestion() {
    return this.messages.findLast(({ role }) => role === "user");
  }

  /** @param {import("./endings.js").Ending | null} ending */
  #noteEnding(ending) {
    const id = this.#lastQuestion?.id;
    if (id === undefined) return;
    if (ending) this.endings.set(id, ending);
    else this.endings.delete(id);
  }

  /**
   * Appends a message of the user.
   *
   * @param {string} id
   * @param {string} content
   */
  addUserMessage(id, content) {
    this.#history.add({ id, role: "user", content });
  }

  /**
   * Adds the result of a call of this client.
   *
   * @param {string} id
   * @param {string} toolCallId
   * @param {string} content
   * @param {string} [error] Why the tool failed.
   */
  addToolResult(id, toolCallId, content, error) {
    this.#addResult({ id, role: "tool", toolCallId, content, ...(error === undefined ? {} : { error }) });
  }

  /**
   * Removes a message and all that follow it.
   *
   * @param {string} messageId
   */
  truncateBefore(messageId) {
    const index = this.messages.findIndex((message) => message.id === messageId);
    if (index < 0) return;
    for (const { id } of this.messages.slice(index)) this.endings.delete(id);
    this.#history.replaceAll(this.messages.slice(0, index));
    this.endRun("idle");
  }

  /**
   * Returns the input of the next run.
   *
   * @param {{runId: string, tools?: object[], context?: object[], forwardedProps?: object}} options
   */
  runInput({ runId, tools = [], context = [], forwardedProps = {} }) {
    return {
      threadId: this.threadId,
      runId,
      protocolVersion: PROTOCOL_VERSION,
      messages: this.messages.filter((message) => message.role !== "activity"),
      state: this.state,
      tools,
      context,
      forwardedProps,
      ...(this.interrupts.length ? { resume: this.interrupts.map((interrupt) => entryOf({ interrupt, answer: this.answers.get(interrupt.id) })) } : {}),
    };
  }

  // -- messages

  /** @param {Message} message */
  #addResult(message) {
    this.#answered.set(message.toolCallId, true);
    this.#changed.add(message.id);
    this.#touch(this.#history.addResult(message));
  }

  /**
   * @param {Message | undefined} message
   * @param {AGUIEvent} [event] An event whose metadata belongs to the message.
   */
  #touch(message, event) {
    if (!message) return;
    mergeMetadata(message, event);
    this.#changed.add(message.id);
  }

  // -- handlers

  runStarted(event) {
    this.endRun("running");
    for (const message of listOf(event.input?.messages)) {
      if (!isMessage(message) || this.#history.get(message.id)) continue;
      this.#touch(this.#history.add(structuredClone(message)));
    }
    this.#noteEnding(null);
  }

  runFinished(event) {
    const outcome = event.outcome ?? {};
    this.#named = listOf(outcome.pendingToolCallIds);
    this.forgetQuestions();
    if (outcome.type === "interrupt") this.interrupts = listOf(outcome.interrupts).filter(isInterrupt);
    this.#open.clear();
    this.#spans.clear();
    this.status = OUTCOMES.get(outcome.type) ?? "finished";
    this.#noteEnding(this.status === "stopped" ? { kind: this.status } : endingOf(hintOf(event).finishReason));
  }

  runError(event, at) {
    const code = typeof event.code === "string" ? event.code : "";
    const message = typeof event.message === "string" ? event.message : "";
    if (code === EXPIRED_CODE) this.answers.clear();
    if (STOP_CODES.has(code)) this.endRun("stopped", null, at);
    else this.endRun("failed", { code, message }, at);
  }

  spanStart(event) {
    this.#spans.add(event.messageId);
  }

  spanEnd(event) {
    this.#spans.delete(event.messageId);
  }

  start(event, role, at) {
    const held = this.#history.get(event.messageId);
    if (held?.role === "activity") return;
    const message = held ?? this.#history.add({ id: event.messageId, role, content: "", ...some(event, "name", "subagentRunId") });
    this.#open.set(message.id, at);
    this.#touch(message, event);
  }

  content(event) {
    const message = this.#history.get(event.messageId);
    if (!message || message.role === "activity") return;
    this.#history.append(message, textOf(event.delta));
    this.#touch(message, event);
  }

  end(event, at) {
    const message = this.#history.get(event.messageId);
    if (!message) return;
    this.#touch(message, event);
    this.#measure(message, at);
    this.#open.delete(message.id);
  }

  /** Keeps how long reasoning took: as the server measured it, else as this client saw it. */
  #measure(message, at) {
    if (message?.role !== "reasoning") return;
    const { durationMs } = hintOf(message);
    const opened = this.#open.get(message.id);
    if (Number.isFinite(durationMs)) this.durations.set(message.id, durationMs);
    else if (opened !== undefined) this.durations.set(message.id, at - opened);
  }

  callStart(event, at) {
    const id = event.toolCallId;
    const { call, owner } = this.#history.call(id) ?? this.#history.addCall(id, this.#callOwner(event));
    if (event.toolCallName) call.function.name = textOf(event.toolCallName);
    mergeMetadata(call, event);
    this.#open.set(id, at);
    if (!this.#answered.has(id)) this.#answered.set(id, false);
    this.#touch(owner);
  }

  #callOwner(event) {
    const parent = this.#history.get(event.parentMessageId);
    if (parent?.role === "assistant") return parent;
    const id = parent ? event.toolCallId : event.parentMessageId ?? event.toolCallId;
    return this.#history.add({ id, role: "assistant", ...some(event, "subagentRunId") });
  }

  callArgs(event) {
    const held = this.#history.call(event.toolCallId);
    if (!held) return;
    held.call.function.arguments += textOf(event.delta);
    mergeMetadata(held.call, event);
    this.#touch(held.owner);
  }

  callEnd(event) {
    const held = this.#history.call(event.toolCallId);
    if (!held) return;
    mergeMetadata(held.call, event);
    this.#open.delete(event.toolCallId);
    this.#touch(held.owner);
  }

  callResult(event) {
    const message = { id: event.messageId, role: "tool", ...some(event, "toolCallId", "content", "subagentRunId", "metadata") };
    const held = this.#history.get(event.messageId);
    if (held?.role !== "tool" || held.toolCallId !== message.toolCallId) return this.#addResult(message);
    this.#history.replace(held, message);
    this.#answered.set(message.toolCallId, true);
    return this.#touch(message);
  }

  encryptedValue(event) {
    const call = event.subtype === "tool-call" ? this.#history.call(event.entityId) : undefined;
    const message = event.subtype === "message" ? this.#history.get(event.entityId) : undefined;
    const target = call?.call ?? (message?.role === "activity" ? undefined : message);
    if (!target) return;
    target.encryptedValue = event.encryptedValue;
    delete target.encryptedValueType;
    Object.assign(target, some(event, "encryptedValueType"));
    this.#touch(call?.owner ?? message);
  }

  messagesSnapshot(event) {
    const valid = listOf(event.messages).filter(isMessage);
    const snapshot = new Map(valid.map((message) => [message.id, structuredClone(message)]));
    const roles = new Set([...snapshot.values()].map((message) => message.role));
    const keeps = ({ role }) => ["reasoning", "activity"].includes(role) && !roles.has(role);
    const held = this.messages.filter((message) => snapshot.has(message.id) || keeps(message));
    const known = new Set(held.map((message) => message.id));
    const added = [...snapshot.values()].filter((message) => !known.has(message.id));
    for (const message of [...this.messages, ...added]) this.#changed.add(message.id);
    this.#history.replaceAll([...held.map((message) => snapshot.get(message.id) ?? message), ...added]);
  }

  activitySnapshot(event) {
    const held = this.#history.get(event.messageId);
    if (!held) this.#touch(this.#history.add(activityOf(event)), event);
    else if (event.replace !== false) this.#replaceByActivity(held, event);
    else if (held.role === "activity") this.#touch(held, event);
  }

  #replaceByActivity(held, event) {
    const kept = held.role === "activity" ? some(held, "metadata") : {};
    const activity = { ...activityOf(event), ...kept };
    this.#history.replace(held, activity);
    this.#touch(activity, event);
  }

  activityDelta(event) {
    const held = this.#history.get(event.messageId);
    if (held?.role !== "activity") return;
    this.#touch(held, event);
    patch(held.content, event.patch, (content) => {
      if (isObject(content)) Object.assign(held, { content }, some(event, "activityType"));
    });
  }

  stateDelta(event) {
    patch(this.state, event.delta, (state) => {
      this.state = state;
    });
  }

  subagent(event, status) {
    const name = this.subagents.get(event.subagentRunId)?.name ?? textOf(event.name);
    this.subagents.set(event.subagentRunId, { name, status });
  }
}

/** @type {Map<string, (conversation: Conversation, event: AGUIEvent, at: number) => void>} */
const HANDLERS = new Map([
  ["RUN_STARTED", (conversation, event) => conversation.runStarted(event)],
  ["RUN_FINISHED", (conversation, event) => conversation.runFinished(event)],
  ["RUN_ERROR", (conversation, event, at) => conversation.runError(event, at)],
  ["TEXT_MESSAGE_START", (conversation, event, at) => conversation.start(event, event.role ?? "assistant", at)],
  ["TEXT_MESSAGE_CONTENT", (conversation, event) => conversation.content(event)],
  ["TEXT_MESSAGE_END", (conversation, event, at) => conversation.end(event, at)],
  ["REASONING_START", (conversation, event) => conversation.spanStart(event)],
  ["REASONING_END", (conversation, event) => conversation.spanEnd(event)],
  ["REASONING_MESSAGE_START", (conversation, event, at) => conversation.start(event, "reasoning", at)],
  ["REASONING_MESSAGE_CONTENT", (conversation, event) => conversation.content(event)],
  ["REASONING_MESSAGE_END", (conversation, event, at) => conversation.end(event, at)],
  ["REASONING_ENCRYPTED_VALUE", (conversation, event) => conversation.encryptedValue(event)],
  ["TOOL_CALL_START", (conversation, event, at) => conversation.callStart(event, at)],
  ["TOOL_CALL_ARGS", (conversation, event) => conversation.callArgs(event)],
  ["TOOL_CALL_END", (conversation, event) => conversation.callEnd(event)],
  ["TOOL_CALL_RESULT", (conversation, event) => conversation.callResult(event)],
  ["MESSAGES_SNAPSHOT", (conversation, event) => conversation.messagesSnapshot(event)],
  ["ACTIVITY_SNAPSHOT", (conversation, event) => conversation.activitySnapshot(event)],
  ["ACTIVITY_DELTA", (conversation, event) => conversation.activityDelta(event)],
  ["STATE_SNAPSHOT", (conversation, event) => { conversation.state = event.snapshot; }],
  ["STATE_DELTA", (conversation, event) => conversation.stateDelta(event)],
  ["SUBAGENT_STARTED", (conversation, event) => conversation.subagent(event, "running")],
  ["SUBAGENT_FINISHED", (conversation, event) => conversation.subagent(event, "finished")],
  ["SUBAGENT_ERROR", (conversation, event) => conversation.subagent(event, "failed")],
]);

/**
 * Patches a value. A patch that does not fit changes nothing, and the run goes on, as the protocol says.
 *
 * @param {unknown} value
 * @param {any} operations
 * @param {(patched: any) => void} keep Gets the patched value.
 */
function patch(value, operations, keep) {
  let patched;
  try {
    patched = applyPatch(value, operations);
  } catch (error) {
    if (error instanceof PatchError) return;
    throw error;
  }
  keep(patched);
}

function activityOf(event) {
  return { id: event.messageId, role: "activity", ...some(event, "activityType", "content", "subagentRunId") };
}
