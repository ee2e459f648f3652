/** A text that grows: each update appends to the last paragraph, and earlier paragraphs are not touched again. */

import { h } from "./dom.js";

export class StreamedText {
  #shown = "";
  /** Where the last paragraph starts. */
  #start = 0;
  /** @type {Text | null} */
  #last = null;
  /** @type {HTMLElement | null} The element of the last paragraph. */
  #paragraph = null;

  /** @param {string} className */
  constructor(className) {
    this.element = h("div", { class: className });
  }

  /**
   * Shows a text.
   *
   * @param {string} text
   */
  update(text) {
    if (text === this.#shown) return;
    if (!text.startsWith(this.#shown)) this.#clear();
    const end = this.#shown.length;
    this.#shown = text;
    this.#breakParagraphs(text, Math.max(this.#start, endOfWords(text, end)));
    if (!this.#last) this.#open();
    const from = this.#start + this.#last.length;
    if (from < text.length) this.#last.appendData(text.slice(from));
  }

  #breakParagraphs(text, from) {
    const breaks = /(?<!\n)\n{2,}(?=[^\n])/g; // tried once per run of breaks, not from each of them
    breaks.lastIndex = from;
    for (let found = breaks.exec(text); found; found = breaks.exec(text)) {
      if (!this.#last) this.#open();
      this.#close(text.slice(this.#start, found.index));
      this.#start = breaks.lastIndex;
      this.#open();
    }
  }

  #open() {
    this.#last = document.createTextNode("");
    this.#paragraph = h("p", {}, this.#last);
    this.element.append(this.#paragraph);
  }

  /** Completes the last paragraph. One that is bold as a whole is a heading. */
  #close(text) {
    const heading = /^\*\*([^*\n]+)\*\*$/.exec(text)?.[1];
    this.#last.data = heading ?? text;
    if (heading) this.#paragraph.setAttribute("class", "heading");
  }

  #clear() {
    this.element.replaceChildren();
    this.#shown = "";
    this.#start = 0;
    this.#last = null;
  }
}

/** Returns where the line breaks before a position begin: a paragraph can end with breaks that are already shown. */
function endOfWords(text, position) {
  while (position > 0 && text[position - 1] === "\n") position -= 1;
  return position;
}
