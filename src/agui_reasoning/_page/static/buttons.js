/** Small buttons that several parts of the chat have. */

import { copy } from "./clipboard.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** How long a button says what it did, in milliseconds. */
const TOLD_MS = 1500;

/**
 * Creates a small button that is an icon.
 *
 * @param {Parameters<typeof icon>[0]} name
 * @param {string} label
 * @param {(event: MouseEvent) => void} onclick
 */
export function action(name, label, onclick) {
  return h("button", { type: "button", class: "action", "aria-label": label, title: label, onclick }, icon(name));
}

/**
 * Creates a button that copies a text, and says whether it did.
 *
 * @param {() => string} text
 */
export function copyButton(text) {
  const show = (name, label) => {
    button.replaceChildren(icon(name));
    button.setAttribute("aria-label", label);
    button.title = label;
  };
  const button = action("copy", "Copy", async () => {
    if (await copy(text())) show("check", "Copied");
    else show("alert", "Not copied");
    setTimeout(() => show("copy", "Copy"), TOLD_MS);
  });
  return button;
}
