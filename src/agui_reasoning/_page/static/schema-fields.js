/**
 * The fields of a form, made of a JSON Schema. The browser checks them, and says what is wrong.
 *
 * @typedef {{element: HTMLElement, read: () => any}} Field `read` returns `undefined` if nothing was given.
 * @typedef {{name?: string, isRequired?: boolean, value?: any, depth?: number}} Place
 */

import { h } from "./dom.js";
import { newId } from "./ids.js";
import { isObject } from "./members.js";
import { MAX_DEPTH, choicesOf, isObjectSchema, plainSchema } from "./schemas.js";

/** The types of input for formats of strings. */
const FORMATS = { date: "date", email: "email", uri: "url" };

/** Texts that may be longer than this get more than one line. */
const LONG = 200;

/**
 * Creates the field for a value.
 *
 * @param {any} given The schema of the value.
 * @param {any} root The schema that references start from.
 * @param {Place} [place] The name of the value, whether there must be one, and what it is at first.
 * @returns {Field}
 */
export function fieldOf(given, root, { name = "", isRequired = false, value, depth = 0 } = {}) {
  const schema = plainSchema(given, root);
  const place = { name, isRequired, value: value ?? schema.default, depth };
  const choices = choicesOf(schema);
  if (choices) return choiceField(schema, place, choices);
  if (isObjectSchema(schema) && depth < MAX_DEPTH) return objectField(schema, root, place);
  return (Object.hasOwn(TYPES, schema.type ?? "") ? TYPES[schema.type] : jsonField)(schema, place);
}

const TYPES = { boolean: booleanField, string: textField, number: numberField, integer: numberField };

function objectField(schema, root, { name, isRequired, value, depth }) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const held = isObject(value) ? value : {};
  const fields = Object.entries(schema.properties).map(([key, property]) => {
    const place = { name: key, isRequired: isRequired && required.has(key), value: held[key], depth: depth + 1 };
    return { key, ...fieldOf(property, root, place) };
  });
  const read = () => {
    const members = fields.map(({ key, read: readOne }) => [key, readOne()]).filter(([, member]) => member !== undefined);
    return members.length || isRequired ? Object.fromEntries(members) : undefined;
  };
  const elements = fields.map(({ element }) => element);
  if (depth === 0) return { element: h("div", { class: "fields" }, ...elements), read };
  const hint = hintOf(schema);
  return { element: h("fieldset", { class: "fields" }, h("legend", {}, titleOf(schema, name)), hint && h("p", { class: "field-hint" }, hint), ...elements), read };
}

function booleanField(schema, place) {
  if (!place.isRequired && typeof place.value !== "boolean") {
    return choiceField(schema, place, [{ value: true, label: "Yes" }, { value: false, label: "No" }]);
  }
  const control = h("input", { type: "checkbox" });
  control.checked = place.value === true;
  return labelled(schema, { ...place, isRequired: false }, control, () => control.checked, "field field-check");
}

function choiceField(schema, place, choices) {
  const chosen = choices.findIndex(({ value }) => isSame(value, place.value));
  const options = choices.map(({ label }, index) => h("option", { value: index }, label));
  const blank = place.isRequired && chosen >= 0 ? [] : [h("option", { value: "" }, place.isRequired ? "Choose…" : "No answer")];
  const control = h("select", { required: place.isRequired }, ...blank, ...options);
  control.value = chosen < 0 ? "" : String(chosen);
  return labelled(schema, place, control, () => choices[control.value]?.value);
}

function textField(schema, place) {
  const { minLength, maxLength, pattern, format } = schema;
  const limits = { required: place.isRequired, minlength: minLength, maxlength: maxLength };
  const isLong = maxLength > LONG || (typeof place.value === "string" && place.value.includes("\n"));
  const type = Object.hasOwn(FORMATS, format ?? "") ? FORMATS[format] : "text";
  const control = isLong ? h("textarea", { rows: 3, ...limits }) : h("input", { type, ...limits });
  control.value = typeof place.value === "string" ? place.value : "";
  const matches = matcher(pattern);
  checked(control, (text) => (matches(text) ? "" : `This must match ${pattern}`));
  return labelled(schema, place, control, () => control.value || undefined);
}

function numberField(schema, place) {
  const step = schema.type === "integer" ? 1 : "any";
  const control = h("input", { type: "number", step, min: schema.minimum, max: schema.maximum, required: place.isRequired });
  control.value = typeof place.value === "number" ? String(place.value) : "";
  return labelled(schema, place, control, () => (Number.isNaN(control.valueAsNumber) ? undefined : control.valueAsNumber));
}

/** What no other field can show. */
function jsonField(schema, place) {
  const control = h("textarea", { class: "field-json", rows: 3, spellcheck: "false", required: place.isRequired });
  control.value = place.value === undefined ? "" : JSON.stringify(place.value, null, 2);
  checked(control, (text) => (parsed(text) === undefined ? "This is not valid JSON. Put texts into double quotes." : ""));
  return labelled({ ...schema, title: `${titleOf(schema, place.name) || "Answer"}, as JSON` }, place, control, () => parsed(control.value));
}

/** Adds a label and a hint to a control. */
function labelled(schema, { name, isRequired }, control, read, className = "field") {
  control.id = `field-${newId()}`;
  const hint = hintOf(schema);
  const label = h("label", { for: control.id }, titleOf(schema, name) || "Answer", isRequired ? null : h("span", { class: "field-optional" }, " (optional)"));
  if (control.type === "checkbox") label.lastChild?.remove();
  if (hint) control.setAttribute("aria-describedby", `${control.id}-hint`);
  const described = hint && h("p", { class: "field-hint", id: `${control.id}-hint` }, hint);
  const parts = control.type === "checkbox" ? [control, label] : [label, control];
  return { element: h("div", { class: className }, ...parts, described), read };
}

/** Lets the browser refuse a text, unless there is none. */
function checked(control, faultOf) {
  const check = () => control.setCustomValidity(control.value ? faultOf(control.value) : "");
  control.addEventListener("input", check);
  check();
}

function matcher(pattern) {
  try {
    const expression = new RegExp(pattern ?? "", "u");
    return (text) => expression.test(text);
  } catch {
    return () => true;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const titleOf = (schema, name) => (typeof schema.title === "string" ? schema.title : name);
const hintOf = (schema) => (typeof schema.description === "string" ? schema.description : null);
