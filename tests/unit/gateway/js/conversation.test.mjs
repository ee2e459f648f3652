import assert from "node:assert/strict";
import { test } from "node:test";

import { Conversation } from "../static/conversation.js";

const RUN = { threadId: "t", runId: "r" };
const started = { type: "RUN_STARTED", ...RUN };
const finished = { type: "RUN_FINISHED", ...RUN };

function after(events, stored) {
  const conversation = new Conversation("t", stored);
  for (const [index, event] of events.entries()) conversation.receive(event, event.at ?? index);
  return conversation;
}

const thought = (id, text, metadata) => [
  { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning", at: 1000 },
  { type: "REASONING_MESSAGE_CONTENT", messageId: id, delta: text },
  { type: "REASONING_MESSAGE_END", messageId: id, at: 3500, ...(metadata && { metadata }) },
];
const called = (id) => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: "get_forecast", parentMessageId: "m1" },
  { type: "TOOL_CALL_ARGS", toolCallId: id, delta: '{"place": "Bergen"}' },
  { type: "TOOL_CALL_END", toolCallId: id },
];

test("what is not known is kept and sent back untouched", () => {
  const messages = [
    { id: "u1", role: "user", content: "Hi", future: { a: [1] } },
    { id: "r1", role: "reasoning", content: "Hm", encryptedValue: "v", encryptedValueType: "t", metadata: { x: { y: 1 } } },
  ];
  const { messages: sent, protocolVersion } = after([started, finished], { messages: structuredClone(messages) }).runInput({ runId: "r2" });
  assert.deepEqual(sent, messages);
  assert.equal(protocolVersion, "1.0");
});

test("unknown events change nothing", () => {
  const { messages, status } = after([started, { type: "FUTURE", messageId: "x" }, { type: "RAW", event: {} }, finished]);
  assert.deepEqual([messages, status], [[], "finished"]);
});

test("unknown events do not end a message that arrives in chunks", () => {
  const { messages } = after([started, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "A" }, { type: "FUTURE" }, { type: "TEXT_MESSAGE_CHUNK", delta: "B" }, finished]);
  assert.deepEqual(messages.map(({ content }) => content), ["AB"]);
});

