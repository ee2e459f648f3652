/** Shows reasoning: a disclosure of segments, one for each reasoning message. */

import { h } from "./dom.js";
import { duration, previewOf, textOf } from "./format.js";
import { icon } from "./icons.js";
import { newId } from "./ids.js";
import { StreamedText } from "./streamed-text.js";
import { heldBy } from "./values.js";

const NOTES = {
  none: "",
  encrypted: "Encrypted reasoning: kept for the model, not readable here.",
  redacted: "Redacted reasoning: withheld by the provider, kept for the model.",
  opaque: "Reasoning without text: its signature is kept for the model.",
};
const REST = "The rest is encrypted: kept for the model, not readable here.";

/** One reasoning message. */
export class Segment {
  #text = new StreamedText("segment-text");
  #note = h("p", { class: "segment-note", hidden: true });

  /** @param {import("./conversation.js").Message} message */
  constructor(message) {
    this.id = message.id;
    this.element = h("div", { class: "segment", id: `segment-${newId()}`, tabindex: "-1" }, this.#text.element, this.#note);
  }

  /**
   * @param {import("./conversation.js").Message} message
   * @param {import("./conversation.js").Conversation} conversation
   */
  update(message, conversation) {
    const text = textOf(message.content);
    this.isOpen = conversation.isOpen(message.id);
    this.ms = conversation.durations.get(message.id);
    this.hasText = text.trim() !== "";
    this.preview = this.hasText ? previewOf(text) : "";
    this.note = noteFor(heldBy(message), this.hasText);
    this.#text.update(text);
    this.#text.element.hidden = !this.hasText;
    this.#note.hidden = !this.note;
    this.#note.replaceChildren(...(this.note ? [icon("lock"), this.note] : []));
  }
}

/** Returns the note on what a message carries beside its text; a signature of shown text needs none. */
function noteFor(held, hasText) {
  return hasText && held === "encrypted" ? REST : NOTES[held];
}

/** A disclosure. It is collapsed at first, and shows one line of its newest segment. */
export class Disclosure {
  /** @type {Map<string, Segment>} */
  #segments = new Map();
  #label = h("span", { class: "thought-label" });
  #preview = h("span", { class: "thought-preview" });
  /** Shown instead of the toggle, if there is nothing to expand. */
  #still = h("div", { class: "thought-toggle thought-still", hidden: true });

  constructor() {
    const id = newId();
    this.body = h("div", { class: "thought-body", id: `thought-${id}`, hidden: true });
    this.toggle = h(
      "button",
      { type: "button", class: "thought-toggle", "aria-expanded": "false", "aria-controls": this.body.id, onclick: () => this.expand(!this.isExpanded) },
      icon("spark"), this.#label, icon("chevron"), this.#preview,
    );
    this.element = h("section", { class: "thought", role: "group", "aria-label": "Thinking" }, this.toggle, this.#still, this.body);
  }

  get isExpanded() {
    return !this.body.hidden;
  }

  get segments() {
    return [...this.#segments.values()];
  }

  /** @param {boolean} isExpanded */
  expand(isExpanded) {
    this.body.hidden = !isExpanded;
    this.toggle.setAttribute("aria-expanded", String(isExpanded));
    this.element.classList.toggle("is-expanded", isExpanded);
  }

  /** Shows these segments, which may have been in other disclosures. */
  setSegments(segments) {
    this.#segments = new Map(segments.map((segment) => [segment.id, segment]));
    segments.forEach((segment, index) => {
      if (this.body.children[index] !== segment.element) this.body.insertBefore(segment.element, this.body.children[index] ?? null);
    });
  }

  has(messageId) {
    return this.#segments.has(messageId);
  }

  /** Writes the label and the preview. */
  refresh() {
    const segments = this.segments;
    const isOpen = segments.some((segment) => segment.isOpen);
    const hasContent = segments.some((segment) => segment.hasText);
    const note = segments.findLast((segment) => segment.note)?.note ?? "";
    const label = isOpen ? "Thinking…" : labelOf(segments);
    const preview = segments.findLast((segment) => segment.preview)?.preview ?? note;
    this.element.classList.toggle("is-live", isOpen);
    this.element.hidden = !isOpen && !hasContent && !note;
    this.toggle.hidden = !hasContent;
    this.#still.hidden = hasContent;
    write(this.#label, label);
    write(this.#preview, preview);
    if (!hasContent) this.#still.replaceChildren(icon(note ? "lock" : "spark"), h("span", { class: "thought-label" }, label), h("span", { class: "thought-note" }, note));
  }
}

/** @param {Segment[]} segments */
export function labelOf(segments, style = "short") {
  const known = segments.filter((segment) => segment.ms !== undefined);
  if (known.length === 0) return "Thought";
  return `Thought for ${duration(known.reduce((sum, segment) => sum + segment.ms, 0), style)}`;
}

/** Writes text into an element, if it changed. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
