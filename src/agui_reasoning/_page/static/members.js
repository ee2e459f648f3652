/** Reads the members of events, which can have any shape. */

/** Merges the metadata of an event into a message or a call. */
export function mergeMetadata(target, event) {
  if (isObject(event?.metadata)) target.metadata = { ...target.metadata, ...event.metadata };
}

/** The members that an event can omit, and that some producers send as `null` instead. */
const OPTIONAL = [
  "encryptedValueType", "messageId", "metadata", "name", "outcome", "parentMessageId", "rawEvent", "role", "subagentRunId",
  "toolCallId", "toolCallName",
];

/** Returns an event without the optional members that are `null`. */
export function withoutNulls(event) {
  const isAbsent = (name) => event[name] === null;
  if (!OPTIONAL.some(isAbsent)) return event;
  return Object.fromEntries(Object.entries(event).filter(([name]) => !(OPTIONAL.includes(name) && isAbsent(name))));
}

/** Copies some members of an event, if it has them. */
export function some(event, ...names) {
  return Object.fromEntries(names.filter((name) => event[name] !== undefined).map((name) => [name, event[name]]));
}

export const listOf = (value) => (Array.isArray(value) ? value : []);
export const textOf = (value) => (typeof value === "string" ? value : "");
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCall = (value) => isObject(value) && typeof value.id === "string" && isObject(value.function);
export const isMessage = (value) => isObject(value) && typeof value.id === "string" && typeof value.role === "string"
  && (value.toolCalls === undefined || (Array.isArray(value.toolCalls) && value.toolCalls.every(isCall)));
