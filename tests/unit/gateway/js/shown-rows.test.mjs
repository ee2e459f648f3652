import assert from "node:assert/strict";
import { test } from "node:test";

import { Filter } from "../static/inspector/filter.js";
import { ShownRows } from "../static/inspector/shown-rows.js";
import { Timeline } from "../static/inspector/timeline.js";

const run = (runId) => ({ type: "RUN_STARTED", threadId: "t", runId });
const delta = (text, messageId = "m") => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: text });
const call = (toolCallId) => ({ type: "TOOL_CALL_START", toolCallId, toolCallName: "f" });

/** A log that can grow, and what of it a filter shows. */
function showing(filter, ...events) {
  const log = [];
  const timeline = new Timeline();
  const shown = new ShownRows(timeline, filter, () => log);
  const add = (...more) => {
    for (const event of more) {
      log.push({ event, raw: JSON.stringify(event), at: log.length });
      timeline.add(event, log.length);
    }
    shown.catchUp();
  };
  add(...events);
  const types = () => Array.from({ length: shown.length }, (_, place) => timeline.rows[shown.positionAt(place)].type);
  return { shown, add, types };
}

function filterOf({ words = "", families = [] }) {
  const filter = new Filter();
  filter.words = words;
  for (const family of families) filter.toggle(family);
  return filter;
}

test("without a filter all rows are shown, and the heading of a run is twice as high", () => {
  const { shown } = showing(filterOf({}), run("a"), call("c"), run("b"), delta("x"));
  assert.deepEqual([0, 1, 2, 3].map((place) => [shown.topOf(place), shown.unitsOf(place)]), [[0, 2], [2, 1], [3, 2], [5, 1]]);
  assert.deepEqual([0, 1.9, 2, 4.5, 5, 99].map((units) => shown.placeAt(units)), [0, 0, 1, 2, 3, 3]);
  assert.deepEqual([shown.units, shown.matched], [6, 4]);
});

test("the heading of a run is shown with the first event of the run that passes", () => {
  const { shown, types } = showing(filterOf({ families: ["tool"] }), run("a"), delta("x"), run("b"), delta("y"), call("c"), call("d"));
  assert.deepEqual(types(), ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_START"]);
  assert.deepEqual([shown.matched, shown.placeOf(0), shown.placeOf(2), shown.placeOf(5)], [2, -1, 0, 2]);
});

test("words that arrive in pieces are found when the last piece comes, and their row counts on", () => {
  const { shown, add, types } = showing(filterOf({ words: "raincoat" }), run("a"), delta("Take the ra"));
  add(delta("inco"));
  assert.deepEqual(types(), []);
  add(delta("at"), delta("."));
  assert.deepEqual([types(), shown.matched], [["RUN_STARTED", "TEXT_MESSAGE_CONTENT"], 4]);
  add(delta(" Or not."));
  assert.deepEqual([types().length, shown.matched], [2, 5]);
  add(call("c"), delta("raincoat", "n"));
  assert.deepEqual([types().length, shown.matched], [3, 6]);
});

test("what is searched is text, not a pattern, in any case", () => {
  for (const [words, found] of [["A+(B", 1], [".*", 0], ["TEXT_message", 1], ["  ", 2]]) {
    assert.equal(showing(filterOf({ words }), run("r"), delta("a+(b")).shown.matched, found, words);
  }
});

test("one family, more of them, and all again", () => {
  const filter = new Filter();
  filter.only("text");
  filter.toggle("tool");
  assert.deepEqual([[...filter.families], filter.isOff], [["text", "tool"], false]);
  filter.only("text");
  filter.only("text");
  assert.equal(filter.isOff, true);
  for (const family of ["run", "reasoning", "text", "tool", "state", "other"]) filter.toggle(family);
  assert.equal(filter.isOff, true);
});
