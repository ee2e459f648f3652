import { fetchServerSentEvents } from "@tanstack/ai-react";

// TanStack runs a client tool when it receives an event of its own for the call. AG-UI has none: calls without a
// result at the end of a run are for the page.
async function* announceCalls(events) {
  const calls = new Map();
  for await (const event of events) {
    if (event.type === "TOOL_CALL_START") {
      calls.set(event.toolCallId, { toolCallId: event.toolCallId, toolName: event.toolCallName, json: "" });
    } else if (event.type === "TOOL_CALL_ARGS") {
      calls.get(event.toolCallId).json += event.delta;
    } else if (event.type === "TOOL_CALL_RESULT") {
      calls.delete(event.toolCallId);
    } else if (event.type === "RUN_FINISHED" && (event.outcome?.type ?? "success") === "success") {
      for (const { json, ...call } of calls.values()) {
        const value = { ...call, input: JSON.parse(json || "{}") };
        yield { type: "CUSTOM", name: "tool-input-available", value };
      }
    }
    yield event;
  }
}

/** Connects `useChat` to an AG-UI agent. */
export function agentConnection(url) {
  const { connect } = fetchServerSentEvents(url);
  return { connect: (...request) => announceCalls(connect(...request)) };
}
