/**
 * Says what an `encryptedValue` is. The page belongs to the producer of these values, so it may look at those that are
 * not encrypted.
 *
 * @typedef {"none" | "encrypted" | "redacted" | "opaque"} Held What a reasoning message carries besides its text.
 */

const TOKEN = /^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/;
const ENVELOPE = "agui-reasoning";

/** Returns whether a value is encrypted by the gateway: a JWE in compact serialization. */
export function isToken(value) {
  return typeof value === "string" && TOKEN.test(value);
}

/**
 * Returns the units of a value that is not encrypted, or `null` if it cannot be read.
 *
 * @param {unknown} value
 * @returns {any[] | null}
 */
export function unitsOf(value) {
  try {
    const envelope = JSON.parse(String(value));
    return envelope?.k === ENVELOPE && Array.isArray(envelope.units) ? envelope.units : null;
  } catch {
    return null;
  }
}

/**
 * Returns what a reasoning message carries that people cannot read.
 *
 * @param {import("./conversation.js").Message} message
 * @returns {Held}
 */
export function heldBy(message) {
  if (message.encryptedValue === undefined) return "none";
  if (isToken(message.encryptedValue)) return "encrypted";
  const units = unitsOf(message.encryptedValue);
  if (units === null) return message.content ? "none" : "opaque";
  const kinds = units.filter(isTextless).flatMap((unit) => unit.part.opaque).map((opaque) => String(opaque?.kind));
  if (kinds.some((kind) => kind.includes("redacted"))) return "redacted";
  if (kinds.some((kind) => kind.includes("encrypted"))) return "encrypted";
  return kinds.length ? "opaque" : "none";
}

/** Returns whether a unit of reasoning has nothing to show. */
function isTextless(unit) {
  const { part, lengths } = unit ?? {};
  return part?.kind === "reasoning" && Array.isArray(part.opaque) && !(lengths?.length > 0);
}
