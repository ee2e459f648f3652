/** Shows what the agent asks, with a form for the answer. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { newId } from "./ids.js";
import { EDITED, decisionOf, isExpired, offersEdits, payloadOf, schemaOf } from "./questions.js";
import { fieldOf } from "./schema-fields.js";

/** The longest time that a browser can wait for, in milliseconds. */
const MAX_WAIT_MS = 2 ** 31 - 1;

const DECIDED = { true: "You approved this.", false: "You refused this." };

/**
 * @typedef {object} QuestionActions
 * @property {(answer: import("./questions.js").Answer) => boolean} decide Returns whether a run sends it now.
 * @property {(interruptId: string) => void} reconsider
 * @property {() => void} leave Moves the focus elsewhere, because the form is gone.
 */

/** The questions about one call, or about none. */
export class QuestionList {
  /** @type {Map<string, QuestionView>} */
  #views = new Map();

  /** @param {QuestionActions} actions */
  constructor(actions) {
    this.actions = actions;
    this.element = h("div", { class: "questions", hidden: true });
  }

  /**
   * @param {import("./questions.js").Question[]} questions
   * @param {object} [args] The arguments of the call that they are about.
   */
  update(questions, args) {
    const asked = new Set(questions.map(({ interrupt }) => interrupt));
    for (const [id, view] of this.#views) if (!asked.has(view.interrupt)) this.#remove(id, view);
    for (const { interrupt, answer } of questions) {
      let view = this.#views.get(interrupt.id);
      if (!view) {
        this.#views.set(interrupt.id, (view = new QuestionView(interrupt, this.actions, args)));
        this.element.append(view.element);
      }
      view.update(answer);
    }
    this.element.hidden = questions.length === 0;
  }

  #remove(id, view) {
    view.element.remove();
    this.#views.delete(id);
  }
}

class QuestionView {
  /**
   * @param {import("./questions.js").Interrupt} interrupt
   * @param {QuestionActions} actions
   * @param {object} [args]
   */
  constructor(interrupt, actions, args) {
    this.interrupt = interrupt;
    this.actions = actions;
    const schema = schemaOf(interrupt);
    this.decision = decisionOf(schema);
    const asked = this.decision ? this.decision.others : schema;
    const value = args && offersEdits(interrupt) ? { [EDITED]: args } : undefined;
    this.field = asked && fieldOf(asked, schema, { isRequired: true, value });
    this.suggested = JSON.stringify(this.field?.read()?.[EDITED]);
    const id = `question-${newId()}`;
    this.form = h("form", { class: "question-form" }, this.field?.element, this.#actions());
    this.form.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      if (!this.decision) this.#resolve(true); // Enter in a field approves nothing
    });
    this.note = h("p", { class: "question-note" });
    this.change = h("button", { type: "button", class: "button", onclick: () => this.#reconsider() }, "Change");
    this.decided = h("div", { class: "question-decided" }, this.note, this.change);
    this.element = h(
      "section", { class: "agent-question", role: "group", "aria-labelledby": id },
      h("p", { class: "question-text", id }, icon("alert"), h("span", {}, interrupt.message || `The agent asks for: ${interrupt.reason ?? "an answer"}.`)),
      this.#until(), this.form, this.decided,
    );
    const wait = Date.parse(interrupt.expiresAt ?? "") - Date.now();
    if (wait > 0 && wait < MAX_WAIT_MS) setTimeout(() => this.update(this.answer), wait);
  }

  #actions() {
    const cancel = h("button", { type: "button", class: "button button-quiet", onclick: () => this.#cancel() }, "Do not answer");
    if (!this.decision) return h("div", { class: "answer-actions" }, h("button", { class: "button button-primary" }, "Send the answer"), cancel);
    const approve = h("button", { type: "button", class: "button button-primary", onclick: () => this.#resolve(true) }, icon("check"), "Approve");
    const refuse = h("button", { type: "button", class: "button", onclick: () => this.#resolve(false) }, "Refuse");
    return h("div", { class: "answer-actions" }, approve, refuse, cancel);
  }

  #until() {
    const time = Date.parse(this.interrupt.expiresAt ?? "");
    return Number.isNaN(time) ? null : h("p", { class: "question-until" }, `Answer until ${new Date(time).toLocaleString()}`);
  }

  /** @param {import("./questions.js").Answer | undefined} answer */
  update(answer) {
    this.answer = answer;
    const expired = isExpired(this.interrupt);
    this.form.hidden = answer !== undefined || expired;
    this.decided.hidden = !this.form.hidden;
    this.change.textContent = expired ? "Go on without an answer" : "Change";
    const note = expired && answer?.status !== "cancelled" ? "This question has expired." : this.#said();
    if (this.note.textContent !== note) this.note.textContent = note;
  }

  #said() {
    if (this.answer?.status === "cancelled") return "You gave no answer.";
    if (!this.decision) return "You answered this.";
    const payload = this.answer?.payload;
    return DECIDED[this.decision.name === null ? payload : payload?.[this.decision.name]] ?? "";
  }

  /** @param {boolean} isApproved */
  #resolve(isApproved) {
    if (isApproved && !this.form.reportValidity()) return;
    const said = this.field?.read();
    const payload = this.decision ? payloadOf(this.decision, isApproved, this.#others(said)) : said;
    this.#decide({ interruptId: this.interrupt.id, status: "resolved", ...(payload === undefined || payload === null ? {} : { payload }) });
  }

  /** Returns what the fields say beside the decision, without arguments that are as they were. */
  #others(said = {}) {
    if (JSON.stringify(said[EDITED]) !== this.suggested) return said;
    const { [EDITED]: _, ...others } = said;
    return others;
  }

  #cancel() {
    this.#decide({ interruptId: this.interrupt.id, status: "cancelled" });
  }

  #decide(answer) {
    this.actions.leave();
    if (this.actions.decide(answer)) return;
    this.update(answer);
    this.change.focus();
  }

  #reconsider() {
    if (isExpired(this.interrupt)) return this.#cancel();
    this.actions.reconsider(this.interrupt.id);
    this.update(undefined);
    /** @type {HTMLElement | null} */ (this.form.querySelector("input, select, textarea, button"))?.focus();
  }
}
