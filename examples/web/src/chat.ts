import { HttpAgent, randomUUID, type Message } from "@ag-ui/client";
import { RunFailed, runUntilAnswered } from "../agui-reasoning";
import { runTool, TOOLS } from "./tools";

/** A thread with an agent. It keeps every message as it came: the agent needs its reasoning back unchanged. */
export class Chat {
  running = false;
  error = "";
  #stopping = new AbortController();
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
    this.#stopping.abort();
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

  async #answer(): Promise<void> {
    this.running = true;
    this.error = "";
    this.#stopping = new AbortController();
    try {
      await runUntilAnswered(this.#agent, { tools: TOOLS, answer: runTool, signal: this.#stopping.signal });
    } catch (error) {
      this.error = describe(error);
    } finally {
      this.running = false;
      this.#changed();
      this.save();
    }
  }
}

/** The sentence for an error: the gateway explains why it refuses a request. */
function describe(error: unknown): string {
  if (error instanceof RunFailed) return error.message;
  const { payload } = error as { payload?: { error?: { message?: string } } };
  return payload?.error?.message ?? "The agent cannot be reached, or the connection was lost.";
}
