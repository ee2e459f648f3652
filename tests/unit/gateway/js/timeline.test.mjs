import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_COLUMNS, Timeline } from "../static/inspector/timeline.js";

const RUN = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const END = { type: "RUN_FINISHED", threadId: "t", runId: "r" };

/** The rows of a stream whose events are 10 ms apart. */
function rowsOf(...events) {
  const timeline = new Timeline();
  events.forEach((event, index) => timeline.add(event, 1000 + 10 * index));
  return timeline.rows;
}

/** The brackets of each row, such as "run:start" or "-" for a free column. */
function drawn(rows) {
  return rows.map(({ lines }) => {
    const columns = [];
    for (const { column, pair, part } of lines) columns[column] = `${pair}:${part}`;
    return Array.from(columns, (name) => name ?? "-").join(" ");
  });
}

test("pairs are nested, and each closes where it was opened", () => {
  const rows = rowsOf(
    RUN,
    { type: "REASONING_START", messageId: "s" },
    { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta: "Hm" },
    { type: "REASONING_MESSAGE_END", messageId: "m" },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m", encryptedValue: "abc" },
    { type: "REASONING_END", messageId: "s" },
    END,
  );
  assert.deepEqual(drawn(rows), [
    "run:start",
    "run:through span:start",
    "run:through span:through reasoning:start",
    "run:through span:through reasoning:inside",
    "run:through span:through reasoning:end",
    "run:through span:through",
    "run:through span:end",
    "run:end",
  ]);
  assert.deepEqual(rows.map((row) => row.duration), [null, null, null, null, 20, null, 50, 70]);
  assert.deepEqual(rows.map((row) => row.family), [
    "run", "reasoning", "reasoning", "reasoning", "reasoning", "reasoning", "reasoning", "run",
  ]);
  assert(rows.every((row) => !row.isAlone));
});

test("pairs that overlap keep their columns", () => {
  const rows = rowsOf(
    { type: "TOOL_CALL_START", toolCallId: "a", toolCallName: "f" },
    { type: "TOOL_CALL_START", toolCallId: "b", toolCallName: "g" },
    { type: "TOOL_CALL_END", toolCallId: "a" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "h" },
    { type: "TOOL_CALL_END", toolCallId: "b" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
  );
  assert.deepEqual(drawn(rows), [
    "call:start",
    "call:through call:start",
    "call:end call:through",
    "- call:through call:start",
    "- call:end call:through",
    "- - call:end",
  ]);
});

test("a span and a message of the same ID are two pairs", () => {
  const rows = rowsOf(
    { type: "REASONING_START", messageId: "x" },
    { type: "REASONING_MESSAGE_START", messageId: "x", role: "reasoning" },
    { type: "REASONING_MESSAGE_END", messageId: "x" },
    { type: "REASONING_END", messageId: "x" },
  );
  assert.deepEqual(drawn(rows), ["span:start", "span:through reasoning:start", "span:through reasoning:end", "span:end"]);
});

test("successive deltas of a message are one row, those of another begin the next", () => {
  const delta = (messageId, text) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: text });
  const rows = rowsOf(delta("a", "It "), delta("a", "rains"), delta("b", "No"), delta("a", "."));
  assert.deepEqual(
    rows.map(({ first, count, characters, summary }) => ({ first, count, characters, summary })),
    [
      { first: 0, count: 2, characters: 8, summary: "It rains" },
      { first: 2, count: 1, characters: 2, summary: "No" },
      { first: 3, count: 1, characters: 1, summary: "." },
    ],
  );
});

test("any other event ends a series", () => {
  const delta = { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "x" };
  assert.deepEqual(rowsOf(delta, delta, { type: "RAW", event: null }, delta).map((row) => row.count), [2, 1, 1]);
});

test("chunks are collected too, whether they repeat the ID or not, and lanes stay apart", () => {
  const chunk = (more) => ({ type: "REASONING_MESSAGE_CHUNK", delta: "x", ...more });
  const rows = rowsOf(chunk({ messageId: "a" }), chunk({ messageId: "a" }), chunk({}), chunk({}), chunk({ subagentRunId: "s" }));
  assert.deepEqual(rows.map((row) => row.count), [2, 2, 1]);
});

test("five thousand deltas are one row, with a preview of bounded length", () => {
  const timeline = new Timeline();
  for (let index = 0; index < 5000; index += 1) {
    timeline.add({ type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta: "word " }, index);
  }
  assert.equal(timeline.rows.length, 1);
  assert.equal(timeline.rows[0].count, 5000);
  assert.equal(timeline.rows[0].characters, 25_000);
  assert.equal(timeline.rows[0].summary.length, 160);
});

