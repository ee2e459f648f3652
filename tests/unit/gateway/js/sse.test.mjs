import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameReader, StreamError, readEvents } from "../static/sse.js";

const encoder = new TextEncoder();

/** A response that arrives in these pieces. */
function responseOf(...pieces) {
  return new Response(new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      controller.close();
    },
  }));
}

async function eventsOf(...pieces) {
  const events = [];
  for await (const { event } of readEvents(responseOf(...pieces))) events.push(event);
  return events;
}

const EVENTS = [{ type: "A", text: "Ære \u{1F327} x" }, { type: "B" }, { type: "C", text: "line\nbreak" }];
const LINE_ENDS = { LF: "\n", CR: "\r", CRLF: "\r\n" };
const framed = (end) => `: hello${end}${end}${EVENTS.map((event) => `event: x${end}data: ${JSON.stringify(event)}${end}${end}`).join(`:keep-alive${end}${end}`)}`;

for (const [name, end] of Object.entries(LINE_ENDS)) {
  test(`any split gives the same events, with lines that end in ${name}`, async () => {
    const bytes = encoder.encode(framed(end));
    for (let size = 1; size < 40; size += 1) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
      assert.deepEqual(await eventsOf(...pieces), EVENTS, `pieces of ${size} bytes`);
    }
  });
}

test("data over several lines is joined", () => {
  assert.deepEqual(new FrameReader().feed('data: {"type":\ndata:"A"}\n\n'), ['{"type":\n"A"}']);
});

test("other fields, comments and frames without data are ignored", () => {
  assert.deepEqual(new FrameReader().feed("id: 1\nretry: 5\nevent: x\n\n: comment\n\ndata\n\ndatax: 1\n\n"), [""]);
});

test("a line that ends between CR and LF is one line", () => {
  const frames = new FrameReader();
  assert.deepEqual([...frames.feed("data: 1\r"), ...frames.feed("\n\r"), ...frames.feed("\ndata: 2\n\n")], ["1", "2"]);
});

test("a byte order mark is skipped", async () => {
  assert.deepEqual(await eventsOf(`\uFEFFdata: {"type":"A"}\n\n`), [{ type: "A" }]);
});

for (const [name, data] of Object.entries({ "not JSON": "{]", "a list": "[]", null: "null", "without a type": "{}", "with an empty type": '{"type":""}' })) {
  test(`a frame that is ${name} fails, after the events before it`, async () => {
    const seen = [];
    await assert.rejects(async () => {
      for await (const { event } of readEvents(responseOf(`data: {"type":"A"}\n\ndata: ${data}\n\n`))) seen.push(event.type);
    }, StreamError);
    assert.deepEqual(seen, ["A"]);
  });
}

test("a frame without end is refused before it fills the memory", () => {
  const frames = new FrameReader();
  const piece = "x".repeat(1024 * 1024);
  assert.throws(() => {
    for (let i = 0; i < 12; i += 1) frames.feed(piece);
  }, StreamError);
});

test("the raw text of each event is kept", async () => {
  const raw = [];
  for await (const read of readEvents(responseOf('data: {"type": "A",  "x":1}\n\n'))) raw.push(read.raw);
  assert.deepEqual(raw, ['{"type": "A",  "x":1}']);
});
