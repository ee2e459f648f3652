import { createRoot } from "react-dom/client";
import { HttpAgent } from "@ag-ui/client";
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AuiIf,
  ComposerPrimitive,
  type ExportedMessageRepositoryItem,
  makeAssistantTool,
  MessagePrimitive,
  type ReasoningMessagePartProps,
  type ThreadHistoryAdapter,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useAuiState,
} from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { reasoningTitle } from "./agui-reasoning";
import "./agui-reasoning.css";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? "http://127.0.0.1:8000/agent";
const threadId = query.get("thread") ?? (sessionStorage.threadId ??= crypto.randomUUID());

// Keeps all messages as assistant-ui writes them: with reasoning and encryptedValue.
const saved = `messages of ${threadId}`;
const items = (): Map<string, ExportedMessageRepositoryItem> =>
  new Map(JSON.parse(sessionStorage.getItem(saved) ?? "[]"));
const keep = async (item: ExportedMessageRepositoryItem) =>
  sessionStorage.setItem(saved, JSON.stringify([...items().set(item.message.id, item)]));
const history: ThreadHistoryAdapter = {
  async load() {
    const messages = [...items().values()].map(({ parentId, message }) => ({
      parentId,
      message: { ...message, createdAt: new Date(message.createdAt) },
    }));
    return { headId: messages.at(-1)?.message.id ?? null, messages };
  },
  append: keep,
  update: keep,
};

const agent = new HttpAgent({ url, threadId });

const Forecast = makeAssistantTool({
  toolName: "get_forecast",
  type: "frontend",
  description: "Weather forecast of a place for the next hours",
  parameters: {
    type: "object",
    properties: { place: { type: "string" }, hours: { type: "integer" } },
    required: ["place"],
  },
  execute: async ({ place }) => ({ place, from: "14:00", temperature_c: 9, rain_mm: 4.2, gusts_ms: 14 }),
});

function Reasoning({ text, status }: ReasoningMessagePartProps) {
  return (
    <details>
      <summary>{reasoningTitle(status.type === "running")}</summary>
      <p>{text}</p>
    </details>
  );
}

function ToolCall({ toolName, argsText }: ToolCallMessagePartProps) {
  return <pre className="calls">{`${toolName}(${argsText})`}</pre>;
}

function UserMessage() {
  return (
    <MessagePrimitive.Root className="user">
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
    </MessagePrimitive.Root>
  );
}

function EditComposer() {
  return (
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input aria-label="Edit the question" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
      <ComposerPrimitive.Cancel>Cancel</ComposerPrimitive.Cancel>
    </ComposerPrimitive.Root>
  );
}

// The client reports a stop as an error: "signal is aborted without reason".
function Failure() {
  const status = useAuiState(({ message }) => message.status);
  const error = status?.type === "incomplete" ? String(status.error ?? "") : "";
  return error && !/abort/i.test(error) ? <p role="alert">{error}</p> : null;
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Reasoning, tools: { Fallback: ToolCall } }} />
      <Failure />
      <AuiIf condition={({ message }) => message.isLast}>
        <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
      </AuiIf>
    </MessagePrimitive.Root>
  );
}

function App() {
  const runtime = useAgUiRuntime({ agent, adapters: { history } });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Forecast />
      <ThreadPrimitive.Root asChild>
        <main className="chat">
          <h1>Chat</h1>
          <ThreadPrimitive.Viewport className="messages">
            <ThreadPrimitive.Messages components={{ UserMessage, EditComposer, AssistantMessage }} />
          </ThreadPrimitive.Viewport>
          <ComposerPrimitive.Root>
            <ComposerPrimitive.Input aria-label="Question" />
            <AuiIf condition={({ thread }) => !thread.isRunning}>
              <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
            </AuiIf>
            <AuiIf condition={({ thread }) => thread.isRunning}>
              <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
            </AuiIf>
          </ComposerPrimitive.Root>
        </main>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.body).render(<App />);
