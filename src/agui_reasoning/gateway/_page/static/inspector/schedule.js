/**
 * Decides when a growing log is checked again. A check reads the whole log, so the next one waits until the log
 * has grown by half: the work for a log of any length is a small multiple of reading it once.
 */

/** Logs up to this length are checked whenever they change. */
const SHORT = 200;
const GROWTH = 1.5;

/**
 * Returns whether a log is to be checked now.
 *
 * @param {{length: number, checked: number, isRunning: boolean}} log `checked` is its length at the last check.
 */
export function isDue({ length, checked, isRunning }) {
  if (length === checked) return false;
  return !isRunning || length <= SHORT || length >= checked * GROWTH;
}

/**
 * Returns the findings to show. While a run goes on, its missing end is not a problem.
 *
 * @template {{code: string, index: number}} Finding
 * @param {Finding[]} findings
 * @param {{events: number, isRunning: boolean}} log
 */
export function shownFindings(findings, { events, isRunning }) {
  return findings.filter(({ code, index }) => !(isRunning && code === "truncated_run" && index === events));
}
