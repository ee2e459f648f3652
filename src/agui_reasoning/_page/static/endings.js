/**
 * How the last run of a question ended, if its answer may be incomplete; without a screen.
 *
 * @typedef {"failed" | "stopped" | "cut" | "full" | "filtered" | "declined"} EndingKind
 * @typedef {{kind: EndingKind, code?: string}} Ending `code` is that of RUN_ERROR.
 */

/** What finish reasons mean that are not the usual end, without their prefix and in lower case. @type {Map<string, EndingKind>} */
const KINDS = new Map([
  ...kinds("cut", ["incomplete", "insufficient_system_resource", "length", "max_len", "max_length", "max_output_tokens", "max_tokens"]),
  ...kinds("full", ["max_context", "model_context_window_exceeded", "model_length"]),
  ...kinds("filtered", [
    "blocklist", "content_filter", "content_filtered", "error_toxic", "guardrail_intervened", "image_safety", "prohibited_content", "recitation", "safety", "spii",
  ]),
  ...kinds("declined", ["refusal"]),
]);

function kinds(kind, reasons) {
  return reasons.map((reason) => /** @type {[string, EndingKind]} */ ([reason, kind]));
}

/**
 * Returns what a provider's finish reason means, or `null` if the answer is complete.
 *
 * @param {unknown} reason
 * @returns {Ending | null}
 */
export function endingOf(reason) {
  const name = String(reason).toLowerCase().replace(/^(?:finish_)?reason_/, "");
  const kind = KINDS.get(name);
  return kind ? { kind } : null;
}

/** Words for what ended without an error. @type {Partial<Record<EndingKind, string>>} */
export const SENTENCES = {
  stopped: "Stopped",
  cut: "The answer was cut off at its length limit.",
  full: "The conversation is too long for the model. Start a new chat to go on.",
  filtered: "The provider's filter ended the answer.",
  declined: "The model declined to answer.",
};
