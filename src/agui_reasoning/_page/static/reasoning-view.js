/** Shows reasoning: a disclosure of segments, one for each reasoning message. */

import { h } from "./dom.js";
import { duration, previewOf, textOf } from "./format.js";
import { icon } from "./icons.js";
import { newId } from "./ids.js";
import { MarkdownText } from "./markdown/view.js";
import { heldBy } from "./values.js";

const NOTES = {
  none: "",
  encrypted: "Encrypted reasoning: kept for the model, not readable here.",
  redacted: "Redacted reasoning: withheld by the provider, kept for the model.",
  opaque: "Reasoning without text: its signature is kept for the model.",
};
/** How far long reasoning may be scrolled from its end and still follow, in pixels. */
const NEAR_END = 24;
const REST = "The rest is encrypted: kept for the model, not readable here.";

/** One reasoning message. */
export class Segment {
  #text = new MarkdownText("segment-text");
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
    this.text = text;
    this.note = noteFor(heldBy(message), this.hasText);
    this.#text.update(text, this.isOpen);
    this.#text.element.hidden = !this.hasText;
    this.#note.hidden = !this.note;
    this.#note.replaceChildren(...(this.note ? [icon("lock"), this.note] : []));
  }
}

/** Returns the note on what a message carries beside its text; a signature of shown text needs none. */
function noteFor(held, hasText) {
  return hasText && held === "encrypted" ? REST : NOTES[held];
}

/**
 * A disclosure of the reasoning of one response. It is open while the reasoning streams, then folded to one line, unless the
 * user chose otherwise.
 */
export class Disclosure {
  /** @type {Map<string, Segment>} */
  #segments = new Map();
  #label = h("span", { class: "thought-label" });
  #preview = h("span", { class: "thought-preview", dir: "auto" });
  /** Shown instead of the toggle, if there is nothing to expand. */
  #still = h("div", { class: "thought-toggle thought-still", hidden: true });
  #content = h("div", { class: "thought-content" });
  #isLive = false;
  /** Whether the end of long reasoning is shown while it grows. */
  #follows = true;

  /**
   * @param {string} id Of its first message.
   * @param {import("./session.js").Session} session Which remembers what the user chose.
   */
  constructor(id, session) {
    this.id = id;
    this.session = session;
    this.body = h("div", { class: "thought-body is-clipped", id: `thought-${newId()}`, hidden: true, onscroll: () => this.#scrolled() }, this.#content);
    this.more = h("button", { type: "button", class: "link thought-more", hidden: true, onclick: () => this.#clip(!this.#isClipped) }, "Show all");
    this.toggle = h(
      "button",
      { type: "button", class: "thought-toggle", "aria-expanded": "false", "aria-controls": this.body.id, onclick: () => this.#choose(!this.isExpanded) },
      icon("spark"), this.#label, icon("chevron"), this.#preview,
    );
    this.element = h("section", { class: "thought", role: "group", "aria-label": "Thinking" }, this.toggle, this.#still, this.body, this.more);
    new ResizeObserver(() => this.#resized()).observe(this.#content);
  }

  get isExpanded() {
    return !this.body.hidden;
  }

  get segments() {
    return [...this.#segments.values()];
  }

  #choose(isExpanded) {
    this.session.disclosed.set(this.id, isExpanded);
    if (this.#isLive) this.session.opensReasoning = isExpanded;
    this.expand(isExpanded);
  }

  /** @param {boolean} isExpanded */
  expand(isExpanded) {
    this.body.hidden = !isExpanded;
    this.toggle.setAttribute("aria-expanded", String(isExpanded));
    this.element.classList.toggle("is-expanded", isExpanded);
    if (isExpanded) this.#follows = this.#isLive;
    else this.more.hidden = true;
    this.#writePreview();
  }

  setSegments(segments) {
    this.#segments = new Map(segments.map((segment) => [segment.id, segment]));
    segments.forEach((segment, index) => {
      if (this.#content.children[index] !== segment.element) this.#content.insertBefore(segment.element, this.#content.children[index] ?? null);
    });
    while (this.#content.children.length > segments.length) this.#content.lastElementChild?.remove();
  }

  has(messageId) {
    return this.#segments.has(messageId);
  }

  /**
   * Shows the state of the segments.
   *
   * @param {boolean} isLast Whether nothing of the answer follows yet.
   * @param {boolean} mayFold Whether nobody is reading above the end of the thread, where it would move the text.
   */
  refresh(isLast, mayFold) {
    const segments = this.segments;
    const isOpen = segments.some((segment) => segment.isOpen);
    const hasContent = segments.some((segment) => segment.hasText);
    this.#isLive = isOpen && isLast;
    this.note = segments.findLast((segment) => segment.note)?.note ?? "";
    const label = isOpen ? "Thinking…" : labelOf(segments);
    this.element.classList.toggle("is-live", this.#isLive);
    this.element.hidden = !isOpen && !hasContent && !this.note;
    this.toggle.hidden = !hasContent;
    this.#still.hidden = hasContent;
    write(this.#label, label);
    if (!hasContent) this.#still.replaceChildren(icon(this.note ? "lock" : "spark"), h("span", { class: "thought-label" }, label), h("span", { class: "thought-note" }, this.note));
    const isWanted = this.session.disclosed.get(this.id) ?? (this.#isLive && this.session.opensReasoning);
    if (isWanted !== this.isExpanded && (isWanted || mayFold)) this.expand(isWanted);
    else this.#writePreview();
  }

  /** One line that stands for the reasoning, while it is folded. */
  #writePreview() {
    if (this.isExpanded) return;
    const text = this.segments.findLast((segment) => segment.hasText)?.text;
    write(this.#preview, text === undefined ? this.note ?? "" : previewOf(text));
  }

  get #isClipped() {
    return this.body.classList.contains("is-clipped");
  }

  #clip(isClipped) {
    this.body.classList.toggle("is-clipped", isClipped);
    this.more.textContent = isClipped ? "Show all" : "Show less";
    this.#resized();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.body;
    this.#follows = scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  #resized() {
    const { body } = this;
    if (!this.isExpanded) return;
    if (this.#isLive && this.#follows) body.scrollTop = body.scrollHeight;
    const isLong = !this.#isClipped || body.scrollHeight > body.clientHeight + 1;
    this.more.hidden = this.#isLive || !isLong;
    if (isLong) body.tabIndex = 0;
    else body.removeAttribute("tabindex");
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
