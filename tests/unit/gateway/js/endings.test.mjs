import assert from "node:assert/strict";
import { test } from "node:test";

import { Conversation } from "../static/conversation.js";
import { endingOf } from "../static/endings.js";

const KINDS = {
  cut: ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "REASON_MAX_LEN", "incomplete", "insufficient_system_resource"],
  full: ["model_context_window_exceeded", "model_length", "REASON_MAX_CONTEXT"],
  filtered: ["content_filter", "content_filtered", "guardrail_intervened", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "SPII", "ERROR_TOXIC"],
  declined: ["refusal"],
};

for (const [kind, reasons] of Object.entries(KINDS)) {
  test(`finish reasons of what is ${kind}`, () => assert.deepEqual(reasons.map(endingOf), reasons.map(() => ({ kind }))));
}

test("the usual ends, and reasons of any other shape, are no endings", () => {
  const usual = ["stop", "end_turn", "STOP", "tool_calls", "tool_use", "completed", "COMPLETE", "REASON_STOP", "constructor", "", null, undefined, {}, 7];
  assert.deepEqual(usual.map(endingOf), usual.map(() => null));
});

const RUN = { threadId: "t", runId: "r" };
const started = (...messages) => ({ type: "RUN_STARTED", ...RUN, input: { messages } });
const finished = (finishReason) => ({ type: "RUN_FINISHED", ...RUN, metadata: { "agui-reasoning": { finishReason } } });
const user = (id) => ({ id, role: "user", content: "?" });

function endingsAfter(...events) {
  const conversation = new Conversation("t");
  for (const event of events) conversation.receive(event);
  return [...conversation.endings];
}

test("each question has the ending of its last run, in a log too", () => {
  const failed = { type: "RUN_ERROR", message: "No", code: "overloaded" };
  const events = [started(user("u1")), failed, started(user("u1"), user("u2")), finished("length")];
  const both = [["u1", { kind: "failed", code: "overloaded" }], ["u2", { kind: "cut" }]];
  assert.deepEqual(endingsAfter(...events), both);
  assert.deepEqual(endingsAfter(...events, started()), both.slice(0, 1));
  assert.deepEqual(endingsAfter(...events, started(), finished("stop")), both.slice(0, 1));
});

test("endings end with their questions", () => {
  const conversation = new Conversation("t", { messages: [user("u1"), user("u2")], endings: [["u1", { kind: "stopped" }], ["u2", { kind: "cut" }]] });
  assert.deepEqual(conversation.ending, { kind: "cut" });
  conversation.truncateBefore("u2");
  assert.deepEqual([...conversation.endings], [["u1", { kind: "stopped" }]]);
  assert.deepEqual(conversation.ending, { kind: "stopped" });
});
