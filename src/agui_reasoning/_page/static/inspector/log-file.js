/** Reads stored logs, which are Server-Sent Events, JSON lines or a JSON array; and writes JSON lines. */

import { FrameReader } from "../sse.js";

/** The largest file that is opened, in bytes. */
export const MAX_LOG_BYTES = 32 * 1024 * 1024;
/** The longest log that is shown. */
export const MAX_LOG_EVENTS = 50_000;

/** The file is not a log; the message is a sentence for people. */
export class LogError extends Error {
  name = "LogError";
}

/**
 * Reads a file.
 *
 * @param {{name: string, size: number, text: () => Promise<string>}} file
 * @returns {Promise<import("../conversation.js").AGUIEvent[]>}
 * @throws {LogError}
 */
export async function openLog(file) {
  const name = file.name || "The file";
  if (file.size > MAX_LOG_BYTES) throw new LogError(`${name} is larger than ${MAX_LOG_BYTES / 1024 / 1024} MB.`);
  try {
    return readLog(await file.text());
  } catch (error) {
    if (error instanceof LogError) throw new LogError(`${name} is not a log of AG-UI events: ${error.message}`);
    throw new LogError(`${name} cannot be read.`);
  }
}

/**
 * Returns the events of a log.
 *
 * @param {string} text
 * @throws {LogError}
 */
export function readLog(text) {
  const source = text.replace(/^\uFEFF/, "").trimStart();
  if (!source) throw new LogError("it is empty.");
  const values = source.startsWith("[") ? arrayOf(source) : source.startsWith("{") ? linesOf(source) : framesOf(source);
  if (values.length === 0) throw new LogError("it contains no event.");
  if (values.length > MAX_LOG_EVENTS) throw new LogError(`it has more than ${MAX_LOG_EVENTS.toLocaleString("en")} events.`);
  values.forEach(checkEvent);
  return values;
}

/**
 * Returns a log as JSON lines: the events as they came, to the letter, with the time of their arrival if they have none.
 *
 * @param {import("../session.js").LogEntry[]} log
 * @param {{isTimed?: boolean}} [options] Whether it is known when they arrived.
 */
export function writeLog(log, { isTimed = true } = {}) {
  return log.map((entry) => `${lineOf(entry, isTimed)}\n`).join("");
}

function lineOf({ event, raw, at }, isTimed) {
  const line = raw.trim().replaceAll(/[\r\n]+/g, " "); // JSON breaks lines between its tokens only
  return isTimed && event.timestamp === undefined ? `${line.slice(0, -1)},"timestamp":${at}}` : line;
}

function arrayOf(source) {
  const value = parse(source);
  if (value === undefined) throw new LogError("its JSON is not valid.");
  return value;
}

function linesOf(source) {
  const whole = parse(source);
  if (whole !== undefined) return [whole];
  return source.split(/\r\n?|\n/).flatMap((line, index) => {
    if (!line.trim()) return [];
    const value = parse(line);
    if (value === undefined) throw new LogError(`line ${index + 1} is not valid JSON.`);
    return [value];
  });
}

function framesOf(source) {
  if (!/^(?:data|event|id|retry)?:/.test(source)) {
    throw new LogError("it is neither Server-Sent Events nor JSON.");
  }
  const reader = new FrameReader();
  return [...reader.feed(source), ...reader.close()].map((data, index) => {
    const value = parse(data);
    if (value === undefined) throw new LogError(`the data of event ${index + 1} is not valid JSON.`);
    return value;
  });
}

function checkEvent(value, index) {
  if (typeof value?.type === "string" && value.type) return;
  if (typeof value?.role === "string") throw new LogError("it contains messages, not events.");
  if (Array.isArray(value?.messages)) throw new LogError("it is the input of a run, not its events.");
  throw new LogError(`item ${index + 1} has no type. For a provider's stream, use \`agui-reasoning encode\` first.`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
