/**
 * What an interrupt asks, and what an answer to it is; without a screen.
 *
 * @typedef {{id: string, reason?: string, message?: string, toolCallId?: string, responseSchema?: any, expiresAt?: string}} Interrupt
 * @typedef {{interruptId: string, status: "resolved" | "cancelled", payload?: any}} Answer An entry of `resume`.
 * @typedef {{interrupt: Interrupt, answer: Answer | undefined}} Question
 * @typedef {{name: string | null, others: any}} Decision A yes or no: the property that says it, or `null` if the payload itself
 *   does; and the schema of the rest, or `null` if there is no more to say.
 */

import { isObject } from "./members.js";
import { isObjectSchema, plainSchema, propertiesOf } from "./schemas.js";

/** The property that says yes or no, beside others: AG-UI's recommendation. */
const APPROVED = "approved";

/** The property with changed arguments, which only an approval has: AG-UI's recommendation. */
export const EDITED = "editedArgs";

/** What an agent expects that describes no answer, by its reason. Others can have any JSON. */
const DEFAULTS = {
  tool_call: { type: "object", properties: { [APPROVED]: { type: "boolean" } }, required: [APPROVED] },
  confirmation: { type: "boolean" },
};

export const isInterrupt = (value) => isObject(value) && typeof value.id === "string";

/**
 * Returns the schema of the answer to an interrupt.
 *
 * @param {Interrupt} interrupt
 */
export function schemaOf({ responseSchema, reason }) {
  return isObject(responseSchema) ? responseSchema : Object.hasOwn(DEFAULTS, reason ?? "") ? DEFAULTS[reason] : {};
}

/**
 * Returns how a schema asks for a yes or no, or `null` if it asks for something else.
 *
 * @param {any} root
 * @returns {Decision | null}
 */
export function decisionOf(root) {
  const schema = plainSchema(root, root);
  if (schema.type === "boolean") return { name: null, others: null };
  if (!isObjectSchema(schema)) return null;
  const names = Object.keys(schema.properties);
  const name = names.length === 1 ? names[0] : names.includes(APPROVED) ? APPROVED : undefined;
  if (name === undefined || plainSchema(schema.properties[name], root).type !== "boolean") return null;
  const { [name]: _, ...others } = schema.properties;
  return { name, others: names.length === 1 ? null : { ...root, ...schema, properties: others } };
}

/** Returns whether the answer to an interrupt may change the arguments of its call. */
export function offersEdits(interrupt) {
  const schema = schemaOf(interrupt);
  return Object.hasOwn(propertiesOf(plainSchema(schema, schema)), EDITED);
}

/**
 * Returns the payload of a decision.
 *
 * @param {Decision} decision
 * @param {boolean} isApproved
 * @param {object} others What the fields say, without what is as it was suggested.
 */
export function payloadOf(decision, isApproved, others) {
  if (decision.name === null) return isApproved;
  const { [EDITED]: edited, ...said } = others;
  const changes = isApproved && edited !== undefined ? { [EDITED]: edited } : {};
  return { [decision.name]: isApproved, ...said, ...changes };
}

/**
 * Returns whether an interrupt can only be abandoned. A time that is no date never comes.
 *
 * @param {Interrupt} interrupt
 * @param {number} [now] In milliseconds.
 */
export function isExpired({ expiresAt }, now = Date.now()) {
  return typeof expiresAt === "string" && Date.parse(expiresAt) <= now;
}

/**
 * Returns the entry of `resume` for a question. AG-UI wants one for each: what is not decided, or too late, is abandoned.
 *
 * @param {Question} question
 * @returns {Answer}
 */
export function entryOf({ interrupt, answer }) {
  return answer && !isExpired(interrupt) ? answer : { interruptId: interrupt.id, status: "cancelled" };
}
