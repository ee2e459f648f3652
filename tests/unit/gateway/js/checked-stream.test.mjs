import assert from "node:assert/strict";
import { test } from "node:test";

import { checkedStream, isDue, shownFindings, storedStream } from "../static/inspector/checked-stream.js";

const logOf = (...types) => types.map((type) => ({ event: { type }, raw: JSON.stringify({ type }), at: 0 }));

/** The types of a stream, and the places of its events. */
function read({ body, places }) {
  return { types: JSON.parse(body).map((event) => event.type), places };
}

test("runs that ended are checked as they are", () => {
  const types = ["RUN_STARTED", "RAW", "RUN_FINISHED", "RUN_STARTED", "RUN_ERROR"];
  const expected = { types, places: [0, 1, 2, 3, 4] };
  assert.deepEqual(read(checkedStream(logOf(...types), { isStopped: true })), expected);
  assert.deepEqual(read(storedStream(logOf(...types))), expected);
});

test("a run that was stopped gets an end, and the events after it keep their places", () => {
  assert.deepEqual(read(checkedStream(logOf("RUN_STARTED", "RAW", "RUN_STARTED", "RUN_FINISHED"), { isStopped: false })), {
    types: ["RUN_STARTED", "RAW", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"],
    places: [0, 1, 2, 2, 3],
  });
});

test("the last run gets an end only if it was stopped", () => {
  const log = logOf("RUN_STARTED", "RAW");
  assert.deepEqual(read(checkedStream(log, { isStopped: true })), { types: ["RUN_STARTED", "RAW", "RUN_ERROR"], places: [0, 1, 2] });
  assert.deepEqual(read(checkedStream(log, { isStopped: false })).types, ["RUN_STARTED", "RAW"]);
});

test("a stored log gets nothing", () => {
  assert.deepEqual(read(storedStream(logOf("RUN_STARTED", "RUN_STARTED"))).types, ["RUN_STARTED", "RUN_STARTED"]);
});

test("checks of a growing log together read at most four times its length", () => {
  let checked = 0;
  let work = 0;
  for (let length = 201; length <= 50_000; length += 1) {
    if (!isDue({ length, isRunning: true }, { length: checked, isRunning: true })) continue;
    work += length;
    checked = length;
  }
  assert(work < 4 * 50_000, String(work));
});

test("a log is checked when its run ends, and never twice", () => {
  const long = (length, isRunning) => ({ length, isRunning });
  assert(isDue(long(1001, false), long(1000, true)));
  assert(!isDue(long(1001, true), long(1000, true)));
  assert(!isDue(long(1001, false), long(1001, false)));
  assert(isDue(long(3, true), long(2, true)));
});

test("a run that ends without another event is checked once more", () => {
  assert(isDue({ length: 9, isRunning: false }, { length: 9, isRunning: true }));
  assert(!isDue({ length: 9, isRunning: true }, { length: 9, isRunning: true }));
});

test("while a run goes on, its missing end is no problem", () => {
  const findings = [{ code: "truncated_run", index: 4 }, { code: "truncated_run", index: 9 }, { code: "missing_version", index: 0 }];
  assert.deepEqual(shownFindings(findings, { events: 9, isRunning: true }), [findings[0], findings[2]]);
  assert.deepEqual(shownFindings(findings, { events: 9, isRunning: false }), findings);
});
