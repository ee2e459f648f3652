/** Small parts that several views of the inspector use. */

import { copy } from "../clipboard.js";
import { h } from "../dom.js";

/** How long a button says that it copied. */
const COPIED_MS = 1500;

/**
 * Creates a button that copies text.
 *
 * @param {string} label
 * @param {() => string} text
 */
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "insp-button", "aria-live": "polite" }, label);
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text())) ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = label; }, COPIED_MS);
  });
  return button;
}

/**
 * Creates a small label.
 *
 * @param {string} text
 * @param {"neutral" | "good" | "warn" | "bad" | "reasoning"} [tone]
 */
export function chip(text, tone = "neutral") {
  return h("span", { class: "insp-chip", dataset: { tone } }, text);
}

/**
 * Returns a sentence whose words in backticks are code.
 *
 * @param {string} sentence
 */
export function prose(sentence) {
  return sentence.split("`").map((words, index) => (index % 2 ? h("code", {}, words) : words));
}

/** @param {...(Node | string)} words */
export function note(...words) {
  return h("p", { class: "insp-note" }, ...words);
}

/** Creates an element that is built when a person opens it. */
export function disclosure(summary, build) {
  const element = h("details", { class: "insp-details" }, h("summary", {}, summary));
  element.addEventListener("toggle", () => {
    if (element.open) element.append(build());
    else while (element.childNodes.length > 1) element.lastChild.remove();
  });
  return element;
}

/**
 * Returns a function that calls another one at most once per frame.
 *
 * @param {() => void} call
 */
export function perFrame(call) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      call();
    });
  };
}
