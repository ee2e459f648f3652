import assert from "node:assert/strict";
import { test } from "node:test";

import { pauser } from "../static/pause.js";

test("work at a stretch is interrupted after 12 ms, and what waited meanwhile runs first", async () => {
  let time = 0;
  const pause = pauser(() => time);
  time = 11;
  assert.equal(pause.due(), null);
  time = 12;
  const seen = [];
  setImmediate(() => seen.push("another task"));
  await pause.due();
  seen.push("the work");
  assert.deepEqual(seen, ["another task", "the work"]);
  time = 23;
  assert.equal(pause.due(), null);
  time = 24;
  pause.begin(); // it waited for the network
  assert.equal(pause.due(), null);
});
