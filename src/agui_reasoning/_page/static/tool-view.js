/** Shows a tool call: its arguments and its result, and a form if this page has to answer it. */

import { hintOf } from "./conversation.js";
import { h } from "./dom.js";
import { prettyJSON, textOf } from "./format.js";
import { icon } from "./icons.js";
import { newId } from "./ids.js";
import { isObject } from "./members.js";
import { QuestionList } from "./question-view.js";
import { offersEdits } from "./questions.js";

const DEFAULT_ERROR = "The tool is not available.";

/** @typedef {"writing" | "waiting" | "asking" | "running" | "done" | "failed" | "unanswered"} CallStatus */

/** @type {Record<CallStatus, string>} */
const STATUS_TEXT = {
  writing: "Writing arguments…",
  waiting: "Waiting for your answer",
  asking: "Waiting for your decision",
  running: "Running…",
  done: "Done",
  failed: "Failed",
  unanswered: "Not answered",
};

export class ToolCard {
  #status = h("span", { class: "tool-status" });
  #summary = h("span", { class: "tool-summary" });
  #arguments = h("pre", { tabindex: "0", "aria-label": "Arguments" });
  #result = h("pre", { tabindex: "0", "aria-label": "Result" });
  #resultPart;
  #reason;
  /** @type {AnswerForm | null} */
  #form = null;

  /**
   * @param {import("./conversation.js").ToolCall} call
   * @param {{answer: (content: string, error?: string) => void, showReason: (callId: string) => void, suggested: string,
   *   decide: (answer: import("./questions.js").Answer) => boolean, reconsider: (interruptId: string) => void}} actions
   */
  constructor(call, actions) {
    this.id = call.id;
    this.actions = actions;
    const details = h("div", { class: "tool-details", id: `tool-${newId()}`, hidden: true });
    this.#resultPart = h("div", { hidden: true }, h("h3", {}, "Result"), this.#result);
    this.#reason = h("button", { type: "button", class: "link", hidden: true, onclick: () => actions.showReason(call.id) }, "Show the reasoning behind this call");
    details.append(h("h3", {}, "Arguments"), this.#arguments, this.#resultPart, this.#reason);
    this.details = details;
    this.toggle = h(
      "button",
      { type: "button", class: "tool-toggle", "aria-expanded": "false", "aria-controls": details.id, onclick: () => this.expand(details.hidden) },
      icon("tool"), h("code", { class: "tool-name" }, call.function.name), this.#summary, this.#status, icon("chevron"),
    );
    this.questions = new QuestionList({ ...actions, leave: () => this.toggle.focus() });
    this.element = h("section", { class: "tool", role: "group", "aria-label": `Tool call ${call.function.name}` }, this.toggle, details, this.questions.element);
  }

  expand(isExpanded) {
    this.details.hidden = !isExpanded;
    this.toggle.setAttribute("aria-expanded", String(isExpanded));
    this.element.classList.toggle("is-expanded", isExpanded);
  }

  /**
   * @param {import("./conversation.js").ToolCall} call
   * @param {CallStatus} status
   * @param {import("./conversation.js").Message | undefined} result
   * @param {boolean} hasReason Whether the reasoning behind the call is shown somewhere.
   */
  update(call, status, result, hasReason) {
    this.status = status;
    this.element.dataset.status = status;
    write(this.#status, STATUS_TEXT[status]);
    write(this.#summary, summaryOf(call.function.arguments));
    write(this.#arguments, prettyJSON(call.function.arguments) || "none");
    this.#resultPart.hidden = !result;
    const error = result && errorOf(result);
    if (result) write(this.#result, error ? `Error: ${error}` : prettyJSON(textOf(result.content)));
    this.#reason.hidden = !hasReason;
    this.#showForm(status === "waiting");
  }

  /**
   * Shows what the agent asks about the call, with its arguments, unless they are in the form.
   *
   * @param {import("./questions.js").Question[]} questions
   */
  ask(questions) {
    const isNew = questions.length > 0 && this.questions.element.hidden;
    if (isNew && !questions.some(({ interrupt }) => offersEdits(interrupt))) this.expand(true);
    this.questions.update(questions, argumentsOf(questions.length ? this.#arguments.textContent : ""));
  }

  #showForm(isWaiting) {
    if (isWaiting && !this.#form) {
      this.#form = new AnswerForm(this.actions.suggested, (content, error) => {
        this.toggle.focus();
        this.actions.answer(content, error);
      });
      this.element.append(this.#form.element);
    } else if (!isWaiting && this.#form) {
      this.#form.element.remove();
      this.#form = null;
    }
  }

  focusForm() {
    this.#form?.field.focus();
  }
}

/**
 * Returns the error of a tool. TOOL_CALL_RESULT has no member for it, so the gateway puts it into the metadata.
 *
 * @param {import("./conversation.js").Message} result
 * @returns {string | undefined}
 */
export function errorOf(result) {
  const error = result.error ?? hintOf(result).error;
  return typeof error === "string" ? error : undefined;
}

/** The form for the result of a call, or for the error of the tool. */
class AnswerForm {
  /**
   * @param {string} suggested
   * @param {(content: string, error?: string) => void} send
   */
  constructor(suggested, send) {
    const id = `answer-${newId()}`;
    this.texts = { result: prettyJSON(suggested), error: DEFAULT_ERROR };
    this.mode = /** @type {"result" | "error"} */ ("result");
    this.label = h("label", { for: id });
    this.field = h("textarea", { id, spellcheck: "false", "aria-describedby": `${id}-hint`, oninput: () => this.check() });
    this.hint = h("p", { class: "answer-hint", id: `${id}-hint`, role: "status" });
    this.submit = h("button", { class: "button button-primary" });
    this.other = h("button", { type: "button", class: "button", onclick: () => this.show(this.mode === "result" ? "error" : "result", true) });
    this.element = h("form", { class: "tool-answer" }, this.label, this.field, this.hint, h("div", { class: "answer-actions" }, this.submit, this.other));
    this.element.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      if (this.mode === "error") send(this.field.value, this.field.value || DEFAULT_ERROR);
      else send(this.field.value);
    });
    this.show("result");
  }

  /** Shows the form for a result, or for an error. */
  show(mode, isSwitch = false) {
    if (isSwitch) this.texts[this.mode] = this.field.value;
    this.mode = mode;
    const isError = mode === "error";
    this.label.textContent = isError ? "What went wrong" : "Result of the tool, as JSON or text";
    this.submit.textContent = isError ? "Send the error" : "Send the result";
    this.other.textContent = isError ? "Send a result instead" : "Report an error";
    this.field.value = this.texts[mode];
    this.field.rows = Math.min(10, this.field.value.split("\n").length + 1);
    this.check();
    if (isSwitch) this.field.focus();
  }

  /** Tells about JSON that is broken, which is sent as text. */
  check() {
    const text = this.field.value.trim();
    const isBroken = this.mode === "result" && /^[[{]/.test(text) && !isJSON(text);
    const hint = isBroken ? "This is not valid JSON. It will be sent as text." : "";
    if (this.hint.textContent !== hint) this.hint.textContent = hint;
  }
}

function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the arguments as an object, if that is what they are. */
function argumentsOf(text) {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the arguments in one line. */
function summaryOf(text) {
  try {
    const values = Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    return values.join(", ").slice(0, 200);
  } catch {
    return "";
  }
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
