import { type FormEvent, useState } from "react";
import { createRoot } from "react-dom/client";
import { toolDefinition } from "@tanstack/ai/client";
import { fetchServerSentEvents, localStoragePersistence, type UIMessage, useChat } from "@tanstack/ai-react";
import { isVisible, reasoningTitle, withClientTools } from "./agui-reasoning";
import "./agui-reasoning.css";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? "http://127.0.0.1:8000/agent";
const threadId = query.get("thread") ?? (sessionStorage.threadId ??= crypto.randomUUID());

const getForecast = toolDefinition({
  name: "get_forecast",
  description: "Weather forecast of a place for the next hours",
  inputSchema: {
    type: "object",
    properties: { place: { type: "string" }, hours: { type: "integer" } },
    required: ["place"],
  },
}).client((input) => {
  const { place } = input as { place: string };
  return `${place}: 9 °C, 4.2 mm of rain from 14:00, gusts of 14 m/s.`;
});

const connection = withClientTools(fetchServerSentEvents(url));
const persistence = localStoragePersistence();

function Chat() {
  const chat = useChat({ connection, threadId, persistence, tools: [getForecast] });
  const [text, setText] = useState("");
  const [edited, setEdited] = useState(-1);

  function send(event: FormEvent) {
    event.preventDefault();
    if (edited >= 0) chat.setMessages(chat.messages.slice(0, edited));
    chat.sendMessage(text);
    setText("");
    setEdited(-1);
  }

  function edit(index: number) {
    setEdited(index);
    const part = chat.messages[index]?.parts[0];
    setText(part?.type === "text" ? part.content : "");
  }

  return (
    <main className="chat">
      <h1>Chat</h1>
      <div className="messages">
        {chat.messages.map((message, index) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, position) => (
              <Part
                key={position}
                part={part}
                live={chat.isLoading && index === chat.messages.length - 1 && position === message.parts.length - 1}
              />
            ))}
            {message.role === "user" && !chat.isLoading && <button onClick={() => edit(index)}>Edit</button>}
          </article>
        ))}
        {chat.error && <p role="alert">{chat.error.message}</p>}
      </div>
      <form onSubmit={send}>
        <input
          aria-label={edited < 0 ? "Message" : "Edit the question"}
          value={text}
          onChange={(event) => setText(event.target.value)}
          required
        />
        {chat.isLoading ? (
          <button type="button" onClick={chat.stop}>Stop</button>
        ) : (
          <>
            <button>Send</button>
            <button type="button" onClick={chat.reload}>Regenerate</button>
          </>
        )}
      </form>
    </main>
  );
}

function Part({ part, live }: { part: UIMessage["parts"][number]; live: boolean }) {
  switch (part.type) {
    case "text":
      return <p>{part.content}</p>;
    case "thinking": // without text, it carries only an encrypted value, which the agent needs back
      return (
        <details hidden={!isVisible(part.content, live)}>
          <summary>{reasoningTitle(live)}</summary>
          <p>{part.content}</p>
        </details>
      );
    case "tool-call":
      return <pre className="calls">{`${part.name}(${part.arguments})`}</pre>;
    default:
      return null;
  }
}

createRoot(document.body).render(<Chat />);
