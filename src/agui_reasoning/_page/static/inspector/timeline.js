/**
 * The rows of the timeline: one for each event, or for a series of deltas of one entity, each with the pairs
 * that are open there. Without input or output; the cost of an event does not depend on those before it.
 *
 * @typedef {import("./events.js").Family} Family
 * @typedef {import("./events.js").Pair} Pair
 * @typedef {import("../conversation.js").AGUIEvent} AGUIEvent
 *
 * @typedef {object} Line The part of a pair's bracket that is drawn in a row.
 * @property {number} column
 * @property {Pair} pair
 * @property {"start" | "through" | "inside" | "end" | "cut"} part
 *
 * @typedef {object} Row
 * @property {number} first The index of its first event.
 * @property {number} count How many events it stands for.
 * @property {string} type
 * @property {Family} family
 * @property {string} summary
 * @property {number} characters Of all deltas.
 * @property {number} at When its first event arrived, in milliseconds.
 * @property {number | null} until When its last event arrived, or the pair that it opens was closed; `null` while that is open.
 * @property {boolean} isCut The pair that it opens was left open.
 * @property {number} offset Milliseconds since the start of the run.
 * @property {number | null} duration Milliseconds since the pair that it closes was opened.
 * @property {Line[]} lines
 * @property {string | null} subagent The name of the subagent that it belongs to.
 * @property {boolean} isAlone It closes or continues what was never opened.
 * @property {RunFacts | null} run The run that it belongs to.
 * @property {number} head The position of the row that starts its run; -1 if there is none.
 */

import { entityOf, kindOf } from "./events.js";
import { RunFacts } from "./run-facts.js";

/** How much of the text of deltas is kept in a row. */
const PREVIEW = 160;

/** How many brackets are drawn in a row; a broken log can leave thousands open. */
export const MAX_COLUMNS = 12;

/** @typedef {{pair: Pair, key: string, column: number | undefined, at: number, row: Row | undefined}} Bracket */

export class Timeline {
  /** @type {Row[]} */
  rows = [];
  /** The number of events. */
  length = 0;

  /** @type {RunFacts[]} */
  runs = [];

  /** @type {Map<string, Bracket>} The open pairs. */
  #open = new Map();
  /** @type {Map<number, Bracket>} Those that are drawn, by column. */
  #drawn = new Map();
  /** @type {Map<string, string>} The names of subagents. */
  #subagents = new Map();
  /** @type {string | null} What the last row collects. */
  #series = null;
  #startedAt = 0;
  /** @type {RunFacts | null} */
  #run = null;
  #head = -1;

  /**
   * Adds an event.
   *
   * @param {AGUIEvent} event
   * @param {number} at When it arrived, in milliseconds.
   * @returns {Row} Its row, which can be the last one.
   */
  add(event, at) {
    const index = this.length++;
    const kind = kindOf(event.type);
    if (event.type === "RUN_STARTED") this.#startRun();
    this.#run?.add(event, at);
    const series = kind.repeats ? `${event.type} ${entityOf(event, kind.inside)} ${ownerOf(event)}` : null;
    if (series !== null && series === this.#series) return this.#grow(this.rows[this.rows.length - 1], kind.summary(event), at);
    this.#series = series;
    if (event.type === "RUN_STARTED" || index === 0) this.#startedAt = at;
    const row = this.#row(event, kind, index, at);
    this.rows.push(row);
    return row;
  }

  #startRun() {
    this.#run = new RunFacts(this.runs.length + 1);
    this.#head = this.rows.length;
    this.runs.push(this.#run);
  }

  /**
   * Returns the position of the row that contains an event, or of the last row.
   *
   * @param {number} index
   */
  positionOf(index) {
    let low = 0;
    let high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].first <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** @returns {Row} */
  #row(event, kind, index, at) {
    const summary = kind.summary(event);
    const bracket = this.#bracketOf(event, kind, at);
    const lines = this.#lines(kind, bracket);
    const duration = kind.closes && bracket ? at - bracket.at : null;
    this.#settle(event, kind, bracket, at);
    const row = {
      first: index,
      count: 1,
      type: event.type,
      family: kind.family,
      summary: summary.slice(0, PREVIEW),
      characters: kind.repeats ? summary.length : 0,
      at,
      until: kind.opens ? null : at,
      isCut: false,
      offset: at - this.#startedAt,
      duration,
      lines,
      subagent: this.#subagentOf(event),
      isAlone: Boolean((kind.closes || kind.inside) && !bracket),
      run: this.#run,
      head: this.#head,
    };
    if (kind.opens && bracket) bracket.row = row;
    return row;
  }

