/**
 * What the inspector knows about each type of event: its family, the pair it belongs to, and a short summary.
 *
 * @typedef {"run" | "reasoning" | "text" | "tool" | "state" | "other"} Family
 * @typedef {"run" | "subagent" | "step" | "span" | "reasoning" | "text" | "call"} Pair
 * @typedef {object} EventKind
 * @property {Family} family
 * @property {Pair} [opens] The pair that the event opens.
 * @property {Pair} [closes] The pair that it closes.
 * @property {Pair} [inside] The pair that it is part of.
 * @property {boolean} [repeats] Whether successive events of one entity are one row.
 * @property {(event: AGUIEvent) => string} summary
 * @typedef {import("../conversation.js").AGUIEvent} AGUIEvent
 */

/** The families, in the order of their filters. */
export const FAMILIES = /** @type {const} */ ([
  ["run", "Run"],
  ["reasoning", "Reasoning"],
  ["text", "Text"],
  ["tool", "Tools"],
  ["state", "State"],
  ["other", "Other"],
]);

/** The member that names the entity of a pair; old events have none. */
const ENTITY = { run: "runId", subagent: "subagentRunId", step: "stepName", call: "toolCallId" };

/** @type {Map<string, EventKind>} */
const KINDS = new Map([
  ["RUN_STARTED", { family: "run", opens: "run", summary: (event) => `run ${short(event.runId)}` }],
  ["RUN_FINISHED", { family: "run", closes: "run", summary: outcomeOf }],
  ["RUN_ERROR", { family: "run", closes: "run", summary: (event) => joined(event.code, event.message) }],
  ["STEP_STARTED", { family: "run", opens: "step", summary: (event) => textOf(event.stepName) }],
  ["STEP_FINISHED", { family: "run", closes: "step", summary: (event) => textOf(event.stepName) }],
  ["SUBAGENT_STARTED", { family: "run", opens: "subagent", summary: (event) => textOf(event.name) }],
  ["SUBAGENT_FINISHED", { family: "run", closes: "subagent", summary: () => "" }],
  ["SUBAGENT_ERROR", { family: "run", closes: "subagent", summary: (event) => textOf(event.message) }],
  ...spanKinds("REASONING"),
  ...messageKinds("REASONING_MESSAGE", "reasoning"),
  ["REASONING_ENCRYPTED_VALUE", { family: "reasoning", summary: valueOf }],
  ...spanKinds("THINKING"),
  ...messageKinds("THINKING_TEXT_MESSAGE", "reasoning"),
  ...messageKinds("TEXT_MESSAGE", "text"),
  ["TOOL_CALL_START", { family: "tool", opens: "call", summary: (event) => textOf(event.toolCallName) }],
  ["TOOL_CALL_ARGS", { family: "tool", inside: "call", repeats: true, summary: deltaOf }],
  ["TOOL_CALL_END", { family: "tool", closes: "call", summary: () => "" }],
  ["TOOL_CALL_CHUNK", { family: "tool", repeats: true, summary: deltaOf }],
  ["TOOL_CALL_RESULT", { family: "tool", summary: (event) => textOf(event.content) }],
  ["STATE_SNAPSHOT", { family: "state", summary: (event) => jsonOf(event.snapshot) }],
  ["STATE_DELTA", { family: "state", summary: (event) => jsonOf(event.delta) }],
  ["MESSAGES_SNAPSHOT", { family: "state", summary: (event) => counted(event.messages?.length ?? 0, "message") }],
  ["ACTIVITY_SNAPSHOT", { family: "state", summary: (event) => textOf(event.activityType) }],
  ["ACTIVITY_DELTA", { family: "state", repeats: true, summary: (event) => textOf(event.activityType) }],
  ["RAW", { family: "other", summary: (event) => joined(event.source, jsonOf(event.event)) }],
  ["CUSTOM", { family: "other", summary: (event) => joined(event.name, jsonOf(event.value)) }],
]);

/** @type {EventKind} */
const UNKNOWN = { family: "other", summary: () => "not an event of this protocol" };

/**
 * Returns what is known about a type of event.
 *
 * @param {string} type
 */
export function kindOf(type) {
  return KINDS.get(type) ?? UNKNOWN;
}

/**
 * Returns the ID of the entity that an event is about, within a pair.
 *
 * @param {AGUIEvent} event
 * @param {Pair | undefined} pair
 * @returns {string}
 */
export function entityOf(event, pair) {
  if (pair === "run") return ""; // an error names no run
  const name = (pair && ENTITY[pair]) ?? (event.toolCallId === undefined ? "messageId" : "toolCallId");
  return typeof event[name] === "string" ? event[name] : "";
}

/** Shortens an ID for people, keeping both ends. */
export function short(id) {
  const text = textOf(id);
  return text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-5)}` : text;
}

/** Returns a number with its noun, such as `2 events`. */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function spanKinds(stem) {
  const summary = (event) => joined(short(event.messageId), event.title);
  return [
    [`${stem}_START`, { family: "reasoning", opens: "span", summary }],
    [`${stem}_END`, { family: "reasoning", closes: "span", summary: () => "" }],
  ];
}

function messageKinds(stem, pair) {
  const family = pair;
  return [
    [`${stem}_START`, { family, opens: pair, summary: (event) => short(event.messageId) }],
    [`${stem}_CONTENT`, { family, inside: pair, repeats: true, summary: deltaOf }],
    [`${stem}_END`, { family, closes: pair, summary: () => "" }],
    [`${stem}_CHUNK`, { family, repeats: true, summary: deltaOf }],
  ];
}

function outcomeOf(event) {
  const waiting = event.outcome?.pendingToolCallIds?.length;
  return joined(event.outcome?.type, waiting ? `${counted(waiting, "call")} to answer` : "");
}

function valueOf(event) {
  return joined(event.subtype, short(event.entityId), `${counted(textOf(event.encryptedValue).length, "character")}`);
}

function deltaOf(event) {
  return textOf(event.delta);
}

function joined(...parts) {
  return parts.map(textOf).filter(Boolean).join(" · ");
}

function jsonOf(value) {
  return value === undefined ? "" : JSON.stringify(value).slice(0, 200);
}

function textOf(value) {
  return typeof value === "string" ? value : "";
}
