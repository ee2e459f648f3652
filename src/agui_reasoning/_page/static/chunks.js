/**
 * Expands the `*_CHUNK` shorthand and old THINKING_* events, so that a reducer sees only starts, contents and ends.
 *
 * Each subagent, and the agent itself, has a lane with at most one open item.
 */

import { newId } from "./ids.js";
import { some } from "./members.js";

/** @typedef {import("./conversation.js").AGUIEvent} AGUIEvent */

const FORMS = new Map([
  ["TEXT_MESSAGE_CHUNK", { id: "messageId", stem: "TEXT_MESSAGE", content: "CONTENT", settled: ["role", "name"] }],
  ["REASONING_MESSAGE_CHUNK", { id: "messageId", stem: "REASONING_MESSAGE", content: "CONTENT", settled: [] }],
  ["TOOL_CALL_CHUNK", { id: "toolCallId", stem: "TOOL_CALL", content: "ARGS", settled: ["toolCallName", "parentMessageId"] }],
]);

/** The events that close the open item of all lanes. */
const CLOSES_ALL = new Set(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"]);
/** The events that close the open item of their own lane. */
const CLOSES_OWN = new Set([
  "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END",
  "TOOL_CALL_RESULT", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
  "REASONING_END", "STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "SUBAGENT_FINISHED",
  "SUBAGENT_ERROR",
]);

export class Expander {
  /** @type {Map<string | undefined, {form: {id: string, stem: string, content: string}, id: string}>} */
  #lanes = new Map();
  #thinking = new Thinking();

  /**
   * @param {AGUIEvent} received
   * @returns {AGUIEvent[]}
   */
  receive(received) {
    const event = this.#thinking.upgrade(received);
    const form = FORMS.get(event.type);
    if (form) return this.#chunk(form, event);
    if (CLOSES_ALL.has(event.type)) return [...[...this.#lanes.keys()].flatMap((lane) => this.#end(lane)), event];
    return CLOSES_OWN.has(event.type) ? [...this.#end(event.subagentRunId), event] : [event];
  }

  #chunk(form, event) {
    const lane = this.#lane(form, event);
    const item = this.#lanes.get(lane);
    const tag = lane === undefined ? {} : { subagentRunId: lane };
    if (item?.form === form && (event[form.id] ?? item.id) === item.id) return this.#content(item, event, tag, ["delta", "rawEvent", "metadata"]);
    const id = event[form.id];
    if (typeof id !== "string") return [];
    const opened = { form, id };
    const ended = this.#end(lane);
    this.#lanes.set(lane, opened);
    const start = { type: `${form.stem}_START`, [form.id]: id, ...some(event, ...form.settled, "metadata"), ...tag };
    return [...ended, start, ...this.#content(opened, event, tag, ["delta", "rawEvent"])];
  }

  /** Finds the lane of a chunk: continuations may omit the subagent, and the ID. */
  #lane(form, event) {
    const holders = [...this.#lanes].filter(([, item]) => item.form === form);
    if (event[form.id] !== undefined) {
      const holder = holders.find(([, item]) => item.id === event[form.id]);
      return holder ? holder[0] : event.subagentRunId;
    }
    const own = holders.some(([lane]) => lane === event.subagentRunId);
    return own || event.subagentRunId !== undefined || holders.length !== 1 ? event.subagentRunId : holders[0][0];
  }

  /** Returns the content event of a chunk, if it has one of the members that make it content. */
  #content({ form, id }, event, tag, carried) {
    if (carried.every((name) => event[name] === undefined)) return [];
    const content = { type: `${form.stem}_${form.content}`, [form.id]: id, delta: event.delta ?? "" };
    return [{ ...content, ...some(event, "metadata"), ...tag }];
  }

  #end(lane) {
    const item = this.#lanes.get(lane);
    if (!item) return [];
    this.#lanes.delete(lane);
    const tag = lane === undefined ? {} : { subagentRunId: lane };
    return [{ type: `${item.form.stem}_END`, [item.form.id]: item.id, ...tag }];
  }
}

/** Renames the events of old producers, which have no IDs. */
class Thinking {
  #message = "";
  #span = "";

  upgrade(event) {
    switch (event.type) {
      case "THINKING_START":
        this.#span = newId();
        return { ...event, type: "REASONING_START", messageId: this.#span };
      case "THINKING_TEXT_MESSAGE_START":
        this.#message = newId();
        return { ...event, type: "REASONING_MESSAGE_START", messageId: this.#message, role: "reasoning" };
      case "THINKING_TEXT_MESSAGE_CONTENT":
        return { ...event, type: "REASONING_MESSAGE_CONTENT", messageId: this.#message };
      case "THINKING_TEXT_MESSAGE_END":
        return { ...event, type: "REASONING_MESSAGE_END", messageId: this.#message };
      case "THINKING_END":
        return { ...event, type: "REASONING_END", messageId: this.#span };
      default:
        return event;
    }
  }
}
