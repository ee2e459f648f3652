import type { AssistantMessage, Message } from "@ag-ui/client";
import { hintOf, isVisible, reasoningTitle } from "../agui-reasoning";

/** Shows the messages. Elements stay while their messages do, so that what people opened stays open. */
export function render(list: HTMLElement, messages: readonly Message[], running: boolean): void {
  const shown = new Map(Array.from(list.children, (element) => [element.id, element as HTMLElement]));
  messages.forEach((message, index) => {
    const element = shown.get(message.id) ?? list.appendChild(create(message));
    shown.delete(message.id);
    update(element, message, running && index === messages.length - 1);
  });
  for (const element of shown.values()) element.remove();
}

const TEMPLATES: Partial<Record<Message["role"], string>> = {
  user: `<p class="text"></p><button type="button" class="edit">Edit</button>`,
  reasoning: `<details><summary></summary><p class="text"></p></details>`,
  assistant: `<p class="text"></p><pre class="calls"></pre>`,
  tool: `<details><summary>Result</summary><p class="text"></p></details>`,
};

function create(message: Message): HTMLElement {
  const element = document.createElement("article");
  element.id = message.id;
  element.className = message.role;
  element.innerHTML = TEMPLATES[message.role] ?? ""; // fixed markup: content is only ever set as text
  return element;
}

function update(element: HTMLElement, message: Message, live: boolean): void {
  const text = typeof message.content === "string" ? message.content : "";
  setText(element, ".text", text);
  if (message.role === "assistant") setText(element, ".calls", calls(message));
  if (message.role === "reasoning") {
    element.hidden = !isVisible(text, live);
    element.classList.toggle("live", live);
    setText(element, "summary", reasoningTitle(live, hintOf(message)));
  }
}

function setText(element: HTMLElement, selector: string, text: string): void {
  const target = element.querySelector<HTMLElement>(selector);
  if (target === null || target.textContent === text) return;
  target.textContent = text;
  target.hidden = text === "";
}

function calls(message: AssistantMessage): string {
  return (message.toolCalls ?? []).map((call) => `${call.function.name}(${call.function.arguments})`).join("\n");
}
