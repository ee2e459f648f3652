import { h } from "./dom.js";

/**
 * Mounts the chat.
 *
 * @param {HTMLElement} element
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function mountChat(element, session, config) {
  const thread = h("div", { class: "thread" });
  const input = h("textarea", { id: "composer-input", "aria-label": "Message" });
  const form = h("form", { class: "composer" }, input, h("button", {}, "Send"));
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    session.send(input.value);
    input.value = "";
  });
  session.addEventListener("change", () => {
    thread.replaceChildren(...session.conversation.messages.map((message) => h("p", {}, `${message.role}: ${message.content}`)));
  });
  element.append(thread, form);
}
