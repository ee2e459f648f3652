import { HttpAgent, randomUUID, type Message, type ToolCall } from "@ag-ui/client";
import { runTool, TOOLS } from "./tools";

const MAX_RUNS = 10; // per question, so that a model that keeps calling tools ends

/** A thread with an agent. It keeps every message as it came: the agent needs its reasoning back unchanged. */
export class Chat {
  running = false;
  error = "";
  #stopped = false;
  #agent: HttpAgent;
  #changed: () => void;
  #storageKey: string;

  constructor(url: string, changed: () => void) {
    this.#storageKey = `thread with ${url}`; // an agent never gets the thread of another one
    const stored = localStorage.getItem(this.#storageKey);
    const { threadId, messages } = stored ? JSON.parse(stored) : { threadId: randomUUID(), messages: [] };
    this.#agent = new HttpAgent({ url, threadId, initialMessages: messages });
    this.#agent.subscribe({ onMessagesChanged: changed });
    this.#changed = changed;
  }

  get messages(): readonly Message[] {
    return this.#agent.messages;
  }

  async send(text: string): Promise<void> {
    this.#agent.addMessage({ id: randomUUID(), role: "user", content: text });
    await this.#answer();
  }

  /** Replaces a question, and what came after it. */
  async edit(id: string, text: string): Promise<void> {
    this.#cut(this.messages.findIndex((message) => message.id === id));
    await this.send(text);
  }

  /** Answers the last question again. */
  async regenerate(): Promise<void> {
    this.#cut(this.messages.findLastIndex((message) => message.role === "user") + 1);
    await this.#answer();
  }

  stop(): void {
    this.#stopped = true;
    this.#agent.abortRun();
  }

  clear(): void {
    this.#agent.threadId = randomUUID();
    this.error = "";
    this.#cut(0);
    this.save();
  }

  save(): void {
    const { threadId, messages } = this.#agent;
    localStorage.setItem(this.#storageKey, JSON.stringify({ threadId, messages }));
  }

  #cut(length: number): void {
    this.#agent.setMessages(this.#agent.messages.slice(0, length));
  }

  /** Runs the agent until it needs no more answers of tools. */
  async #answer(): Promise<void> {
    this.running = true;
    this.#stopped = false;
    this.error = "";
    try {
      for (let runs = 0; runs < MAX_RUNS && !this.#stopped; runs++) {
        const calls = await this.#run();
        if (calls.length === 0) return;
        for (const call of calls) {
          const content = await runTool(call);
          this.#agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content });
        }
      }
    } catch (error) {
      if (!this.#stopped) this.error = describe(error);
    } finally {
      this.running = false;
      this.#changed();
      this.save();
    }
  }

  /** Runs the agent once, and returns the tool calls that it left to the page. */
  async #run(): Promise<ToolCall[]> {
    let ended = false;
    let pending: string[] = [];
    await this.#agent.runAgent(
      { tools: TOOLS },
      {
        onRunFinishedEvent: (run) => {
          ended = true;
          if (run.outcome === "success") pending = run.pendingToolCallIds;
        },
        onRunErrorEvent: ({ event }) => {
          ended = true;
          if (!this.#stopped) this.error = event.message; // `abort` when it was stopped
        },
      },
    );
    if (!ended && !this.#stopped) throw new Error("cut"); // the client does not report a stream that was cut
    const calls = this.messages.flatMap((message) => (message.role === "assistant" && message.toolCalls) || []);
    return calls.filter((call) => pending.includes(call.id));
  }
}

/** The sentence for an error: the gateway explains why it refuses a request. */
function describe(error: unknown): string {
  const { payload } = error as { payload?: { error?: { message?: string } } };
  return payload?.error?.message ?? "The agent cannot be reached, or the connection was lost.";
}
