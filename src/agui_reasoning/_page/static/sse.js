/**
 * Reads Server-Sent Events.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { pauser } from "./pause.js";

/** The longest frame that is read, in characters, as in the official AG-UI client. */
const MAX_FRAME = 10 * 1024 * 1024;

/** The response is not a stream of AG-UI events. */
export class StreamError extends Error {
  name = "StreamError";
}

/**
 * Reads the events of a response as they arrive.
 *
 * @param {Response} response
 * @returns {AsyncGenerator<{event: import("./conversation.js").AGUIEvent, raw: string}>} Each event and its JSON.
 * @throws {StreamError} A frame is no AG-UI event, or is too long.
 */
export async function* readEvents(response) {
  if (!response.body) throw new StreamError("The response has no body.");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const frames = new FrameReader();
  const pause = pauser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      pause.begin();
      // A frame that the end of the response cut off is left out.
      const data = done ? frames.close(decoder.decode()).filter(isJSON) : frames.feed(decoder.decode(value, { stream: true }));
      for (const raw of data) {
        yield { event: parse(raw), raw };
        const due = pause.due();
        if (due) await due;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Splits text into frames, whatever pieces it arrives in. */
export class FrameReader {
  /** @type {string[]} The data lines of the current frame. */
  #data = [];
  /** @type {string[]} The pieces of the current line. */
  #line = [];
  #length = 0;
  #afterReturn = false;

  /**
   * Returns the data of the frames that a piece of text completes.
   *
   * @param {string} text
   * @returns {string[]}
   */
  feed(text) {
    const frames = [];
    let start = this.#afterReturn && text[0] === "\n" ? 1 : 0;
    if (text) this.#afterReturn = false;
    for (let end = lineEnd(text, start); end >= 0; end = lineEnd(text, start)) {
      this.#grow(text.slice(start, end));
      const data = this.#endLine();
      if (data !== null) frames.push(data);
      start = end + 1;
      if (text[end] !== "\r") continue;
      if (text[start] === "\n") start += 1;
      else this.#afterReturn = start === text.length;
    }
    this.#grow(text.slice(start));
    return frames;
  }

  /**
   * Returns the data of the last frames, which may lack the empty line at the end.
   *
   * @param {string} [text] The last piece of text.
   * @returns {string[]}
   */
  close(text = "") {
    return [...this.feed(text), ...this.feed("\n\n")];
  }

  /** @param {string} piece */
  #grow(piece) {
    this.#length += piece.length;
    if (this.#length > MAX_FRAME) throw new StreamError("An event of the stream is too long.");
    if (piece) this.#line.push(piece);
  }

  /** @returns {string | null} The data of the frame that this line ends. */
  #endLine() {
    const line = this.#line.join("");
    this.#line = [];
    if (line) {
      const [, name, value] = /^([^:]*)(?:: ?)?([^]*)$/.exec(line);
      if (name === "data") this.#data.push(value);
      return null;
    }
    const data = this.#data.length ? this.#data.join("\n") : null;
    this.#data = [];
    this.#length = 0;
    return data;
  }
}

/** @returns {number} The position of the next line end, or -1. */
function lineEnd(text, start) {
  const ends = /[\r\n]/g;
  ends.lastIndex = start;
  return ends.exec(text)?.index ?? -1;
}

/** @param {string} raw */
function isJSON(raw) {
  try {
    JSON.parse(raw);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} raw */
function parse(raw) {
  let event;
  try {
    event = JSON.parse(raw);
  } catch {
    throw new StreamError("The response is not a stream of AG-UI events: a frame is not JSON.");
  }
  if (typeof event?.type !== "string" || !event.type) {
    throw new StreamError("The response is not a stream of AG-UI events: a frame has no type.");
  }
  return event;
}
