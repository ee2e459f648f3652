/**
 * Describes encrypted values without reading what they protect: their kind, their key and their size.
 *
 * @typedef {object} ValueDescription
 * @property {"token" | "envelope" | "other"} kind
 * @property {number} bytes
 * @property {string} [keyId] The ID of the key of a token, from its header.
 * @property {string} [expires] When a token expires, in ISO 8601.
 * @property {string[]} [contents] What a readable envelope carries, such as `anthropic.signature`.
 */

/** The first characters of this project's readable envelopes. */
const ENVELOPE = '{"k":"agui-reasoning"';
const TOKEN_TYPE = "agui-reasoning+jwe";
/** The longest header of a token, in characters. */
const MAX_HEADER = 1024;

/**
 * Describes an encrypted value.
 *
 * @param {string} value
 * @returns {ValueDescription}
 */
export function describeValue(value) {
  const bytes = bytesOf(value);
  if (value.startsWith(ENVELOPE)) return { kind: "envelope", bytes, contents: contentsOf(value) };
  const header = headerOf(value);
  if (header === null) return { kind: "other", bytes };
  const expires = Number.isFinite(header.exp) ? { expires: isoOf(header.exp) } : {};
  return { kind: "token", bytes, keyId: String(header.kid ?? ""), ...expires };
}

/**
 * Returns the values in a history, each with its holder.
 *
 * @param {import("../conversation.js").Message[]} messages
 * @returns {{holder: string, id: string, value: ValueDescription}[]}
 */
export function valuesOf(messages) {
  return messages.flatMap((message) => [
    ...(typeof message.encryptedValue === "string" ? [entry("message", message)] : []),
    ...(message.toolCalls ?? []).filter((call) => typeof call.encryptedValue === "string").map((call) => entry("tool call", call)),
  ]);
}

/** Returns the size of a text in UTF-8, in bytes. */
export function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

/** Returns a size for people. */
export function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)} kB` : `${(kilobytes / 1024).toFixed(1)} MB`;
}

function entry(holder, { id, encryptedValue }) {
  return { holder, id, value: describeValue(encryptedValue) };
}

/** Returns the header of one of this project's tokens, or `null`. */
function headerOf(value) {
  const [head, ...rest] = value.slice(0, MAX_HEADER + 2).split(".", 2);
  if (rest.length === 0 || value.split(".", 6).length !== 5) return null;
  const header = parse(decoded(head));
  return header?.typ === TOKEN_TYPE ? header : null;
}

function contentsOf(value) {
  const units = parse(value)?.units;
  const kinds = (Array.isArray(units) ? units : []).flatMap((unit) => {
    const opaque = unit?.part?.opaque;
    return (Array.isArray(opaque) ? opaque : []).map((one) => one?.kind);
  });
  return [...new Set(kinds.filter((kind) => typeof kind === "string"))];
}

function decoded(base64url) {
  try {
    return atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

function isoOf(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
