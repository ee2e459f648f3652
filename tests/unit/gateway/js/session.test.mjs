import assert from "node:assert/strict";
import { test } from "node:test";

import { Session } from "../static/session.js";
import { ThreadStore } from "../static/thread-store.js";

const CONFIG = { endpoint: "agent", tools: [{ declaration: { name: "get_forecast" }, answer: "{}" }] };

/** The browser's storage, with room for some characters in all. */
class Storage {
  items = new Map();
  constructor(room = Infinity) {
    this.room = room;
  }
  get length() {
    return this.items.size;
  }
  key(index) {
    return [...this.items.keys()][index] ?? null;
  }
  getItem(key) {
    return this.items.get(key) ?? null;
  }
  setItem(key, value) {
    const others = [...this.items].filter(([held]) => held !== key);
    if (others.reduce((sum, [, held]) => sum + held.length, value.length) > this.room) throw new Error("QuotaExceededError");
    this.items.set(key, value);
  }
  removeItem(key) {
    this.items.delete(key);
  }
}

const frame = (event) => `data: ${JSON.stringify(event)}\n\n`;
const answer = (...events) => new Response(events.map(frame).join(""));
const RUN = { threadId: "t", runId: "r" };
const started = { type: "RUN_STARTED", ...RUN };
const finished = { type: "RUN_FINISHED", ...RUN };
const said = (id, text) => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text },
  { type: "TEXT_MESSAGE_END", messageId: id },
];
const called = (id) => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: "get_forecast", parentMessageId: "m" },
  { type: "TOOL_CALL_END", toolCallId: id },
];

/** A session whose gateway gives these answers, and the requests that it got. */
function open(answers, storage = new Storage()) {
  const requests = [];
  const fetch = async (url, { body, signal }) => {
    requests.push({ url, ...JSON.parse(body) });
    return answers.shift()(signal);
  };
  return { session: new Session(CONFIG, { fetch, store: new ThreadStore(storage, "/") }), requests };
}

const contents = ({ conversation }) => conversation.messages.map(({ content }) => content);

test("a message is sent with the tools, and its answer received", async () => {
  const { session, requests } = open([() => answer(started, ...said("m1", "Yes"), finished)]);
  await session.send("Umbrella?");
  assert.deepEqual(contents(session), ["Umbrella?", "Yes"]);
  assert.deepEqual([requests[0].url, requests[0].tools], ["agent", [{ name: "get_forecast" }]]);
  assert.deepEqual([session.status, session.isRunning, session.log.length], ["finished", false, 5]);
});

test("the run goes on when all calls are answered, not before", async () => {
  const { session, requests } = open([() => answer(started, ...called("c1"), ...called("c2"), finished), () => answer(started, ...said("m2", "Yes"), finished)]);
  await session.send("Umbrella?");
  await session.answer("c1", "4C");
  assert.equal(requests.length, 1);
  await session.answer("unknown", "4C");
  await session.answer("c2", "No network", { error: "No network" });
  assert.equal(requests.length, 2);
  const results = requests[1].messages.filter(({ role }) => role === "tool");
  assert.deepEqual(results.map(({ toolCallId, content, error }) => [toolCallId, content, error]), [["c1", "4C", undefined], ["c2", "No network", "No network"]]);
});

/** A response that stays open behind some events until the run is stopped, or `end` resolves. */
const staying = (events, end = new Promise(() => {})) => (signal) => new Response(new ReadableStream({
  start(controller) {
    controller.enqueue(new TextEncoder().encode(events.map(frame).join("")));
    signal.addEventListener("abort", () => controller.error(signal.reason));
    end.then(() => controller.close());
  },
}));

/** Waits until a session has received some events. */
const receiving = (session, count) => new Promise((resolve) => {
  session.addEventListener("event", () => session.log.length === count && resolve());
});

test("a run can be stopped, and tried again without what came of it", async () => {
  const never = staying([started, ...said("m1", "Half").slice(0, 2)]);
  const { session, requests } = open([never, () => answer({ ...started, runId: "r2" }, ...said("m2", "Whole"), { ...finished, runId: "r2" })]);
  session.addEventListener("event", () => session.log.length === 3 && session.stop());
  await session.send("Umbrella?");
  assert.deepEqual([session.status, contents(session)], ["stopped", ["Umbrella?", "Half"]]);
  await session.retry();
  assert.deepEqual(requests[1].messages.map(({ content }) => content), ["Umbrella?"]);
  assert.deepEqual([session.status, contents(session)], ["finished", ["Umbrella?", "Whole"]]);
});

