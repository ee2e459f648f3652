/** Tells screen readers what happens, in few words: streamed text would be read in pieces. */

import { h } from "./dom.js";
import { labelOf } from "./reasoning-view.js";

export class Announcer {
  #last = "";

  /**
   * @param {import("./session.js").Session} session
   * @param {import("./thread-view.js").ThreadView} view
   */
  constructor(session, view) {
    this.session = session;
    this.view = view;
    this.element = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    this.wasRunning = false;
  }

  update() {
    const text = this.session.isRunning ? this.#progress() : this.wasRunning ? this.#result() : this.#last;
    this.wasRunning = this.session.isRunning;
    if (text === this.#last) return;
    this.#last = text;
    this.element.textContent = text;
  }

  #progress() {
    const answer = this.view.lastAnswer;
    const isThinking = answer?.disclosures.some(({ segments }) => segments.some(({ isOpen }) => isOpen));
    return isThinking ? "Thinking" : answer?.text ? "Answering" : "Waiting for the model";
  }

  #result() {
    const { conversation } = this.session;
    if (conversation.status === "failed") return ""; // an alert of its own
    if (conversation.status === "stopped") return "Stopped";
    const answer = this.view.lastAnswer;
    const [call] = conversation.pendingToolCalls;
    const segments = answer?.disclosures.flatMap((disclosure) => disclosure.segments) ?? [];
    const thought = segments.length ? `${labelOf(segments, "long")}. ` : "";
    const request = call ? ` The tool ${call.function.name} waits for your answer.` : "";
    const [question] = conversation.questions;
    const asked = question ? ` The agent asks: ${question.interrupt.message ?? question.interrupt.reason ?? ""}` : "";
    return `${thought}${answer?.text ?? ""}${request}${asked}`;
  }
}
