/** Reads the JSON Schemas of answers: as much of them as a form needs. Whatever else they say is for the agent to check. */

import { isObject } from "./members.js";

/** How many references lead to another one at most: a schema can refer to itself. */
const MAX_STEPS = 16;

/** How deep objects are shown as fields. Deeper ones are JSON. */
export const MAX_DEPTH = 4;

/**
 * Returns a schema without references, and without `null` as an alternative.
 *
 * @param {any} schema
 * @param {any} root The schema that references start from.
 * @returns {Record<string, any>}
 */
export function plainSchema(schema, root, steps = 0) {
  if (!isObject(schema) || steps > MAX_STEPS) return {};
  const { $ref, anyOf, oneOf, ...own } = schema;
  if (typeof $ref === "string") return { ...plainSchema(found(root, $ref), root, steps + 1), ...own };
  const options = [anyOf, oneOf].find(Array.isArray)?.filter((option) => option?.type !== "null");
  if (options?.length === 1) return { ...plainSchema(options[0], root, steps + 1), ...own };
  const types = Array.isArray(own.type) ? own.type.filter((type) => type !== "null") : [];
  return types.length === 1 ? { ...schema, type: types[0] } : schema;
}

/** Returns what a pointer such as `#/$defs/Name` refers to. */
function found(root, reference) {
  if (!reference.startsWith("#")) return {};
  const names = reference.slice(1).split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.reduce((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), root);
}

/** Returns whether a schema describes an object whose properties are known. */
export function isObjectSchema(schema) {
  return (schema.type ?? "object") === "object" && Object.keys(propertiesOf(schema)).length > 0;
}

/** @returns {Record<string, any>} */
export function propertiesOf(schema) {
  return isObject(schema?.properties) ? schema.properties : {};
}

/**
 * Returns the values that a schema lists, or `null` if it lists none.
 *
 * @param {Record<string, any>} schema
 * @returns {{value: any, label: string}[] | null}
 */
export function choicesOf(schema) {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, label: labelOf(value) }));
  const options = [schema.oneOf, schema.anyOf].find(Array.isArray);
  if (!options?.length || !options.every((option) => isObject(option) && Object.hasOwn(option, "const"))) return null;
  return options.map((option) => ({ value: option.const, label: typeof option.title === "string" ? option.title : labelOf(option.const) }));
}

function labelOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
