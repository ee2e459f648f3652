// Runs the official AG-UI client over HTTP, one job per line on stdin, one answer per line on stdout.
//
// A job is {id, version, url, nextUrl?, runInput, followUps, paced, timeoutMs}. Its answer is {id, type: "verdict", ...}.
// A paced job also gives lines {id, type: "read", total}: the client has dealt with that many bytes and wants more.
// Jobs run one after the other, so console output and stray errors belong to the job that is running.

import { createInterface } from "node:readline";
import { format } from "node:util";

const clients = {
  "1.0.0": await import("ag-ui-client-1.0.0"),
  "0.0.59": await import("ag-ui-client-0.0.59"),
};

let warnings = [];

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const plain = (value) => (value === undefined ? null : JSON.parse(JSON.stringify(value)));
const describe = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

function warn(...args) {
  // The client logs the error it is about to throw; the verdict has it already.
  if (args[0] === "Agent execution failed:") return;
  warnings.push(format(...args.map((arg) => (arg instanceof Error ? describe(arg) : arg))));
}

Object.assign(console, { warn, error: warn, log() {}, info() {}, debug() {} });
for (const kind of ["unhandledRejection", "uncaughtException"]) {
  process.on(kind, (error) => warnings.push(`${kind}: ${describe(error)}`));
}

// Timers come round after every microtask, and rxjs reports unhandled errors from one.
const settle = () => new Promise((resolve) => setTimeout(() => setImmediate(resolve), 0));

// The real fetch, with a body that asks the server for the next chunk only when the client has come back for more.
function pacedFetch(id) {
  return async (url, init) => {
    const response = await fetch(url, init);
    const reader = response.body.getReader();
    let total = 0;
    const body = new ReadableStream(
      {
        async pull(controller) {
          await settle();
          say({ id, type: "read", total });
          const { done, value } = await reader.read();
          if (done) return controller.close();
          total += value.length;
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

function bounded(agent, promise, timeoutMs) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the client did not finish within ${timeoutMs} ms`));
      agent.abortRun();
    }, timeoutMs);
  });
  promise.catch(() => {});
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function outcome(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return describe(error);
  }
}

function recorder() {
  const events = [];
  return {
    events,
    onEvent({ event }) {
      events.push(plain(event));
    },
  };
}

async function judge({ id, version, url, nextUrl, runInput, followUps, paced, timeoutMs }) {
  warnings = [];
  const { threadId, messages, state, ...parameters } = runInput;
  const agent = new clients[version].HttpAgent({
    url,
    threadId,
    initialMessages: messages ?? [],
    initialState: state ?? {},
  });
  const direct = agent.fetch;
  if (paced) agent.fetch = pacedFetch(id);

  const first = recorder();
  const run = agent.runAgent(parameters, first);
  const error = await outcome(bounded(agent, run, timeoutMs));
  await settle();
  const verdict = {
    id,
    type: "verdict",
    error,
    messages: plain(agent.messages),
    state: plain(agent.state),
    events: first.events,
    warnings,
    nextError: null,
    nextMessages: [],
    nextEvents: [],
    nextWarnings: [],
  };
  if (nextUrl) {
    agent.fetch = direct;
    agent.url = nextUrl;
    const { runId } = parameters;
    for (const message of followUps) agent.addMessage(message);
    warnings = [];
    const second = recorder();
    const next = agent.runAgent({ ...parameters, runId: `${runId}-next`, resume: undefined }, second);
    verdict.nextError = await outcome(bounded(agent, next, timeoutMs));
    await settle();
    verdict.nextMessages = plain(agent.messages);
    verdict.nextEvents = second.events;
    verdict.nextWarnings = warnings;
  }
  return verdict;
}

say({ type: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  try {
    say(await judge(job));
  } catch (error) {
    say({ id: job.id, type: "broken", error: describe(error) });
  }
}
process.exit(0);
