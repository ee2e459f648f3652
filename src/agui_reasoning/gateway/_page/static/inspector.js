/**
 * Mounts the inspector, the right side of the page.
 *
 * @param {HTMLElement} element
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function mountInspector(element, session, config) {
  element.replaceChildren();
}
