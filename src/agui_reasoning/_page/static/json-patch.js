/**
 * JSON Patch (RFC 6902), applied without changing the document.
 *
 * @typedef {{op: string, path: string, from?: string, value?: unknown}} Operation
 */

/** The limit for what `copy` adds in one patch, in characters: repeated copies could double a document each time. */
const MAX_COPIED = 1_000_000;
/** The limit for the depth of the targets of operations. */
const MAX_DEPTH = 64;

/** A patch cannot be applied. */
export class PatchError extends Error {
  name = "PatchError";
}

/**
 * Returns a patched document. Parts that do not change are shared with the given document.
 *
 * @param {unknown} document
 * @param {Operation[]} operations
 * @returns {unknown}
 * @throws {PatchError} An operation does not fit; the given document is unchanged in any case.
 */
export function applyPatch(document, operations) {
  if (!Array.isArray(operations)) throw new PatchError("The patch is not a list.");
  const budget = { left: MAX_COPIED };
  return operations.reduce((patched, operation) => apply(patched, operation, budget), document);
}

/** @type {Record<string, (document: any, operation: Operation, budget: {left: number}) => unknown>} */
const OPERATIONS = {
  add: (document, { path, value }) => change(document, pointer(path), insert(value)),
  remove: (document, { path }) => change(document, pointer(path), remove),
  replace: (document, { path, value }) => change(document, pointer(path), replace(value)),
  test(document, { path, value }) {
    if (!equal(get(document, pointer(path)), value)) throw new PatchError(`The test of ${path} fails.`);
    return document;
  },
  copy(document, { from, path }, budget) {
    const value = get(document, pointer(from));
    budget.left -= (JSON.stringify(value) ?? "").length;
    if (budget.left < 0) throw new PatchError("The patch copies too much.");
    return change(document, pointer(path), insert(value));
  },
  move(document, { from, path }) {
    const [source, target] = [pointer(from), pointer(path)];
    if (path.startsWith(`${from}/`)) throw new PatchError("A value cannot be moved into itself.");
    return change(change(document, source, remove), target, insert(get(document, source)));
  },
};

/** Applies one operation. AG-UI says that unknown ones are left out. */
function apply(document, operation, budget) {
  return Object.hasOwn(OPERATIONS, operation?.op) ? OPERATIONS[operation.op](document, operation, budget) : document;
}

/** Splits a JSON pointer (RFC 6901). */
function pointer(path) {
  if (path === "") return [];
  if (typeof path !== "string" || path[0] !== "/") throw new PatchError("An operation has no valid path.");
  const keys = path.slice(1).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (keys.length > MAX_DEPTH) throw new PatchError("A path of the patch is too deep.");
  return keys;
}

function get(document, keys) {
  return keys.reduce((value, key) => value[existing(value, key)], document);
}

/** Returns the key or index of an existing member. */
function existing(container, key) {
  if (Array.isArray(container)) {
    if (/^(0|[1-9]\d*)$/.test(key) && Number(key) < container.length) return Number(key);
  } else if (isObject(container) && Object.hasOwn(container, key)) {
    return key;
  }
  throw new PatchError(`The member ${JSON.stringify(key)} does not exist.`);
}

const insert = (value) => (container, key) => {
  if (container === null) return value;
  if (!Array.isArray(container)) return withMember(container, key, value);
  const atEnd = key === "-" || key === String(container.length);
  const index = atEnd ? container.length : existing(container, key);
  return container.toSpliced(index, 0, value);
};

const replace = (value) => (container, key) => {
  if (container === null) return value;
  const name = existing(container, key);
  return Array.isArray(container) ? container.with(name, value) : withMember(container, name, value);
};

function remove(container, key) {
  if (container === null) return null;
  const name = existing(container, key);
  if (Array.isArray(container)) return container.toSpliced(name, 1);
  return Object.fromEntries(Object.entries(container).filter(([member]) => member !== name));
}

/** Copies an object. `fromEntries` defines members, so that `__proto__` is a member like any other. */
function withMember(container, key, value) {
  const members = new Map(Object.entries(container));
  return Object.fromEntries(members.set(key, value));
}

/** Applies an edit at the end of a path; the edit of the whole document gets `null` as its container. */
function change(document, keys, edit) {
  if (keys.length === 0) return edit(null, "");
  const [key, ...rest] = keys;
  if (!Array.isArray(document) && !isObject(document)) throw new PatchError("A path of the patch does not exist.");
  if (rest.length === 0) return edit(document, key);
  const name = existing(document, key);
  return replace(change(document[name], rest, edit))(document, String(name));
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function equal(one, other) {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((value, i) => equal(value, other[i]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length
    && keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]));
}
