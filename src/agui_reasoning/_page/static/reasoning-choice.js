/** The choice of effort and display, where the gateway allows it. */

import { h } from "./dom.js";

/** What the choices are called; an effort is called as it is. */
const LABELS = { full: "all reasoning", summary: "summaries", none: "no reasoning" };

/**
 * Returns the fields, or `null` if the user cannot choose.
 *
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function reasoningChoice(session, config) {
  const allowed = config.reasoningRequest;
  if (!allowed) return null;
  return h(
    "div", { class: "reasoning-choice" },
    field(session, "effort", "Effort", allowed.effort, (effort) => effort),
    field(session, "display", "Show", allowed.display, (display) => LABELS[display]),
  );
}

function field(session, name, label, values, labelOf) {
  const choose = ({ target }) => {
    const { [name]: _, ...others } = session.reasoning;
    session.reasoning = target.value ? { ...others, [name]: target.value } : others;
  };
  const options = values.map((value) => h("option", { value }, labelOf(value)));
  return h("label", {}, `${label} `, h("select", { "aria-label": label, onchange: choose }, h("option", { value: "" }, "as it is set"), ...options));
}
