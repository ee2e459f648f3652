/** Formats values for people. */

/**
 * Formats a duration.
 *
 * @param {number} ms
 * @param {"short" | "long"} [style] `long` for screen readers.
 */
export function duration(ms, style = "short") {
  if (ms < 1000) return "less than a second";
  const total = Math.round(ms / 1000);
  const [minutes, seconds] = [Math.floor(total / 60), total % 60];
  const [minute, second] = style === "short" ? [" min", " s"] : [plural(minutes, " minute"), plural(seconds, " second")];
  if (minutes === 0) return `${seconds}${second}`;
  return seconds === 0 ? `${minutes}${minute}` : `${minutes}${minute} ${seconds}${second}`;
}

function plural(count, noun) {
  return count === 1 ? noun : `${noun}s`;
}

/**
 * Formats JSON for reading; any other text is returned as it is.
 *
 * @param {string} text
 */
export function prettyJSON(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

/**
 * Returns the text of a message's content, which can be a list of parts.
 *
 * @param {unknown} content
 * @returns {string}
 */
export function textOf(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(partText).join("\n");
  return content === undefined || content === null ? "" : JSON.stringify(content, null, 2);
}

function partText(part) {
  return typeof part?.text === "string" ? part.text : `[${String(part?.type ?? "unknown")}]`;
}

/**
 * Returns one line that stands for a text of reasoning: its newest heading, else its first line.
 *
 * @param {string} text
 */
export function previewOf(text) {
  const headings = text.match(/^(?:\*\*[^*\n]+\*\*|#{1,6} .+)$/gm);
  const line = headings?.at(-1) ?? /\S.*/.exec(text)?.[0] ?? "";
  return line.slice(0, 400).replace(/^(?:#{1,6}|>|[-*+]) +/, "").replaceAll(/\*\*|`/g, "").slice(0, 200);
}
