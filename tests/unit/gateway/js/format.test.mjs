import assert from "node:assert/strict";
import { test } from "node:test";

import { previewOf } from "../static/format.js";

const PREVIEWS = [
  ["", ""],
  ["First line\nsecond", "First line"],
  ["\n\n  Indented", "Indented"],
  ["**One**\n\ntext\n\n**Two**\n\nmore", "Two"],
  ["# One\n\ntext\n\n## Two\nmore", "Two"],
  ["- a `b` **c**\n- d", "a b c"],
  ["> quoted", "quoted"],
  ["2 * 3 **is** six", "2 * 3 is six"],
  ["x".repeat(500), "x".repeat(200)],
];

test("one line stands for reasoning: its newest heading, else its first line, without marks", () => {
  assert.deepEqual(PREVIEWS.map(([text]) => previewOf(text)), PREVIEWS.map(([, preview]) => preview));
});
