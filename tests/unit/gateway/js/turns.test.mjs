import assert from "node:assert/strict";
import { test } from "node:test";

import { turnsOf } from "../static/turns.js";

const user = (id) => ({ id, role: "user", content: "?" });
const reasoning = (id) => ({ id, role: "reasoning", content: "Hm" });
const call = (id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
const assistant = (id, content, ...calls) => ({ id, role: "assistant", content, ...(calls.length && { toolCalls: calls.map(call) }) });
const tool = (id, toolCallId) => ({ id, role: "tool", toolCallId, content: "4C" });

/** Each turn as the ids of its items; reasoning in brackets. */
function drawn(...messages) {
  return turnsOf(messages).map((turn) => (turn.kind === "question" ? turn.message.id : turn.items.map(drawnItem).join(" ")));
}

function drawnItem(item) {
  if (item.kind === "reasoning") return `[${item.messages.map(({ id }) => id).join(" ")}]`;
  return item.kind === "call" ? `${item.call.id}=${item.result?.id ?? "?"}` : item.message.id;
}

test("reasoning is where it happened", () => {
  assert.deepEqual(drawn(user("u"), reasoning("r1"), assistant("a", "Yes")), ["u", "[r1] a"]);
});

test("reasoning that follows a call stays below it, also when an answer has come", () => {
  const flight = [user("u"), reasoning("r1"), assistant("a1", "", "c1"), tool("t1", "c1"), reasoning("r2")];
  assert.deepEqual(drawn(...flight), ["u", "[r1] c1=t1 [r2]"]);
  assert.deepEqual(drawn(...flight, assistant("a2", "Yes")), ["u", "[r1] c1=t1 [r2] a2"]);
});

test("reasoning messages one after the other are one item, unless they are of different agents", () => {
  const ofAgent = { ...reasoning("r3"), subagentRunId: "s" };
  assert.deepEqual(drawn(reasoning("r1"), reasoning("r2"), ofAgent), ["[r1 r2] [r3]"]);
});

test("how a question was answered follows it, except for the last one", () => {
  const endings = new Map([["u1", { kind: "failed", code: "overloaded" }], ["u2", { kind: "stopped" }], ["u3", { kind: "cut" }]]);
  const turns = turnsOf([user("u1"), user("u2"), assistant("a2", "Half"), user("u3"), assistant("a3", "Half")], endings);
  const told = turns.map((turn) => (turn.kind === "ending" ? [turn.question, turn.ending.kind, turn.hasAnswer] : turn.kind));
  assert.deepEqual(told, ["question", ["u1", "failed", false], "question", "answer", ["u2", "stopped", true], "question", "answer"]);
});

test("no reasoning is shown twice, in whatever order messages come", () => {
  const messages = [reasoning("r1"), assistant("a1", "A"), reasoning("r2"), assistant("a2", "", "c1"), reasoning("r3"), assistant("a3", "B"), reasoning("r4")];
  const shown = drawn(...messages).join(" ").match(/r\d/g);
  assert.deepEqual(shown.toSorted(), ["r1", "r2", "r3", "r4"]);
});

test("a call knows the reasoning that led to it: as the producer says, else what came before it", () => {
  const hinted = { ...call("c2"), metadata: { "agui-reasoning": { reasoning: ["r1"] } } };
  const [turn] = turnsOf([reasoning("r1"), reasoning("r2"), { id: "a", role: "assistant", toolCalls: [call("c1"), hinted] }]);
  assert.deepEqual(turn.items.filter(({ kind }) => kind === "call").map(({ reasoningId }) => reasoningId), ["r2", "r1"]);
});

test("each question has its answer; system messages are not shown", () => {
  const messages = [{ id: "s", role: "system", content: "Be brief" }, user("u1"), assistant("a1", "A"), user("u2"), assistant("a2", "B")];
  assert.deepEqual(drawn(...messages), ["u1", "a1", "u2", "a2"]);
});

test("a message without words makes no bubble", () => {
  assert.deepEqual(drawn(user("u"), assistant("a", " \n", "c1")), ["u", "c1=?"]);
});
