import assert from "node:assert/strict";
import { test } from "node:test";

import { PatchError, applyPatch } from "../static/json-patch.js";

const CASES = [
  ["adds a member", {}, [{ op: "add", path: "/a", value: 1 }], { a: 1 }],
  ["adds an element", [1, 3], [{ op: "add", path: "/1", value: 2 }], [1, 2, 3]],
  ["adds an element at the end", [1], [{ op: "add", path: "/-", value: 2 }], [1, 2]],
  ["replaces the document", { a: 1 }, [{ op: "replace", path: "", value: 2 }], 2],
  ["removes", { a: [1, 2] }, [{ op: "remove", path: "/a/0" }], { a: [2] }],
  ["moves", { a: { b: 1 } }, [{ op: "move", from: "/a/b", path: "/c" }], { a: {}, c: 1 }],
  ["copies", { a: [1] }, [{ op: "copy", from: "/a", path: "/b" }], { a: [1], b: [1] }],
  ["tests", { a: [1, { b: null }] }, [{ op: "test", path: "/a", value: [1, { b: null }] }], { a: [1, { b: null }] }],
  ["leaves out unknown operations", { a: 1 }, [{ op: "increment", path: "/a" }, { op: "constructor", path: "/a" }], { a: 1 }],
  ["reads escapes", { "a/b": { "~": 1 } }, [{ op: "replace", path: "/a~1b/~0", value: 2 }], { "a/b": { "~": 2 } }],
];

for (const [name, document, patch, expected] of CASES) {
  test(name, () => assert.deepEqual(applyPatch(document, patch), expected));
}

const REFUSED = [
  ["a missing member", {}, [{ op: "remove", path: "/a" }]],
  ["an index that is too large", [1], [{ op: "add", path: "/2", value: 1 }]],
  ["an index with a leading zero", [1, 2], [{ op: "replace", path: "/01", value: 1 }]],
  ["a test that fails", { a: 1 }, [{ op: "test", path: "/a", value: 2 }]],
  ["a path that is no pointer", {}, [{ op: "add", path: "a", value: 1 }]],
  ["a move into itself", { a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a/b" }]],
  ["a move without a path", { a: 1 }, [{ op: "move", from: "/a" }]],
  ["a move without a source", { a: 1 }, [{ op: "move", path: "/a" }]],
  ["a copy without a path", { a: 1 }, [{ op: "copy", from: "/a" }]],
  ["an inherited member", {}, [{ op: "replace", path: "/toString", value: 1 }]],
  ["something else than a list", {}, { op: "add" }],
];

for (const [name, document, patch] of REFUSED) {
  test(`refuses ${name}, and changes nothing`, () => {
    const before = structuredClone(document);
    assert.throws(() => applyPatch(document, [{ op: "test", path: "", value: before }, ...[patch].flat()]), PatchError);
    assert.deepEqual(document, before);
  });
}

test("the document is not changed", () => {
  const document = { a: [1, { b: 2 }] };
  applyPatch(document, [{ op: "replace", path: "/a/1/b", value: 3 }, { op: "add", path: "/c", value: 1 }]);
  assert.deepEqual(document, { a: [1, { b: 2 }] });
});

test("__proto__ is a member like any other", () => {
  const patched = applyPatch({}, [{ op: "add", path: "/__proto__", value: { polluted: 1 } }]);
  assert.deepEqual(Object.keys(patched), ["__proto__"]);
  assert.equal({}.polluted, undefined);
  assert.equal(patched.polluted, undefined);
});

test("copies that double the document are refused", () => {
  const patch = Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "", path: `/x${i}` }));
  assert.throws(() => applyPatch({ a: "x".repeat(100) }, patch), PatchError);
});
