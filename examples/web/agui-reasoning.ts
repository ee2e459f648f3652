// What a page needs beside its AG-UI client, to copy: no dependencies, and for @ag-ui/client 0.0.59 and 1.0.0 alike.

/** What the server says for display about a message, a call or a run. Some front ends drop it. */
export interface ReasoningHint {
  /** Which response of the model it belongs to. */
  response?: string;
  /** Its place in that response. */
  seq?: number;
  /** How long the model thought; at the end of a reasoning message, if the server has a clock. */
  durationMs?: number;
  /** A message that only carries encrypted values. */
  empty?: boolean;
  /** Why the last response ended; in RUN_FINISHED. */
  finishReason?: string;
}

/** The hint of a message or an event, or `{}`. */
export function hintOf(carrier: { metadata?: Record<string, unknown> }): ReasoningHint {
  return (carrier.metadata?.["agui-reasoning"] ?? {}) as ReasoningHint;
}

/** Whether reasoning has a row. Without text, it carries only an encrypted value: hide it, but keep its message. */
export function isVisible(text: string | undefined, live = false): boolean {
  return live || !!text;
}

/** The heading of reasoning. */
export function reasoningTitle(live: boolean, { durationMs }: ReasoningHint = {}): string {
  if (live) return "Thinking…";
  if (durationMs === undefined) return "Thought";
  const seconds = Math.round(durationMs / 1000);
  return seconds < 1 ? "Thought for a moment" : `Thought for ${seconds} s`;
}

/** A call that the page answers. */
export interface PendingCall {
  id: string;
  function: { name: string; arguments: string };
}

interface ToolResult {
  id: string;
  role: "tool";
  toolCallId: string;
  content: string;
}

interface Finished {
  outcome?: unknown;
  pendingToolCallIds?: readonly string[]; // from 1.0 on
}

interface Subscriber {
  onRunFinishedEvent(run: Finished): void;
  onRunErrorEvent(run: { event: { message: string } }): void;
}

interface RunnableAgent<T> {
  messages: readonly { role: string; toolCalls?: PendingCall[]; toolCallId?: string }[];
  addMessage(message: ToolResult): void;
  abortRun(): void;
  runAgent(parameters: { tools: T[] }, subscriber: Subscriber): Promise<unknown>;
}

export interface RunUntilAnswered<T> {
  tools: T[];
  /** The result of a call for the model. A tool that fails has a result, too. */
  answer: (call: PendingCall) => Promise<string>;
  /** Stops the run. */
  signal?: AbortSignal;
  /** A model can keep calling tools. */
  maxRuns?: number;
}

/** What RUN_ERROR said, in a sentence for people, or why a run has no end. */
export class RunFailed extends Error {}

/**
 * Runs an agent until no call is left to answer.
 *
 * Returns when it is answered or stopped. Throws `RunFailed`, or what the client throws if a request fails.
 */