  #grow(row, summary, at) {
    row.count += 1;
    row.until = at;
    row.characters += summary.length;
    if (row.summary.length < PREVIEW) row.summary = (row.summary + summary).slice(0, PREVIEW);
    return row;
  }

  /** Returns the pair that an event opens, continues or closes. */
  #bracketOf(event, kind, at) {
    if (kind.opens === "run") this.#cutAll();
    const pair = kind.opens ?? kind.closes ?? kind.inside;
    if (!pair) return undefined;
    const key = keyOf(event, pair);
    return kind.opens ? this.#openBracket(pair, key, at) : this.#open.get(key);
  }

  #openBracket(pair, key, at) {
    this.#close(this.#open.get(key), at);
    const bracket = { pair, key, column: this.#freeColumn(), at, row: undefined };
    this.#open.set(key, bracket);
    if (bracket.column !== undefined) this.#drawn.set(bracket.column, bracket);
    return bracket;
  }

  /** Returns the column after the innermost bracket, else a free one between others. */
  #freeColumn() {
    const next = Math.max(-1, ...this.#drawn.keys()) + 1;
    if (next < MAX_COLUMNS) return next;
    return Array.from({ length: MAX_COLUMNS }, (_, column) => column).find((column) => !this.#drawn.has(column));
  }

  /**
   * @param {Bracket | undefined} bracket
   * @param {number} at
   */
  #close(bracket, at) {
    if (!bracket) return;
    if (bracket.row) bracket.row.until = at;
    this.#open.delete(bracket.key);
    if (bracket.column !== undefined) this.#drawn.delete(bracket.column);
  }

  /** Closes all pairs; those but the one that ends are cut. */
  #closeAll(at, ended) {
    for (const bracket of this.#open.values()) {
      if (bracket.row) Object.assign(bracket.row, { until: at, isCut: bracket !== ended });
    }
    this.#open.clear();
    this.#drawn.clear();
  }

  /** @returns {Line[]} */
  #lines(kind, own) {
    const part = kind.opens ? "start" : kind.closes ? "end" : "inside";
    const ends = kind.closes === "run";
    return [...this.#drawn].map(([column, bracket]) => ({
      column,
      pair: bracket.pair,
      part: bracket === own ? part : ends ? "cut" : "through",
    }));
  }

  /** Updates what is open after an event. */
  #settle(event, kind, bracket, at) {
    if (event.type === "SUBAGENT_STARTED") this.#subagents.set(event.subagentRunId, event.name);
    if (kind.closes === "run") this.#closeAll(at, bracket);
    else if (kind.closes) this.#close(bracket, at);
  }

  /** Ends the brackets of a run that never ended. */
  #cutAll() {
    const last = this.rows.at(-1);
    for (const line of last?.lines ?? []) if (line.part !== "end") line.part = "cut";
    this.#closeAll(last ? last.until ?? last.at : 0, undefined);
  }

  #subagentOf(event) {
    const id = event.subagentRunId;
    return typeof id === "string" ? String(this.#subagents.get(id) ?? id) : null;
  }
}

function keyOf(event, pair) {
  const owner = pair === "step" ? ownerOf(event) : "";
  return `${pair} ${owner} ${entityOf(event, pair)}`;
}

function ownerOf(event) {
  return typeof event.subagentRunId === "string" ? event.subagentRunId : "";
}
