/** Reads the members of events, which can have any shape. */

/** Merges the metadata of an event into a message or a call. */
export function mergeMetadata(target, event) {
  if (isObject(event?.metadata)) target.metadata = { ...target.metadata, ...event.metadata };
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
