/** Copies text. */

import { h } from "./dom.js";

/**
 * Puts a text on the clipboard.
 *
 * @param {string} text
 * @returns {Promise<boolean>} Whether it was copied. Pages that are served over plain HTTP have no clipboard.
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
  const focused = document.activeElement;
  const field = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
