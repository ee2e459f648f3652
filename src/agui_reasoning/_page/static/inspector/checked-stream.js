/** What of a log is checked, and when. */

/** @typedef {import("../session.js").LogEntry} LogEntry */

const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
/** What the page knows and the log does not contain: a person stopped the run. */
const STOPPED = JSON.stringify({ type: "RUN_ERROR", message: "Stopped.", code: "abort" });

/**
 * Returns the stream to check. Each run arrived in a response of its own, so one that was stopped is no fault of
 * the producer: it gets an end.
 *
 * @param {LogEntry[]} log
 * @param {{isStopped: boolean}} options Whether the last run was stopped.
 * @returns {{body: string, places: number[]}} JSON, and the index in the log of each of its events.
 */
export function checkedStream(log, { isStopped }) {
  const raw = [];
  const places = [];
  let isOpen = false;
  const add = (text, place) => {
    raw.push(text);
    places.push(place);
  };
  log.forEach((entry, index) => {
    const { type } = entry.event;
    if (type === "RUN_STARTED" && isOpen) add(STOPPED, index);
    add(entry.raw, index);
    isOpen = type === "RUN_STARTED" || (isOpen && !ENDS.has(type));
  });
  if (isOpen && isStopped) add(STOPPED, log.length);
  return { body: `[${raw.join(",")}]`, places };
}

/**
 * Returns a stored log as it is: its runs are one stream.
 *
 * @param {LogEntry[]} log
 */
export function storedStream(log) {
  return { body: `[${log.map(({ raw }) => raw).join(",")}]`, places: log.map((_, index) => index) };
}

// A check reads the whole log, so the next one waits until the log has grown by half: the work for a log of any
// length is a small multiple of reading it once.

/** Logs up to this length are checked whenever they change. */
const SHORT = 200;
const GROWTH = 1.5;

/**
 * Returns whether a log is to be checked now.
 *
 * @param {{length: number, isRunning: boolean}} log
 * @param {{length: number, isRunning: boolean}} checked The log at the last check.
 */
export function isDue({ length, isRunning }, checked) {
  if (length === checked.length) return checked.isRunning && !isRunning; // how the run ended can be a finding
  return !isRunning || length <= SHORT || length >= checked.length * GROWTH;
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
