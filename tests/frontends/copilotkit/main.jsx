import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { from } from "rxjs";
import { z } from "zod";
import {
  CopilotChat,
  CopilotChatReasoningMessage,
  CopilotKitProvider,
  HttpAgent,
  useAgent,
  useCopilotKit,
  useFrontendTool,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? "http://127.0.0.1:8000/agent";
const threadId = query.get("thread") ?? (sessionStorage.threadId ??= crypto.randomUUID());

// Keeps all messages as they are: with reasoning, encryptedValue and metadata.
const saved = `messages of ${threadId}`;

class StoredAgent extends HttpAgent {
  // CopilotKit empties the thread when the chat opens, and calls this to restore it.
  connect({ threadId, runId }) {
    const messages = JSON.parse(sessionStorage.getItem(saved) ?? "[]");
    return from([
      { type: "RUN_STARTED", threadId, runId },
      { type: "MESSAGES_SNAPSHOT", messages },
      { type: "RUN_FINISHED", threadId, runId },
    ]);
  }
}

const agent = new StoredAgent({ url, threadId });
const save = ({ agent }) => sessionStorage.setItem(saved, JSON.stringify(agent.messages));
agent.subscribe({ onRunFinalized: save, onRunFailed: save });

// A finished reasoning message without text carries only an encrypted value.
function Reasoning(props) {
  const { message, messages, isRunning } = props;
  const thinking = isRunning && messages.at(-1).id === message.id;
  return message.content || thinking ? <CopilotChatReasoningMessage {...props} /> : null;
}

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
  });

  async function runFrom(messages) {
    agent.setMessages(messages);
    await copilotkit.runAgent({ agent });
  }

  function regenerate() {
    const last = agent.messages.findLastIndex(({ role }) => role === "user");
    return runFrom(agent.messages.slice(0, last + 1));
  }

  function edit({ message }) {
    const content = prompt("Edit the question", message.content);
    if (!content) return;
    const before = agent.messages.slice(0, agent.messages.findIndex(({ id }) => id === message.id));
    return runFrom([...before, { id: crypto.randomUUID(), role: "user", content }]);
  }

  return (
    <main aria-busy={agent.isRunning} style={{ height: "100dvh" }}>
      {error && <p role="alert">{error}</p>}
      <CopilotChat
        threadId={threadId}
        onError={({ error }) => setError(error.message)}
        messageView={{
          reasoningMessage: Reasoning,
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
