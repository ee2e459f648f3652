import { Chat } from "./chat";
import { render } from "./view";

const page = {
  messages: document.querySelector<HTMLElement>("#messages")!,
  error: document.querySelector<HTMLElement>("#error")!,
  composer: document.querySelector<HTMLFormElement>("#composer")!,
  question: document.querySelector<HTMLTextAreaElement>("#question")!,
  clear: document.querySelector<HTMLButtonElement>("#clear")!,
  send: document.querySelector<HTMLButtonElement>("#send")!,
  stop: document.querySelector<HTMLButtonElement>("#stop")!,
  regenerate: document.querySelector<HTMLButtonElement>("#regenerate")!,
};

let editing = ""; // the ID of the question that is being edited
let frame = 0;
const url = new URLSearchParams(location.search).get("agent") ?? "/agent";
const chat = new Chat(url, () => {
  frame ||= requestAnimationFrame(show); // at most once per frame, however many events arrive
});

function show(): void {
  frame = 0;
  const view = page.messages.parentElement!;
  const atEnd = view.scrollHeight - view.clientHeight - view.scrollTop < 50;
  render(page.messages, chat.messages, chat.running);
  if (atEnd) view.scrollTop = view.scrollHeight; // follow the answer, unless people have scrolled up
  page.messages.ariaBusy = String(chat.running);
  page.error.textContent = chat.error;
  page.send.disabled = page.clear.disabled = chat.running;
  page.question.ariaLabel = editing ? "Edit the message" : "Message";
  page.stop.hidden = !chat.running;
  page.regenerate.hidden = chat.running || chat.messages.length === 0;
  for (const button of page.messages.querySelectorAll<HTMLButtonElement>(".edit")) button.disabled = chat.running;
}

page.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = page.question.value;
  void (editing ? chat.edit(editing, text) : chat.send(text));
  editing = page.question.value = "";
  show();
});

page.question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!chat.running) page.composer.requestSubmit();
});

page.messages.addEventListener("click", (event) => {
  const button = (event.target as HTMLElement).closest(".edit");
  if (button === null) return;
  const question = button.closest("article")!;
  editing = question.id;
  page.question.value = question.querySelector(".text")!.textContent;
  page.question.focus();
  show();
});

page.clear.addEventListener("click", () => {
  editing = page.question.value = "";
  chat.clear();
});
page.stop.addEventListener("click", () => chat.stop());
page.regenerate.addEventListener("click", () => void chat.regenerate());
addEventListener("pagehide", () => chat.save());
show();
