import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import {
  CopilotChat,
  CopilotChatReasoningMessage,
  type CopilotChatReasoningMessageProps,
  CopilotKitProvider,
  HttpAgent,
  type Message,
  useAgent,
  useCopilotKit,
  useFrontendTool,
} from "@copilotkit/react-core/v2";
import { isVisible, save, stored } from "./agui-reasoning";
import "@copilotkit/react-core/v2/styles.css";
import "./agui-reasoning.css";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? "http://127.0.0.1:8000/agent";
const threadId = query.get("thread") ?? (sessionStorage.threadId ??= crypto.randomUUID());

// CopilotKit empties the thread when the chat opens, and connects to restore it.
const agent = new (stored(HttpAgent))({ url, threadId });
save(agent);

// A finished reasoning message without text carries only an encrypted value.
function Reasoning(props: CopilotChatReasoningMessageProps) {
  const { message, messages, isRunning } = props;
  const thinking = isRunning && messages?.at(-1)?.id === message.id;
  return isVisible(message.content, thinking) ? <CopilotChatReasoningMessage {...props} /> : null;
}

// CopilotKit's type asks for its parts, too.
const reasoningMessage = Object.assign(Reasoning, CopilotChatReasoningMessage);

function Chat() {
  const { agent } = useAgent();
  const { copilotkit } = useCopilotKit();
  const [error, setError] = useState("");

  useEffect(() => {
    const { unsubscribe } = agent.subscribe({ onRunInitialized: () => setError("") });
    return unsubscribe;
  }, [agent]);

  useFrontendTool({
    name: "get_forecast",
    description: "Weather forecast of a place for the next hours",
    parameters: z.object({ place: z.string(), hours: z.number().int().optional() }),
    handler: async ({ place }) => ({ place, from: "14:00", temperature_c: 9, rain_mm: 4.2, gusts_ms: 14 }),
    render: ({ name, args }) => <pre className="calls">{`${name}(${JSON.stringify(args)})`}</pre>,
  });

  async function runFrom(messages: Message[]) {
    agent.setMessages(messages);
    await copilotkit.runAgent({ agent });
  }

  function regenerate() {
    const last = agent.messages.findLastIndex(({ role }) => role === "user");
    return runFrom(agent.messages.slice(0, last + 1));
  }

  async function edit({ message }: { message: Message }) {
    const content = prompt("Edit the question", String(message.content));
    if (!content) return;
    const before = agent.messages.slice(0, agent.messages.findIndex(({ id }) => id === message.id));
    await runFrom([...before, { id: crypto.randomUUID(), role: "user", content }]);
  }

  return (
    <main aria-busy={agent.isRunning} style={{ height: "100dvh", display: "flex", flexDirection: "column" }}>
      {error && <p role="alert">{error}</p>}
      <CopilotChat
        threadId={threadId}
        onError={(event) => {
          if ("error" in event) setError(event.error.message);
        }}
        messageView={{
          reasoningMessage,
          assistantMessage: { onRegenerate: regenerate },
          userMessage: { onEditMessage: edit },
        }}
      />
    </main>
  );
}

createRoot(document.body).render(
  <CopilotKitProvider selfManagedAgents={{ default: agent }}>
    <Chat />
  </CopilotKitProvider>,
);
