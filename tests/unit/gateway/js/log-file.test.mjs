import assert from "node:assert/strict";
import { test } from "node:test";

import { LogError, MAX_LOG_BYTES, openLog, readLog, writeLog } from "../static/inspector/log-file.js";

const EVENTS = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "a\u2028b" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];
const lines = (separator) => EVENTS.map((event) => JSON.stringify(event)).join(separator);
const frames = (end) => EVENTS.map((event) => `data: ${JSON.stringify(event)}${end}${end}`).join("");

const FORMS = {
  "an array": JSON.stringify(EVENTS),
  "an array over several lines": JSON.stringify(EVENTS, null, 2),
  "JSON lines": lines("\n"),
  "JSON lines with empty lines and CRLF": `${lines("\r\n\r\n")}\r\n`,
  "Server-Sent Events": frames("\n"),
  "Server-Sent Events with CRLF": frames("\r\n"),
  "Server-Sent Events with a comment first": `: keep-alive\n\n${frames("\n")}`,
  "Server-Sent Events without the last empty line": frames("\n").trimEnd(),
  "a byte order mark": `\uFEFF${lines("\n")}`,
};

for (const [name, text] of Object.entries(FORMS)) {
  test(`reads ${name}`, () => assert.deepEqual(readLog(text), EVENTS));
}

test("one object is a log of one event", () => {
  assert.deepEqual(readLog(JSON.stringify(EVENTS[0], null, 2)), [EVENTS[0]]);
});

const FAULTS = [
  ["", "it is empty."],
  ["[]", "it contains no event."],
  ["Dear diary", "it is neither Server-Sent Events nor JSON."],
  ["<!doctype html>", "it is neither Server-Sent Events nor JSON."],
  ["[{", "its JSON is not valid."],
  [`${lines("\n")}\n{"type":`, "line 4 is not valid JSON."],
  ["data: {\n\n", "the data of event 1 is not valid JSON."],
  ['[{"role": "user", "content": "Hi"}]', "it contains messages, not events."],
  ['{"threadId": "t", "messages": []}', "it is the input of a run, not its events."],
  ['data: {"choices": []}\n\n', "item 1 has no type."],
  ["[1]", "item 1 has no type."],
];

for (const [text, sentence] of FAULTS) {
  test(`says why ${JSON.stringify(text.slice(0, 24))} is no log`, () => {
    assert.throws(() => readLog(text), (error) => error instanceof LogError && error.message.startsWith(sentence));
  });
}

test("a file that is too large is not read", async () => {
  const file = { name: "big.json", size: MAX_LOG_BYTES + 1, text: () => assert.fail("read") };
  await assert.rejects(openLog(file), { name: "LogError", message: "big.json is larger than 32 MB." });
});

test("a log that is too long is not opened", () => {
  const text = `[${Array(50_001).fill('{"type":"RAW","event":0}').join(",")}]`;
  assert.throws(() => readLog(text), { message: "it has more than 50,000 events." });
});

test("a message names the file", async () => {
  const file = { name: "notes.txt", size: 5, text: async () => "Notes" };
  const message = "notes.txt is not a log of AG-UI events: it is neither Server-Sent Events nor JSON.";
  await assert.rejects(openLog(file), { message });
});

test("a file that cannot be read is told from one that is no log", async () => {
  const file = { name: "gone.json", size: 5, text: () => Promise.reject(new Error("NotReadableError")) };
  await assert.rejects(openLog(file), { message: "gone.json cannot be read." });
});

test("a log is written to the letter, with the time of arrival where an event tells none", () => {
  const raws = ['{"type":"A","big":12345678901234567890}', '{"type": "B",\n "timestamp": 7 }', '{"type":"C","text":"a\\nb"}'];
  const log = raws.map((raw, index) => ({ raw, event: JSON.parse(raw), at: 100 + index }));
  assert.equal(writeLog(log), '{"type":"A","big":12345678901234567890,"timestamp":100}\n{"type": "B",  "timestamp": 7 }\n{"type":"C","text":"a\\nb","timestamp":102}\n');
  assert.equal(writeLog(log.slice(0, 1), { isTimed: false }), `${raws[0]}\n`);
  assert.deepEqual(readLog(writeLog(log)).map(({ timestamp }) => timestamp), [100, 7, 102]);
});