test("an event finds its row", () => {
  const timeline = new Timeline();
  const delta = { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "x" };
  for (const event of [RUN, delta, delta, delta, END]) timeline.add(event, 0);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((index) => timeline.positionOf(index)), [0, 1, 1, 1, 2, 2]);
});

test("subagents are lanes with names, and their steps are their own", () => {
  const own = { subagentRunId: "sub-1" };
  const rows = rowsOf(
    RUN,
    { type: "STEP_STARTED", stepName: "plan" },
    { type: "SUBAGENT_STARTED", ...own, name: "researcher" },
    { type: "STEP_STARTED", stepName: "plan", ...own },
    { type: "STEP_FINISHED", stepName: "plan", ...own },
    { type: "SUBAGENT_FINISHED", ...own },
    { type: "STEP_FINISHED", stepName: "plan" },
    END,
  );
  assert.deepEqual(drawn(rows).slice(3, 7), [
    "run:through step:through subagent:through step:start",
    "run:through step:through subagent:through step:end",
    "run:through step:through subagent:end",
    "run:through step:end",
  ]);
  assert.deepEqual(rows.map((row) => row.subagent), [null, null, "researcher", "researcher", "researcher", "researcher", null, null]);
});

test("what a run leaves open is cut at its end, and the next run begins anew", () => {
  const rows = rowsOf(RUN, { type: "TEXT_MESSAGE_START", messageId: "a" }, { type: "RUN_ERROR", message: "No." }, { ...RUN, runId: "r2" });
  assert.deepEqual(drawn(rows), ["run:start", "run:through text:start", "run:end text:cut", "run:start"]);
});

test("a run that was stopped is cut where the next one begins", () => {
  const rows = rowsOf(RUN, { type: "TEXT_MESSAGE_START", messageId: "a" }, RUN, END);
  assert.deepEqual(drawn(rows), ["run:start", "run:cut text:cut", "run:start", "run:end"]);
});

test("what was never opened stands alone", () => {
  const rows = rowsOf({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "x" }, { type: "REASONING_END", messageId: "s" });
  assert.deepEqual(rows.map((row) => row.isAlone), [true, true]);
  assert.deepEqual(drawn(rows), ["", ""]);
});

test("old events without IDs are paired, and offsets count from the start of each run", () => {
  const rows = rowsOf({ type: "THINKING_START", title: "Plan" }, { type: "THINKING_END" }, RUN, END);
  assert.deepEqual(drawn(rows), ["span:start", "span:end", "run:start", "run:end"]);
  assert.deepEqual(rows.map((row) => row.offset), [0, 10, 0, 10]);
});

test("events of any shape have a row", () => {
  const shapes = [{ type: "LATER" }, { type: "TEXT_MESSAGE_CONTENT", delta: 3 }, { type: "RUN_FINISHED", outcome: null }, { type: "MESSAGES_SNAPSHOT" }];
  assert.deepEqual(rowsOf(...shapes).map((row) => row.type), shapes.map((event) => event.type));
});

test("what a broken log leaves open is drawn up to a limit, and later pairs take columns that are free again", () => {
  const open = (id) => ({ type: "TEXT_MESSAGE_START", messageId: `m${id}` });
  const many = Array.from({ length: 2000 }, (_, id) => open(id));
  const rows = rowsOf(...many, { type: "TEXT_MESSAGE_END", messageId: "m3" }, open("new"), { type: "TEXT_MESSAGE_END", messageId: "m1999" });
  assert(rows.every(({ lines }) => lines.length <= MAX_COLUMNS));
  assert.deepEqual(rows.at(-2).lines.find(({ part }) => part === "start")?.column, 3);
  assert.equal(rows.at(-1).isAlone, false);
  assert.equal(rows.at(-1).duration, 30);
});

test("a pair that is opened again is one bracket", () => {
  const start = { type: "TEXT_MESSAGE_START", messageId: "a" };
  assert.deepEqual(drawn(rowsOf(start, start, { type: "TEXT_MESSAGE_END", messageId: "a" })), ["text:start", "text:start", "text:end"]);
});

test("a row lasts until its pair is closed, and what is left open until its run ends", () => {
  const rows = rowsOf(
    RUN,
    { type: "TEXT_MESSAGE_START", messageId: "a" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "x" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "y" },
    { type: "TEXT_MESSAGE_END", messageId: "a" },
    { type: "TEXT_MESSAGE_START", messageId: "b" },
    END,
    RUN,
    { type: "TEXT_MESSAGE_START", messageId: "c" },
  );
  assert.deepEqual(rows.map(({ until, isCut }) => [until, isCut]), [
    [1060, false], [1040, false], [1030, false], [1040, false], [1060, true], [1060, false], [null, false], [null, false],
  ]);
  assert.deepEqual(rows.map(({ head, run }) => [head, run.number]), [...Array(6).fill([0, 1]), [6, 2], [6, 2]]);
});
