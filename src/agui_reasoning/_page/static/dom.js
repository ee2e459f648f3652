/** Builds elements. Text becomes text nodes, never markup. */

/**
 * Creates an element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} [properties] `class`, `dataset`, event handlers (`onclick`), `aria-*`, `role` and other
 *   attributes; `null`, `undefined` and `false` are left out.
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) set(element, key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
  else if (key === "dataset") Object.assign(element.dataset, value);
  else element.setAttribute(key, value === true ? "" : String(value));
}
