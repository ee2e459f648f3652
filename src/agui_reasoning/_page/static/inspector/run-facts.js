/**
 * What the events of a run say about the run as a whole. Without input or output.
 *
 * @typedef {import("../conversation.js").AGUIEvent} AGUIEvent
 * @typedef {{input: number, output: number, reasoning: number | null, cached: number | null}} Tokens
 */

import { hintOf } from "../conversation.js";
import { endingOf } from "../endings.js";

/** The events that carry what the model wrote. */
const TOKENS = /^(?:TEXT_MESSAGE|REASONING_MESSAGE|THINKING_TEXT_MESSAGE|TOOL_CALL)_(?:CONTENT|ARGS|CHUNK)$|^TOOL_CALL_START$/;

export class RunFacts {
  /** @type {number | null} When its first event arrived, in milliseconds. */
  startedAt = null;
  /** @type {number} When its newest event arrived. */
  lastAt = 0;
  /** @type {number | null} When the first piece of what the model wrote arrived. */
  firstTokenAt = null;
  /** @type {"running" | "finished" | "failed"} */
  state = "running";
  /** How it ended: the provider's finish reason, an outcome, or the code of an error. */
  ending = "";
  /** Whether the ending means that the answer is not whole. */
  isIncomplete = false;
  /** @type {string[]} The models that took part. */
  models = [];
  /** @type {Tokens | null} */
  tokens = null;

  /** @param {number} number The number of the run in the log, from 1. */
  constructor(number) {
    this.number = number;
  }

  /** How long it took so far, in milliseconds. */
  get duration() {
    return this.startedAt === null ? 0 : this.lastAt - this.startedAt;
  }

  /** @returns {number | null} Milliseconds until the first piece of what the model wrote. */
  get untilFirstToken() {
    return this.startedAt === null || this.firstTokenAt === null ? null : this.firstTokenAt - this.startedAt;
  }

  /**
   * Adds an event.
   *
   * @param {AGUIEvent} event
   * @param {number} at When it arrived, in milliseconds.
   */
  add(event, at) {
    this.startedAt ??= at;
    this.lastAt = at;
    if (this.firstTokenAt === null && TOKENS.test(event.type) && event.delta !== "") this.firstTokenAt = at;
    if (event.type === "RUN_FINISHED") this.#finish(event);
    else if (event.type === "RUN_ERROR") this.#fail(event);
  }

  #finish(event) {
    const { finishReason } = hintOf(event);
    const outcome = event.outcome?.type;
    this.state = "finished";
    this.ending = typeof finishReason === "string" ? finishReason : typeof outcome === "string" ? outcome : "";
    this.isIncomplete = endingOf(finishReason) !== null || outcome === "cancelled";
    this.#count(event.usage);
  }

  #fail(event) {
    this.state = "failed";
    this.ending = typeof event.code === "string" && event.code ? event.code : "error";
    this.isIncomplete = true;
    this.#count(event.usage);
  }

  #count(usage) {
    const entries = (Array.isArray(usage) ? usage : []).filter((entry) => typeof entry === "object" && entry !== null);
    if (entries.length === 0) return;
    this.models = [...new Set(entries.map(({ model }) => model).filter((model) => typeof model === "string"))];
    this.tokens = {
      input: sum(entries, "inputTokens") ?? 0,
      output: sum(entries, "outputTokens") ?? 0,
      reasoning: sum(entries, "reasoningTokens"),
      cached: sum(entries, "cachedInputTokens"),
    };
  }
}

/** @returns {number | null} The sum of a member; `null` if no entry has it. */
function sum(entries, name) {
  const values = entries.map((entry) => entry[name]).filter(Number.isFinite);
  return values.length ? values.reduce((total, value) => total + value, 0) : null;
}
