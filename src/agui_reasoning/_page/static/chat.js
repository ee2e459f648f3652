/** The left side of the page: the thread, and the field for messages. */

import { Announcer } from "./announcer.js";
import { h } from "./dom.js";
import { SENTENCES } from "./endings.js";
import { icon } from "./icons.js";
import { QuestionList } from "./question-view.js";
import { reasoningChoice } from "./reasoning-choice.js";
import { ThreadView, decide, isSubmit } from "./thread-view.js";

/** How far from the end the thread may be scrolled and still follow, in pixels. */
const NEAR_END = 60;

/**
 * Mounts the chat.
 *
 * @param {HTMLElement} element
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function mountChat(element, session, config) {
  const chat = new Chat(session, config);
  element.replaceChildren(...chat.elements);
  chat.changed(null);
}

class Chat {
  /** @type {Set<string> | null} The messages that changed since the last frame; `null` for all. */
  #changed = new Set();
  #isScheduled = false;
  #follows = true;

  constructor(session, config) {
    this.session = session;
    this.view = new ThreadView(session);
    this.announcer = new Announcer(session, this.view);
    this.welcome = welcome(config, (question) => this.#ask(question));
    this.followUps = h("div", { class: "follow-ups", hidden: true });
    this.outcome = h("div", { class: "outcome" });
    this.questions = new QuestionList({
      decide: (answer) => decide(session, answer),
      reconsider: (interruptId) => session.reconsider(interruptId),
      leave: () => this.composer.input.focus(),
    });
    this.scroller = h(
      "div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Conversation", onscroll: () => this.#scrolled() },
      h("div", { class: "column thread" }, h("h2", { class: "visually-hidden" }, "Conversation"), this.welcome, this.view.element, this.outcome, this.questions.element, this.followUps),
    );
    this.jump = h("button", { type: "button", class: "jump", hidden: true, onclick: () => this.#toEnd() }, icon("down"), "Latest");
    this.composer = new Composer(session, config);
    this.elements = [this.scroller, h("div", { class: "jump-row" }, this.jump), h("div", { class: "dock" }, h("div", { class: "column" }, this.composer.element)), this.announcer.element];
    session.addEventListener("change", (event) => this.changed(event.detail));
    session.addEventListener("status", () => this.changed(new Set()));
    addEventListener("keydown", (pressed) => {
      if (pressed.key === "Escape" && !pressed.defaultPrevented && !pressed.isComposing) session.stop();
    });
  }

  /** @param {Set<string> | null} ids */
  changed(ids) {
    if (ids === null || this.#changed === null) this.#changed = null;
    else for (const id of ids) this.#changed.add(id);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const ids = this.#changed;
    this.#changed = new Set();
    this.#isScheduled = false;
    this.view.update(ids, this.#follows);
    this.welcome.hidden = this.session.conversation.messages.length > 0;
    this.view.element.ariaBusy = String(this.session.isRunning);
    showOutcome(this.outcome, this.session);
    this.questions.update(this.session.conversation.questionsAbout());
    this.#suggest();
    this.composer.update();
    this.announcer.update();
    if (this.#follows) this.#toEnd();
  }

  /** Sends a question that was suggested. */
  #ask(question) {
    this.composer.input.focus();
    this.session.send(question);
  }

  /** Suggests the next question below an answer. */
  #suggest() {
    const { conversation, config } = this.session;
    const asked = new Set(conversation.messages.filter(({ role }) => role === "user").map(({ content }) => content));
    const next = isAnswered(conversation) ? config.questions.find((question) => !asked.has(question)) : undefined;
    this.followUps.hidden = next === undefined;
    if (next === undefined || this.followUps.textContent === next) return;
    this.followUps.replaceChildren(h("button", { type: "button", class: "follow-up", onclick: () => this.#ask(next) }, next));
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.#follows = scrollHeight - scrollTop - clientHeight < NEAR_END;
    this.jump.hidden = this.#follows;
  }

  #toEnd() {
    this.#follows = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

/** Returns whether the last question has its answer, and nothing else is to be done. */
function isAnswered(conversation) {
  const { status, ending, messages, pendingToolCalls } = conversation;
  return ["finished", "idle"].includes(status) && !ending && !pendingToolCalls.length && messages.at(-1)?.role === "assistant";
}

/** What an empty thread shows: what this is, and the question that the others follow. */
function welcome(config, ask) {
  const { live, name } = config.upstream;
  const what = "Chat with a model, and see how its reasoning travels: as it streams over AG‑UI, and back to the provider with the next request.";
  const note = live ? `The model is ${name}.` : "The answers are scripted: they need no key, and cost nothing.";
  const suggestions = config.questions.slice(0, 1).map((question) => h("button", { type: "button", class: "suggestion", onclick: () => ask(question) }, question));
  return h(
    "div", { class: "welcome" },
    h("h2", {}, "What would you like to ask?"), h("p", { class: "welcome-what" }, what), h("div", { class: "suggestions" }, ...suggestions), h("p", { class: "welcome-note" }, note),
  );
}

/** Shows how the run is doing at the end of the thread: it waits for the model, or it failed. */
function showOutcome(element, session) {
  const { status, failure } = session.conversation;
  const waiting = session.conversation.isThinking ? "thinking" : "waiting";
  const kind = status === "running" && isWaiting(session.conversation) ? waiting : status;
  const { ending } = session.conversation;
  const key = JSON.stringify([kind, failure, ending]);
  if (element.dataset.shown === key) return;
  element.dataset.shown = key;
  element.replaceChildren(...(OUTCOMES[kind]?.(session) ?? []));
}

/** Returns whether nothing of the answer is arriving yet. */
function isWaiting(conversation) {
  const last = conversation.messages.at(-1);
  return last?.role !== "assistant" && !conversation.isOpen(last?.id);
}

const OUTCOMES = {
  thinking: () => [h("p", { class: "waiting" }, h("span", { class: "pulse" }), "Thinking…")],
  waiting: () => [h("p", { class: "waiting" }, h("span", { class: "pulse" }), "Waiting for the model…")],
  stopped: (session) => [h("p", { class: "stopped" }, icon("stop"), SENTENCES.stopped, retryButton(session, "Try again"))],
  idle: (session) => finished(session),
  finished: (session) => finished(session),
  interrupted: () => [h("p", { class: "stopped" }, "The agent waits for your decision. If you send a message instead, it gets no answer.")],
  failed: (session) => {
    const { code, message } = session.conversation.failure ?? { code: "", message: "" };
    const sentence = message || "The run failed, and the agent did not say why.";
    return [h("div", { class: "failure", role: "alert" }, icon("alert"), h("div", {}, h("p", {}, sentence), code && h("p", { class: "failure-code" }, "Code: ", h("code", {}, code))), retryButton(session, "Retry"))];
  },
};

/** Says that an answer is not complete, although the run has ended well. */
function finished(session) {
  const { ending } = session.conversation;
  if (!ending || !SENTENCES[ending.kind]) return [];
  return [h("p", { class: "stopped" }, icon("cut"), SENTENCES[ending.kind], ending.kind === "cut" ? continueButton(session) : null)];
}

function continueButton(session) {
  return h("button", { type: "button", class: "button", onclick: () => {
    document.getElementById("composer-input")?.focus();
    session.send("Continue.");
  } }, "Continue");
}

function retryButton(session, label) {
  if (!session.canRetry) return null;
  return h("button", { type: "button", class: "button", onclick: () => {
    document.getElementById("composer-input")?.focus();
    session.retry();
  } }, icon("redo"), label);
}

/** The field for messages. */
class Composer {
  constructor(session, config) {
    this.session = session;
    this.input = h("textarea", { id: "composer-input", rows: "1", dir: "auto", placeholder: "Ask something", "aria-label": "Message", "aria-describedby": "composer-hint", oninput: () => this.#written() });
    this.send = h("button", { class: "round", "aria-label": "Send", disabled: true }, icon("send"));
    this.stop = h("button", { type: "button", class: "round", "aria-label": "Stop", hidden: true, onclick: () => this.#stop() }, icon("stop"));
    this.element = h("form", { class: "composer" }, this.input, this.send, this.stop, reasoningChoice(session, config), h("p", { class: "composer-hint", id: "composer-hint" }, "Enter sends, Shift+Enter starts a new line, Esc stops"));
    this.element.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      this.#submit();
    });
    this.input.addEventListener("keydown", (pressed) => {
      if (!isSubmit(pressed)) return;
      pressed.preventDefault();
      this.#submit();
    });
  }

  update() {
    const { isRunning } = this.session;
    if (this.stop.hidden === !isRunning) return;
    const hadFocus = [this.send, this.stop].includes(document.activeElement);
    this.send.hidden = isRunning;
    this.stop.hidden = !isRunning;
    if (hadFocus) this.input.focus();
  }

  #submit() {
    if (this.session.isRunning || !this.input.value.trim()) return;
    this.session.send(this.input.value.trim());
    this.input.value = "";
    this.#written();
  }

  #stop() {
    this.input.focus();
    this.session.stop();
  }

  #written() {
    this.send.disabled = !this.input.value.trim();
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
  }
}