test("a chunk with the raw event of its producer is content, and empty", () => {
  const messages = [{ id: "m1", role: "user", content: [] }];
  const conversation = after([started, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", rawEvent: 0 }, finished], { messages });
  assert.deepEqual(conversation.message("m1").content, [{ type: "text", text: "" }]);
});

test("activities are not sent back", () => {
  const events = [started, { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "plan", content: {} }, finished];
  assert.deepEqual(after(events).runInput({ runId: "r2" }).messages, []);
});

test("the calls that wait for this client are those without result, once the run has finished", () => {
  const open = after([started, ...called("c1"), ...called("c2")]);
  assert.deepEqual(open.pendingToolCalls, []);
  open.receive({ type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "4C" });
  open.receive(finished);
  assert.deepEqual(open.pendingToolCalls.map(({ id }) => id), ["c2"]);
  open.addToolResult("t2", "c2", "5C", "It failed.");
  assert.deepEqual(open.pendingToolCalls, []);
  assert.deepEqual(open.messages.map(({ id }) => id), ["m1", "t1", "t2"]);
  assert.equal(open.message("t2").error, "It failed.");
});

test("the calls that wait are those that the producer names", () => {
  const outcome = { type: "success", pendingToolCallIds: ["c2"] };
  const conversation = after([started, ...called("c1"), ...called("c2"), { ...finished, outcome }]);
  assert.deepEqual(conversation.pendingToolCalls.map(({ id }) => id), ["c2"]);
});

for (const [name, event] of Object.entries({
  "that failed": { type: "RUN_ERROR", message: "No." },
  "that was stopped": { type: "RUN_ERROR", message: "", code: "abort" },
  "that was cancelled": { ...finished, outcome: { type: "cancelled" } },
  "that was interrupted": { ...finished, outcome: { type: "interrupt", interrupts: [{ id: "i" }] } },
})) {
  test(`no call waits after a run ${name}`, () => {
    assert.deepEqual(after([started, ...called("c1"), event]).pendingToolCalls, []);
  });
}

test("members that are null are absent", () => {
  const { messages, status } = after([
    started, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "get_forecast", parentMessageId: null, rawEvent: null },
    { type: "TOOL_CALL_CHUNK", toolCallId: "c2", toolCallName: "get_forecast", parentMessageId: null },
    { type: "TOOL_CALL_CHUNK", toolCallId: null, delta: "{}" },
    { type: "TEXT_MESSAGE_START", messageId: "m2", name: null, subagentRunId: null }, { ...finished, outcome: null, result: null },
  ]);
  const call = (id, text) => ({ id, role: "assistant", toolCalls: [{ id, type: "function", function: { name: "get_forecast", arguments: text } }] });
  assert.deepEqual(messages, [call("c1", ""), call("c2", "{}"), { id: "m2", role: "assistant", content: "" }]);
  assert.equal(status, "finished");
});

test("a state of null is a state", () => {
  assert.equal(after([started, { type: "STATE_SNAPSHOT", snapshot: null }]).state, null);
});

test("a stop is no failure", () => {
  const { status, failure } = after([started, { type: "RUN_ERROR", message: "aborted", code: "abort" }]);
  assert.deepEqual([status, failure], ["stopped", null]);
});

test("a failure has a code and a sentence", () => {
  const { status, failure } = after([started, { type: "RUN_ERROR", message: "No.", code: "overloaded" }]);
  assert.deepEqual([status, failure], ["failed", { code: "overloaded", message: "No." }]);
});

test("the stored calls of a thread wait after a reload", () => {
  const { messages } = after([started, ...called("c1"), finished]);
  const again = new Conversation("t", { messages: structuredClone(messages), status: "finished", pendingToolCallIds: ["c1"] });
  assert.deepEqual(again.pendingToolCalls.map(({ id }) => id), ["c1"]);
});

test("how long reasoning took is what the server measured, else what this client saw", () => {
  const measured = { "agui-reasoning": { durationMs: 900 } };
  const { durations } = after([started, ...thought("r1", "Hm"), ...thought("r2", "Hm", measured), finished]);
  assert.deepEqual([...durations], [["r1", 2500], ["r2", 900]]);
});

test("reasoning that is cut off is measured too, and not open any more", () => {
  const conversation = after([started, ...thought("r1", "Hm").slice(0, 2)]);
  assert.equal(conversation.isOpen("r1"), true);
  conversation.endRun("stopped", null, 2000);
  assert.deepEqual([conversation.isOpen("r1"), conversation.durations.get("r1")], [false, 1000]);
});

test("cutting back removes a message and all that follow", () => {
  const messages = ["u1", "a1", "u2", "a2"].map((id) => ({ id, role: id.startsWith("u") ? "user" : "assistant", content: id }));
  const conversation = new Conversation("t", { messages });
  conversation.truncateBefore("u2");
  assert.deepEqual(conversation.messages.map(({ id }) => id), ["u1", "a1"]);
  assert.equal(conversation.message("a2"), undefined);
  conversation.truncateBefore("unknown");
  assert.equal(conversation.messages.length, 2);
});

test("a call that was cut away does not wait", () => {
  const conversation = after([started, { type: "TEXT_MESSAGE_START", messageId: "m1" }, ...called("c1"), finished]);
  conversation.truncateBefore("m1");
  assert.deepEqual([conversation.messages, conversation.pendingToolCalls], [[], []]);
});

test("old THINKING events become reasoning", () => {
  const { messages } = after([
    started, { type: "THINKING_START" }, { type: "THINKING_TEXT_MESSAGE_START" },
    { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "Hm" }, { type: "THINKING_TEXT_MESSAGE_END" }, { type: "THINKING_END" }, finished,
  ]);
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [["reasoning", "Hm"]]);
});

test("the events of the log are not changed by what follows", () => {
  const snapshot = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m1", role: "assistant", content: "A" }] };
  const before = structuredClone(snapshot);
  const conversation = after([started, snapshot, { type: "TEXT_MESSAGE_START", messageId: "m1" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "B" }]);
  assert.equal(conversation.message("m1").content, "AB");
  assert.deepEqual(snapshot, before);
});

const HOSTILE = [
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: { a: 1 } },
  { type: "TEXT_MESSAGE_START", messageId: "__proto__", metadata: JSON.parse('{"__proto__": {"polluted": 1}}') },
  { type: "TOOL_CALL_START", toolCallId: "constructor", toolCallName: 7 },
  { type: "MESSAGES_SNAPSHOT", messages: [null, 5, { id: 1 }, { id: "x", role: "assistant", toolCalls: 7 }] },
  { type: "RUN_STARTED", input: { messages: "no" } },
  { type: "RUN_FINISHED", outcome: { type: "constructor", pendingToolCallIds: 7 } },
  { type: "STATE_DELTA", delta: [{ op: "add", path: "/__proto__/polluted", value: 1 }] },
  { type: "ACTIVITY_DELTA", messageId: "a", patch: null },
  { type: "RUN_ERROR", message: {}, code: [] },
  { type: "__proto__" },
];

test("events of any shape break nothing", () => {
  const conversation = after([started, ...HOSTILE, finished]);
  assert.equal({}.polluted, undefined);
  assert.equal(conversation.status, "finished");
});

test("the work is linear: the same number of steps for each delta", () => {
  const conversation = after([started, { type: "TEXT_MESSAGE_START", messageId: "m1" }]);
  for (let i = 0; i < 200_000; i += 1) conversation.receive({ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "word " });
  assert.equal(conversation.message("m1").content.length, 1_000_000);
});
