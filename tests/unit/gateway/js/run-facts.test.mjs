import assert from "node:assert/strict";
import { test } from "node:test";

import { RunFacts } from "../static/inspector/run-facts.js";

const STARTED = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const delta = (type, text) => ({ type, messageId: "m", delta: text });
const ended = (members) => ({ type: "RUN_FINISHED", threadId: "t", runId: "r", ...members });
const because = (finishReason) => ended({ metadata: { "agui-reasoning": { finishReason } } });

/** The facts of a run whose events are 10 ms apart. */
function factsOf(...events) {
  const facts = new RunFacts(1);
  events.forEach((event, index) => facts.add(event, 1000 + 10 * index));
  return facts;
}

test("the first token is the first piece that is not empty, whatever it belongs to", () => {
  assert.equal(factsOf(STARTED, { type: "REASONING_START" }, delta("REASONING_MESSAGE_CONTENT", "Hm")).untilFirstToken, 20);
  assert.equal(factsOf(STARTED, delta("TEXT_MESSAGE_CHUNK", ""), delta("TEXT_MESSAGE_CHUNK", "Hm")).untilFirstToken, 20);
  assert.equal(factsOf(STARTED, { type: "TOOL_CALL_START" }, delta("TOOL_CALL_ARGS", "{}")).untilFirstToken, 10);
  assert.equal(factsOf(STARTED, delta("THINKING_TEXT_MESSAGE_CONTENT", "Hm")).untilFirstToken, 10);
  assert.equal(factsOf(STARTED, { type: "TEXT_MESSAGE_START" }, ended()).untilFirstToken, null);
});

test("tokens of several models are added, and what none of them counts is not known", () => {
  const usage = [{ model: "a", inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 }, { model: "b", inputTokens: 1 }, { model: "a", outputTokens: 4 }, null];
  const { tokens, models } = factsOf(STARTED, ended({ usage }));
  assert.deepEqual([tokens, models], [{ input: 6, output: 6, reasoning: null, cached: 3 }, ["a", "b"]]);
  assert.equal(factsOf(STARTED, ended({ usage: "many" })).tokens, null);
});

test("a run ends with the finish reason of the provider, else with its outcome", () => {
  const endings = [because("end_turn"), because("MAX_TOKENS"), because("refusal"), ended({ outcome: { type: "interrupt" } }), ended({ outcome: { type: "cancelled" } }), ended()];
  assert.deepEqual(endings.map((event) => factsOf(STARTED, event)).map(({ state, ending, isIncomplete }) => [state, ending, isIncomplete]), [
    ["finished", "end_turn", false],
    ["finished", "MAX_TOKENS", true],
    ["finished", "refusal", true],
    ["finished", "interrupt", false],
    ["finished", "cancelled", true],
    ["finished", "", false],
  ]);
});

test("a run that failed ends with the code of its error", () => {
  const { state, ending, isIncomplete, duration } = factsOf(STARTED, { type: "RUN_ERROR", message: "No.", code: "overloaded" });
  assert.deepEqual([state, ending, isIncomplete, duration], ["failed", "overloaded", true, 10]);
  assert.equal(factsOf(STARTED, { type: "RUN_ERROR", message: "No." }).ending, "error");
});
