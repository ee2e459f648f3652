/** Shows the messages of a conversation. Only what changed is touched, and texts grow by what is new. */

import { action, copyButton } from "./buttons.js";
import { h } from "./dom.js";
import { SENTENCES } from "./endings.js";
import { textOf } from "./format.js";
import { MarkdownText } from "./markdown/view.js";
import { Disclosure, Segment } from "./reasoning-view.js";
import { ToolCard, errorOf } from "./tool-view.js";
import { turnsOf } from "./turns.js";

export class ThreadView {
  /** @type {Map<string, QuestionView | AnswerView | EndingView>} */
  #turns = new Map();
  /** @type {Map<string, string>} The key of the turn of each message. */
  #turnOf = new Map();

  /** @param {import("./session.js").Session} session */
  constructor(session) {
    this.session = session;
    this.element = h("div", { class: "turns" });
  }

  /**
   * Shows what has changed.
   *
   * @param {Set<string> | null} ids The changed messages, or `null` for everything.
   * @param {boolean} mayFold Whether reasoning that has ended is folded.
   */
  update(ids, mayFold) {
    const { messages, endings } = this.session.conversation;
    const turns = turnsOf(messages, endings);
    const keys = ids && new Set([...ids].map((id) => this.#turnOf.get(id)));
    this.#turnOf = new Map(turns.flatMap((turn) => idsOf(turn).map((id) => [id, turn.key])));
    for (const id of ids ?? []) keys?.add(this.#turnOf.get(id));
    const fill = (turn) => this.#turns.get(turn.key)?.update(turn, mayFold);
    reconcile(this.element, this.#turns, turns, (turn) => new (VIEWS[turn.kind])(turn, this.session), fill);
    for (const turn of turns) if (!keys || keys.has(turn.key)) fill(turn);
  }

  /** @returns {AnswerView | undefined} */
  get lastAnswer() {
    return [...this.#turns.values()].findLast((view) => view instanceof AnswerView);
  }
}

function idsOf(turn) {
  if (turn.kind === "question") return [turn.message.id];
  if (turn.kind === "ending") return [];
  return turn.items.flatMap((item) => (item.kind === "reasoning" ? item.messages.map(({ id }) => id) : [item.message.id, item.result?.id]));
}

/**
 * Makes the children of an element match a list, by key, and moves as few as possible.
 *
 * @template {{element: HTMLElement}} View
 * @template {{key: string}} Value
 * @param {HTMLElement} parent
 * @param {Map<string, View>} views
 * @param {Value[]} values
 * @param {(value: Value) => View} create
 * @param {(value: Value) => void} fill Shows a value in a new view, before it becomes part of the page.
 */
function reconcile(parent, views, values, create, fill) {
  const keys = new Set(values.map(({ key }) => key));
  for (const [key, view] of views) {
    if (keys.has(key)) continue;
    view.element.remove();
    views.delete(key);
  }
  let place = parent.firstElementChild;
  for (const value of values) {
    let view = views.get(value.key);
    if (!view) {
      views.set(value.key, (view = create(value)));
      fill(value);
    }
    if (view.element === place) place = place.nextElementSibling;
    else parent.insertBefore(view.element, place);
  }
}

/** A message of the user, which can be edited. */
class QuestionView {
  #text = h("div", { class: "bubble", dir: "auto" });

  constructor(turn, session) {
    this.session = session;
    this.id = turn.message.id;
    this.editButton = action("edit", "Edit", () => this.#edit());
    this.sendButton = h("button", { class: "button button-primary" }, "Send");
    this.actions = h("div", { class: "actions" }, copyButton(() => textOf(this.message.content)), this.editButton);
    this.element = h("article", { class: "turn question", "aria-label": "You" }, this.#text, this.actions);
  }

  update({ message }) {
    this.message = message;
    const text = textOf(message.content);
    if (this.#text.textContent !== text) this.#text.textContent = text;
    this.editButton.hidden = this.sendButton.disabled = this.session.isRunning;
  }

  #edit() {
    const field = h("textarea", { class: "edit-field", dir: "auto", "aria-label": "Edit your message" });
    field.value = textOf(this.message.content);
    const close = () => {
      form.replaceWith(this.#text, this.actions);
      (this.editButton.hidden ? document.getElementById("composer-input") : this.editButton)?.focus();
    };
    const form = h(
      "form", { class: "edit" }, field,
      h("div", { class: "edit-actions" }, h("button", { type: "button", class: "button", onclick: close }, "Cancel"), this.sendButton),
    );
    form.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      if (this.session.isRunning || !field.value.trim()) return;
      document.getElementById("composer-input")?.focus();
      this.session.edit(this.id, field.value);
    });
    form.addEventListener("keydown", (pressed) => {
      if (pressed.key === "Escape" && !pressed.isComposing) {
        pressed.stopPropagation();
        close();
      } else if (isSubmit(pressed) && pressed.target === field) {
        pressed.preventDefault();
        form.requestSubmit();
      }
    });
    this.#text.replaceWith(form);
    this.actions.remove();
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }
}

/** An answer: reasoning, tool calls and text. */
class AnswerView {
  /** @type {Map<string, {element: HTMLElement}>} */
  #views = new Map();
  /** @type {Map<string, Segment>} The reasoning of the answer, wherever it is shown. */
  #segments = new Map();
  #items = h("div", { class: "items" });

  constructor(turn, session) {
    this.session = session;
    this.copy = copyButton(() => this.text);
    this.regenerate = action("redo", "Regenerate", () => this.#regenerate());
    this.actions = h("div", { class: "actions" }, this.copy, this.regenerate);
    this.element = h("article", { class: "turn answer", "aria-label": "Assistant" }, this.#items, this.actions);
  }

  update(turn, mayFold) {
    this.messageIds = idsOf(turn);
    this.text = turn.items.filter(({ kind }) => kind === "text").map(({ message }) => textOf(message.content)).join("\n\n");
    this.calls = turn.items.filter(({ kind }) => kind === "call");
    const fill = (item) => this.#updateItem(item, item === turn.items.at(-1), mayFold);
    reconcile(this.#items, this.#views, turn.items, (item) => this.#create(item), fill);
    for (const item of turn.items) fill(item);
    const isAwaited = this.calls.some(({ call }) => AWAITED.has(this.#views.get(`call:${call.id}`)?.status));
    this.copy.hidden = !this.text;
    this.regenerate.hidden = this.#canRetry;
    this.actions.hidden = this.session.isRunning || isAwaited || (this.copy.hidden && this.regenerate.hidden);
  }

  /** Whether the end of the thread offers to try this answer again. */
  get #canRetry() {
    const { messages, status } = this.session.conversation;
    return RETRIED.has(status) && this.messageIds.includes(messages.at(-1)?.id);
  }

  get disclosures() {
    return [...this.#views.values()].filter((view) => view instanceof Disclosure);
  }

  #create(item) {
    switch (item.kind) {
      case "reasoning":
        return new Disclosure(item.messages[0].id, this.session);
      case "text":
        return new MarkdownText("answer-text");
      case "call":
        return new ToolCard(item.call, {
          answer: (content, error) => this.session.answer(item.call.id, content, { error }),
          decide: (answer) => decide(this.session, answer),
          reconsider: (interruptId) => this.session.reconsider(interruptId),
          showReason: () => this.#showReason(item.call.id),
          suggested: suggestedAnswer(this.session.config, item.call),
        });
      default:
        return new ActivityView();
    }
  }

  #updateItem(item, isLast, mayFold) {
    const view = /** @type {any} */ (this.#views.get(item.key));
    const { conversation } = this.session;
    if (item.kind === "reasoning") {
      view.setSegments(item.messages.map((message) => this.#segment(message)));
      view.refresh(isLast, mayFold);
    } else if (item.kind === "text") {
      view.update(textOf(item.message.content), conversation.isOpen(item.message.id));
    } else if (item.kind === "call") {
      view.update(item.call, statusOf(item, conversation), item.result, this.#reasonOf(item) !== undefined);
      view.ask(conversation.questionsAbout(item.call.id));
    } else {
      view.update(item.message);
    }
    const subagent = this.session.conversation.subagents.get((item.message ?? item.messages?.[0]).subagentRunId);
    if (subagent) view.element.dataset.subagent = subagent.name;
  }

  #segment(message) {
    let segment = this.#segments.get(message.id);
    if (!segment) this.#segments.set(message.id, (segment = new Segment(message)));
    segment.update(message, this.session.conversation);
    return segment;
  }

  #reasonOf(item) {
    return this.disclosures.find((view) => view.has(item.reasoningId) && view.segments.some(({ id, hasText }) => id === item.reasoningId && hasText));
  }

  #showReason(callId) {
    const item = this.calls.find(({ call }) => call.id === callId);
    const disclosure = item && this.#reasonOf(item);
    if (!disclosure) return;
    disclosure.expand(true);
    const segment = disclosure.segments.find(({ id }) => id === item.reasoningId);
    segment?.element.focus();
    segment?.element.scrollIntoView({ block: "nearest" });
  }

  #regenerate() {
    document.getElementById("composer-input")?.focus();
    const id = this.messageIds.find((found) => found !== undefined);
    if (id) this.session.regenerate(id);
  }
}

/** How an earlier question was answered, if it may not be complete. */
class EndingView {
  constructor({ question }, session) {
    this.session = session;
    this.text = h("span");
    this.retry = h("button", { type: "button", class: "link", onclick: () => this.#retry(question) }, "Retry");
    this.element = h("p", { class: "turn ending" }, this.text, this.retry);
  }

  update({ ending: { kind, code }, hasAnswer }) {
    const failed = [hasAnswer ? "Not finished" : "Not answered", code?.replaceAll("_", " ")].filter(Boolean).join(" · ");
    this.text.textContent = kind === "failed" ? failed : SENTENCES[kind];
    this.retry.hidden = this.session.isRunning;
  }

  #retry(question) {
    document.getElementById("composer-input")?.focus();
    this.session.regenerate(question);
  }
}

const VIEWS = { question: QuestionView, answer: AnswerView, ending: EndingView };

/** The states of calls that the user has to do something about. */
const AWAITED = new Set(["waiting", "asking"]);

/** The states of threads that offer to try again. */
const RETRIED = new Set(["failed", "stopped"]);

/** Answers what the agent asks. Returns whether a run sends it now. */
export function decide(session, answer) {
  session.decide(answer);
  return session.isRunning;
}

/** @returns {import("./tool-view.js").CallStatus} */
function statusOf({ call, result }, conversation) {
  if (result) return errorOf(result) ? "failed" : "done";
  if (conversation.isOpen(call.id)) return "writing";
  if (conversation.status === "running") return "running";
  if (conversation.questionsAbout(call.id).length) return "asking";
  return conversation.pendingToolCalls.some(({ id }) => id === call.id) ? "waiting" : "unanswered";
}

function suggestedAnswer(config, call) {
  return config.tools.find(({ declaration }) => declaration.name === call.function.name)?.answer ?? "";
}

/** Something that the agent shows besides messages. */
class ActivityView {
  #text = h("pre", { tabindex: "0", "aria-label": "Content" });
  #type = h("span", { class: "activity-type" });

  constructor() {
    this.element = h("section", { class: "activity", role: "group", "aria-label": "Activity" }, this.#type, this.#text);
  }

  update(message) {
    this.#type.textContent = String(message.activityType ?? "Activity");
    this.#text.textContent = textOf(message.content);
  }
}

/** Returns whether a key press sends a text: Enter without Shift, unless it ends the input of a composed character. */
export function isSubmit(pressed) {
  return pressed.key === "Enter" && !pressed.shiftKey && !pressed.isComposing;
}