test("another try keeps the results of calls", async () => {
  const failing = () => answer(started, ...said("m2", "Half"), { type: "RUN_ERROR", message: "No." });
  const { session, requests } = open([() => answer(started, ...called("c1"), finished), failing, () => answer(started, finished)]);
  await session.send("Umbrella?");
  await session.answer("c1", "4C");
  assert.equal(contents(session).at(-1), "Half");
  await session.retry();
  assert.deepEqual(requests[2].messages, requests[1].messages);
  assert.deepEqual(requests[2].messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

test("without a question there is nothing to try again", async () => {
  const { session, requests } = open([]);
  session.loadLog([started, ...said("x", "Half")]);
  assert.deepEqual([session.status, session.canRetry], ["stopped", false]);
  await session.retry();
  assert.deepEqual([requests, contents(session)], [[], ["Half"]]);
});

test("calls that are answered before their response ends are answered in one more run, not in two at once", async () => {
  let end;
  const first = staying([started, ...called("c1"), finished], new Promise((resolve) => { end = resolve; }));
  const { session, requests } = open([first, () => answer(started, ...said("m2", "Yes"), finished)]);
  const received = receiving(session, 4);
  const sent = session.send("Umbrella?");
  await received;
  await session.answer("c1", "4C");
  assert.deepEqual([requests.length, session.isRunning], [1, true]);
  end();
  await sent;
  assert.deepEqual([requests.length, session.isRunning, contents(session).at(-1)], [2, false, "Yes"]);
  assert.deepEqual(requests[1].messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

test("a stop before the response ends keeps the answers of calls, and can be tried again", async () => {
  const { session, requests } = open([staying([started, ...called("c1"), finished]), () => answer(started, finished)]);
  const received = receiving(session, 4);
  const sent = session.send("Umbrella?");
  await received;
  await session.answer("c1", "4C");
  session.stop();
  await sent;
  assert.deepEqual([requests.length, session.status], [1, "stopped"]);
  await session.retry();
  assert.deepEqual(requests[1].messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

for (const [name, leave] of Object.entries({
  "a new thread": (session) => session.reset(),
  "a log that is opened": (session) => session.loadLog([started, ...said("x", "Stored"), finished]),
})) {
  test(`${name} during a run is at rest at once, and nothing of the run comes later`, async () => {
    const { session } = open([staying([started])]);
    const received = receiving(session, 1);
    const sent = session.send("Umbrella?");
    await received;
    const seen = [];
    session.addEventListener("status", () => seen.push(session.isRunning));
    leave(session);
    const shown = contents(session);
    assert.ok(!seen.at(-1) && seen.length > 0, `${seen}`);
    const told = seen.length;
    await sent;
    assert.deepEqual([contents(session), seen.length, session.isRunning], [shown, told, false]);
  });
}

const FAILURES = {
  "a stream that just ends": [() => answer(started, ...said("m1", "Half")), "truncated_stream"],
  "a gateway that refuses": [() => Response.json({ error: { code: "too_large", message: "Too large." } }, { status: 413 }), "too_large"],
  "a proxy that answers with a page": [() => new Response("<html>", { status: 502 }), "http_502"],
  "an answer that is no stream": [() => new Response("data: <html>\n\n"), "not_an_event_stream"],
  "a gateway that is gone": [() => Promise.reject(new TypeError("Failed to fetch")), "unreachable"],
  "a run that fails": [() => answer(started, { type: "RUN_ERROR", message: "No.", code: "overloaded" }), "overloaded"],
};

for (const [name, [give, code]] of Object.entries(FAILURES)) {
  test(`${name} is a failure with a sentence, and what came is kept`, async () => {
    const { session } = open([give]);
    await session.send("Umbrella?");
    assert.equal(session.status, "failed");
    assert.equal(session.conversation.failure.code, code);
    assert.match(session.conversation.failure.message, /\.$/);
    assert.equal(contents(session)[0], "Umbrella?");
    assert.equal(session.isRunning, false);
  });
}

test("an answer can be given again, and a question be changed", async () => {
  const replies = ["One", "Two", "Three"].map((text) => () => answer(started, ...said(text, text), finished));
  const { session, requests } = open(replies);
  await session.send("Umbrella?");
  await session.regenerate("One");
  assert.deepEqual(contents(session), ["Umbrella?", "Two"]);
  await session.edit(session.conversation.messages[0].id, "Raincoat?");
  assert.deepEqual(contents(session), ["Raincoat?", "Three"]);
  assert.deepEqual(requests.map(({ messages }) => messages.map(({ content }) => content)), [["Umbrella?"], ["Umbrella?"], ["Raincoat?"]]);
  assert.equal(new Set(requests.map(({ runId }) => runId)).size, 3);
  assert.equal(new Set(requests.map(({ threadId }) => threadId)).size, 1);
});

test("a thread survives a reload, with how it ended", async () => {
  const storage = new Storage();
  const { session } = open([() => answer(started, ...said("m1", "Yes"), { type: "RUN_ERROR", message: "No.", code: "overloaded" })], storage);
  await session.send("Umbrella?");
  const { session: again } = open([], storage);
  assert.equal(again.threadId, session.threadId);
  assert.deepEqual(again.conversation.messages, session.conversation.messages);
  assert.deepEqual(again.conversation.failure, { code: "overloaded", message: "No." });
  assert.deepEqual(again.log.map(({ event }) => event), session.log.map(({ event }) => event));
});

test("a thread without room for its log is kept without it", async () => {
  const storage = new Storage(450);
  const { session } = open([() => answer(started, ...said("m1", "Yes"), finished)], storage);
  await session.send("Umbrella?");
  const { session: again } = open([], storage);
  assert.deepEqual([contents(again), again.log], [["Umbrella?", "Yes"], []]);
});

test("a thread that grows takes the room of its own log, then of the logs of other pages", () => {
  const storage = new Storage(2000);
  const thread = (size) => ({ threadId: "t", messages: [{ id: "u", role: "user", content: "x".repeat(size) }], log: [{ at: 1, raw: `"${"y".repeat(500)}"`, event: {} }] });
  const [own, other] = [new ThreadStore(storage, "/"), new ThreadStore(storage, "/other/")];
  other.save(thread(1));
  own.save(thread(500));
  assert.deepEqual([own.load().log.length, other.load().log.length], [1, 1]);
  own.save(thread(1000));
  assert.deepEqual([own.load().messages, own.load().log.length, other.load().log.length], [thread(1000).messages, 0, 1]);
  own.save(thread(1600));
  assert.deepEqual([own.load().messages, own.load().log.length, other.load().log.length], [thread(1600).messages, 0, 0]);
  assert.equal(other.load().messages.length, 1);
});

test("of a long log, the last runs are stored", () => {
  const store = new ThreadStore(new Storage(), "/");
  const entry = (event) => ({ at: 1, event, raw: JSON.stringify(event) });
  const run = (runId) => [entry({ type: "RUN_STARTED", runId }), entry({ type: "TEXT", delta: "x".repeat(400_000) })];
  const log = [...run("r1"), ...run("r2"), ...run("r3")];
  store.save({ threadId: "t", messages: [], log });
  assert.deepEqual(store.load().log, log.slice(2));
});

test("calls that were abandoned do not wait after a reload", async () => {
  const storage = new Storage();
  const { session } = open([() => answer(started, ...called("c1"), finished), () => answer(started, ...said("m2", "Yes"), finished)], storage);
  await session.send("Umbrella?");
  const { session: asked } = open([], storage);
  assert.deepEqual(asked.conversation.pendingToolCalls.map(({ id }) => id), ["c1"]);
  await session.send("Never mind.");
  const { session: again } = open([], storage);
  assert.deepEqual([again.status, again.conversation.pendingToolCalls], ["finished", []]);
});

test("a page that was left in a run shows it as stopped", () => {
  const storage = new Storage();
  new ThreadStore(storage, "/").save({ threadId: "t", messages: [], state: {}, durations: [], status: "running", failure: null, log: [] });
  assert.equal(open([], storage).session.status, "stopped");
});

for (const stored of ["{", "null", "[]", '{"threadId": 1}', '{"threadId": "t", "messages": {}}']) {
  test(`a stored thread that is ${stored} is ignored`, () => {
    const storage = new Storage();
    storage.setItem("agui-reasoning:thread:/", stored);
    assert.deepEqual(open([], storage).session.conversation.messages, []);
  });
}

test("a new thread has a new id, and nothing of the old one", async () => {
  const storage = new Storage();
  const { session } = open([() => answer(started, ...said("m1", "Yes"), finished)], storage);
  await session.send("Umbrella?");
  const old = session.threadId;
  session.reset();
  assert.notEqual(session.threadId, old);
  assert.deepEqual([session.conversation.messages, session.log], [[], []]);
  assert.notEqual(open([], storage).session.threadId, old);
});

test("a run that another tab starts is joined if it is of this thread, and this tab is at rest", async () => {
  const tabs = { told: [], tell: (run) => tabs.told.push(run), listen: (hear) => { tabs.hear = hear; } };
  const asked = [];
  const fetch = async (url, { body }) => {
    asked.push(url);
    const runId = JSON.parse(body).runId ?? "theirs";
    return answer({ ...started, runId }, ...said(`m${asked.length}`, url), { ...finished, runId });
  };
  const keeping = { ...CONFIG, runs: { connect: "agent/connect", stop: "agent/stop" } };
  const session = new Session(keeping, { fetch, store: new ThreadStore(new Storage(), "/"), tabs });
  await session.send("Umbrella?");
  assert.deepEqual(tabs.told, [{ threadId: session.threadId, runId: session.run.id }]);
  const settled = () => new Promise((resolve) => { setTimeout(resolve, 5); });
  for (const run of [tabs.told[0], { threadId: "another", runId: "theirs" }]) tabs.hear(run);
  await settled();
  assert.deepEqual(asked, ["agent"]);
  tabs.hear({ threadId: session.threadId, runId: "theirs" });
  await settled();
  assert.deepEqual([asked, contents(session), session.status], [["agent", "agent/connect"], ["Umbrella?", "agent", "agent/connect"], "finished"]);
  assert.equal(tabs.told.length, 1); // a run that was joined is no news
  session.loadLog([started, finished]);
  tabs.hear({ threadId: session.threadId, runId: "another" });
  await settled();
  assert.equal(asked.length, 2);
});

test("a log that is opened is shown and not stored", async () => {
  const storage = new Storage();
  const { session } = open([() => answer(started, ...said("m1", "Yes"), finished)], storage);
  await session.send("Umbrella?");
  session.loadLog([started, ...said("x", "Stored"), finished]);
  assert.deepEqual([contents(session), session.isReplay], [["Stored"], true]);
  session.save();
  assert.deepEqual(contents(open([], storage).session), ["Umbrella?", "Yes"]);
});

test("a log that is closed shows the thread again, with what came of it until then", async () => {
  const { session } = open([staying([started, ...said("m1", "Yes")])]);
  const received = receiving(session, 4);
  const sent = session.send("Umbrella?");
  await received;
  session.loadLog([started, ...said("x", "Stored"), finished]);
  await sent;
  await session.closeLog();
  assert.deepEqual([contents(session), session.isReplay, session.status, session.log.length], [["Umbrella?", "Yes"], false, "stopped", 4]);
  await session.closeLog();
  assert.deepEqual(contents(session), ["Umbrella?", "Yes"]);
});

test("a log that is too long for the storage is missed after a reload, and counted", async () => {
  const storage = new Storage();
  const long = said("m1", "x".repeat(999_000)); // alone it fits, with the rest of its run it does not
  const { session } = open([() => answer(started, ...long, ...said("m2", "y".repeat(9_000)), finished), () => answer({ ...started, runId: "r2" }, finished)], storage);
  await session.send("Umbrella?");
  const again = open([], storage).session;
  assert.deepEqual([again.log.length, again.dropped], [0, { before: 8, after: 0 }]);
  await session.send("And now?");
  assert.deepEqual(open([], storage).session.dropped, { before: 8, after: 0 });
  session.reset();
  assert.deepEqual(session.dropped, { before: 0, after: 0 });
});

test("a log is shown whole, also if two of its runs have the same id", () => {
  const { session } = open([]);
  session.loadLog([started, ...said("x", "One"), finished, started, ...said("y", "Two"), finished]);
  assert.deepEqual([session.log.length, contents(session)], [10, ["One", "Two"]]);
});

test("a log without times tells none, and one with some takes the last one for the others", () => {
  const { session } = open([]);
  session.loadLog([started, finished]);
  assert.equal(session.isTimed, false);
  session.loadLog([started, { ...said("x", "a")[0], timestamp: 70 }, finished]);
  assert.deepEqual([session.isTimed, session.log.map(({ at }) => at)], [true, [70, 70, 70]]);
});

test("a thread of a log goes on with its id, which its encrypted values are bound to", async () => {
  const { session, requests } = open([() => answer(started, finished)]);
  session.loadLog([{ ...started, threadId: "old" }, { ...started, threadId: "logged" }, ...said("x", "Stored"), finished]);
  await session.send("Umbrella?");
  assert.equal(requests[0].threadId, "logged");
});
