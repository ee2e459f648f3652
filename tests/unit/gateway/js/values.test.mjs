import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { describeValue, sizeText, valuesOf } from "../static/inspector/values.js";

/** Values that the library wrote. */
const { token, expiring, envelope } = JSON.parse(readFileSync(new URL("values.json", import.meta.url), "utf8"));

test("a token tells its key ID and its size, nothing else", () => {
  assert.deepEqual(describeValue(token), { kind: "token", bytes: token.length, keyId: "key-1" });
  assert.deepEqual(describeValue(expiring).expires, "2100-01-01T00:00:00.000Z");
});

test("a readable envelope tells what it carries", () => {
  const bytes = Buffer.byteLength(envelope);
  assert.deepEqual(describeValue(envelope), { kind: "envelope", bytes, contents: ["anthropic.signature"] });
});

test("everything else is the value of another producer", () => {
  const jose = `${Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString("base64url")}..a.b.c`;
  for (const value of ["", "U0lHTkVE", "a.b.c.d.e", jose, token.slice(0, -30).replace(/\.[^.]*$/, ""), "é".repeat(4)]) {
    assert.deepEqual(describeValue(value), { kind: "other", bytes: Buffer.byteLength(value) });
  }
});

test("half an envelope is an envelope without contents", () => {
  assert.deepEqual(describeValue('{"k":"agui-reasoning","v":2').contents, []);
  assert.deepEqual(describeValue('{"k":"agui-reasoning","units":[null,{"part":{"opaque":[{"kind":1}]}}]}').contents, []);
});

test("values are found on messages and on calls", () => {
  const messages = [
    { id: "1", role: "user", content: "Hi" },
    { id: "2", role: "reasoning", content: "", encryptedValue: "a" },
    { id: "3", role: "assistant", toolCalls: [{ id: "4" }, { id: "5", encryptedValue: "b" }] },
  ];
  assert.deepEqual(valuesOf(messages).map(({ holder, id }) => [holder, id]), [["message", "2"], ["tool call", "5"]]);
});

test("sizes are for people", () => {
  assert.deepEqual([12, 2048, 3 * 1024 * 1024].map(sizeText), ["12 bytes", "2.0 kB", "3.0 MB"]);
});