export async function runUntilAnswered<T>(agent: RunnableAgent<T>, options: RunUntilAnswered<T>): Promise<void> {
  const { tools, answer, signal, maxRuns = 10 } = options;
  const stop = () => agent.abortRun();
  signal?.addEventListener("abort", stop);
  try {
    for (let runs = 0; runs < maxRuns; runs++) {
      const calls = await runOnce(agent, tools, signal);
      if (calls.length === 0 || signal?.aborted) return;
      for (const call of calls) {
        const content = await answer(call);
        agent.addMessage({ id: `result of ${call.id}`, role: "tool", toolCallId: call.id, content });
      }
      if (signal?.aborted) return;
    }
    throw new RunFailed(`The model still calls tools after ${maxRuns} runs.`);
  } catch (error) {
    if (!signal?.aborted) throw error; // clients report a stop as an error
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Runs an agent once, and returns the calls that it left to the page: their arguments are whole only at the end. */
async function runOnce<T>(agent: RunnableAgent<T>, tools: T[], signal?: AbortSignal): Promise<PendingCall[]> {
  const before = new Set(callsOf(agent).map(({ id }) => id));
  let ending: Finished | RunFailed | undefined;
  await agent.runAgent(
    { tools },
    {
      onRunFinishedEvent: (run) => void (ending = run),
      onRunErrorEvent: ({ event }) => void (ending = new RunFailed(event.message)),
    },
  );
  if (signal?.aborted) return [];
  if (ending === undefined) throw new RunFailed("The agent cannot be reached, or the connection was lost."); // clients do not report a cut
  if (ending instanceof RunFailed) throw ending;
  const { outcome, pendingToolCallIds: pending } = ending as Finished;
  if (outcome !== undefined && outcome !== "success") return [];
  const answered = new Set(agent.messages.map(({ toolCallId }) => toolCallId));
  return callsOf(agent).filter(({ id }) => (pending ? pending.includes(id) : !before.has(id) && !answered.has(id)));
}

function callsOf<T>(agent: RunnableAgent<T>): PendingCall[] {
  return agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
}

interface RunInput {
  threadId: string;
  runId: string;
}

// `fetch`, `requestInit` and `run` of an `HttpAgent`; `connectAgent()` calls `connect`.
type AgentClass = abstract new (...options: any[]) => object;
type Fetch = (url: string, init?: RequestInit) => Promise<Response>;
interface HttpAgentParts {
  url: string;
  fetch: Fetch;
  abortController: AbortController;
  messages: unknown[];
  run(input: RunInput): unknown;
  subscribe(subscriber: { onRunFinalized: Save; onRunFailed: Save }): unknown;
}
type Save = (run: { agent: { threadId: string; messages: readonly unknown[] } }) => void;

/** An `HttpAgent` class whose `connectAgent()` reads the events of a response instead of those of a run. */
function connecting<B extends AgentClass>(Base: B, respond: (agent: HttpAgentParts, input: RunInput) => Fetch): B {
  abstract class Connecting extends Base {
    connect(input: RunInput): unknown {
      const agent = this as unknown as HttpAgentParts;
      agent.abortController = new AbortController(); // the last one is used up if a run was aborted
      return agent.run.call(Object.create(agent, { fetch: { value: respond(agent, input) } }), input);
    }
  }
  return Connecting as unknown as B;
}

/** `durable(HttpAgent)` is an agent whose `connectAgent()` joins the thread's run, which goes on without the page. */
export function durable<B extends AgentClass>(HttpAgent: B): B {
  return connecting(HttpAgent, (agent) => (_, init) => agent.fetch(`${agent.url}/connect`, init));
}

const storageKey = (threadId: string) => `messages of ${threadId}`;

/**
 * `stored(HttpAgent)` is an agent whose `connectAgent()` restores the thread's messages from the browser.
 *
 * It keeps them as they are: with reasoning, `encryptedValue` and `metadata`. Give its agents to `save`.
 */
export function stored<B extends AgentClass>(HttpAgent: B, storage: Storage = sessionStorage): B {
  return connecting(HttpAgent, (_, { threadId, runId }) => async () => {
    const messages: unknown = JSON.parse(storage.getItem(storageKey(threadId)) ?? "[]");
    const events = [
      { type: "RUN_STARTED", threadId, runId },
      { type: "MESSAGES_SNAPSHOT", messages },
      { type: "RUN_FINISHED", threadId, runId },
    ];
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  });
}

/** Stores the messages of an agent after each run, for `stored`. */
export function save(agent: Pick<HttpAgentParts, "subscribe">, storage: Storage = sessionStorage): void {
  const keep: Save = ({ agent: { threadId, messages } }) =>
    storage.setItem(storageKey(threadId), JSON.stringify(messages));
  agent.subscribe({ onRunFinalized: keep, onRunFailed: keep });
}

/** A connection of TanStack AI, such as `fetchServerSentEvents(url)`. */
interface Connection<E> {
  connect: (...request: any[]) => AsyncIterable<E>;
}

/**
 * Lets TanStack AI run the page's tools.
 *
 * TanStack runs one when it receives an event of its own for the call. AG-UI has none: calls without a result at the
 * end of a run are for the page.
 */
export function withClientTools<E extends { type: string }, C extends Connection<E>>(
  connection: C & Connection<E>,
): { connect: C["connect"] } {
  return { connect: (...request) => announceCalls(connection.connect(...request)) };
}

interface CallEvent {
  type: string;
  toolCallId: string;
  toolCallName: string;
  delta: string;
  outcome?: { type: string };
}

async function* announceCalls<E extends { type: string }>(events: AsyncIterable<E>): AsyncIterable<E> {
  const calls = new Map<string, { toolName: string; json: string }>();
  for await (const event of events) {
    const { type, toolCallId, toolCallName, delta, outcome } = event as unknown as CallEvent;
    if (type === "TOOL_CALL_START") calls.set(toolCallId, { toolName: toolCallName, json: "" });
    if (type === "TOOL_CALL_ARGS") calls.get(toolCallId)!.json += delta;
    if (type === "TOOL_CALL_RESULT") calls.delete(toolCallId);
    if (type === "RUN_FINISHED" && (outcome?.type ?? "success") === "success") {
      for (const [toolCallId, { toolName, json }] of calls) {
        const value = { toolCallId, toolName, input: JSON.parse(json || "{}") as unknown };
        yield { type: "CUSTOM", name: "tool-input-available", value } as unknown as E;
      }
    }
    yield event;
  }
}
