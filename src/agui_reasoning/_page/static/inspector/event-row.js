/** The element of a row of the timeline, and the words in it. */

import { h } from "../dom.js";
import { counted } from "./events.js";
import { gutter } from "./gutter.js";

/**
 * Creates the element of a row.
 *
 * @param {import("./timeline.js").Row} row
 * @param {{position: number, isHead: boolean, isSelected: boolean, problem: string, api: string | null, middle: number, height: number}} look
 */
export function eventRow(row, { position, isHead, isSelected, problem, api, ...size }) {
  const properties = {
    role: "treeitem",
    "aria-level": levelOf(row),
    id: `insp-row-${position}`,
    class: isHead ? "insp-row insp-run" : "insp-row",
    "aria-selected": String(isSelected),
    dataset: { position, family: row.family, problem, failed: row.type.endsWith("_ERROR") },
  };
  const took = tookOf(row, isHead);
  return h(
    "div", properties,
    gutter(row.lines, size),
    h(
      "span", { class: "insp-name" },
      h("span", { class: "insp-type" }, row.type),
      row.count > 1 ? h("span", { class: "insp-count" }, `× ${row.count.toLocaleString("en")}`) : null,
    ),
    h("span", { class: "insp-summary" }, ...marksOf(row, problem), isHead ? headingOf(row.run) : row.summary),
    row.run ? h("span", { class: "insp-bar", "data-cut": row.isCut }, h("span", {})) : h("span", {}),
    h("span", { class: "insp-at" }, `+${secondsText(row.offset)}`),
    h("span", { class: "insp-took" }, took === null ? "" : h("span", { class: "insp-offscreen" }, "took "), took === null ? "" : secondsText(took)),
    isHead ? h("span", { class: "insp-run-facts" }, ...factsOf(row.run, api)) : null,
  );
}

/**
 * Returns how deep a row is: what a pair contains is deeper than its ends.
 *
 * @param {import("./timeline.js").Row} row
 */
export function levelOf({ lines }) {
  const isEnd = lines.some(({ part }) => part === "start" || part === "end");
  return lines.filter(({ part }) => part !== "cut").length + (isEnd ? 0 : 1);
}

/**
 * Returns what an element of a row shows that can change: as long as it is the same, so is the element.
 *
 * @param {import("./timeline.js").Row} row
 */
export function stateOf(row, { isHead, isSelected, problem }) {
  const grown = isHead ? `${row.run.lastAt} ${row.run.state}` : `${row.until} ${row.isCut}`;
  return `${row.count} ${row.lines.map((line) => line.part)} ${problem} ${isSelected} ${grown}`;
}

/**
 * Moves the bar of a row to its place in the time of its run, which grows while the run goes on.
 *
 * @param {HTMLElement} element
 * @param {import("./timeline.js").Row} row
 */
export function placeBar(element, { at, until, run }) {
  const bar = element.querySelector(".insp-bar > span");
  if (!bar) return;
  const whole = Math.max(1, run.duration);
  const share = (time) => ((time - run.startedAt) / whole).toFixed(4);
  bar.style.setProperty("--from", share(at));
  bar.style.setProperty("--to", share(until ?? run.lastAt));
}

/**
 * Returns how long what a row stands for took, in milliseconds; `null` if it takes no time, or is not over.
 *
 * @param {import("./timeline.js").Row} row
 */
export function tookOf(row, isHead = false) {
  if (isHead) return row.run.duration;
  if (row.until === null || row.isCut) return null;
  return row.count > 1 || row.until > row.at ? row.until - row.at : null;
}

/** What comes before the words of a row: its subagent, and what is wrong with it. */
function marksOf(row, problem) {
  const isNamed = row.subagent !== null && row.subagent !== row.summary; // its start is about the subagent itself
  return [
    isNamed ? h("span", { class: "insp-chip" }, row.subagent) : null,
    problem ? h("span", { class: "insp-problem" }, problem) : null,
    row.isAlone ? h("span", { class: "insp-problem" }, "not open") : null,
  ];
}

/** @param {import("./run-facts.js").RunFacts} run */
function headingOf({ number, models }) {
  return [`Run ${number}`, ...models].join(" · ");
}

/** What is known about a run: how it ended, the time to its first token, its tokens, and the API behind it. */
function factsOf(run, api) {
  const { untilFirstToken: first, tokens, state, ending, isIncomplete } = run;
  const tone = state === "failed" ? "bad" : isIncomplete ? "warn" : "neutral";
  return [
    state === "running" ? null : h("span", { class: "insp-chip", dataset: { tone }, title: "How the run ended" }, ending || state),
    first === null ? null : fact(`first token ${secondsText(first)}`, "From the start of the run to the first piece of what the model wrote"),
    tokens && fact(tokenWords(tokens), tokens.cached ? `${tokens.cached.toLocaleString("en")} of the tokens in were cached` : null),
    api ? h("span", { class: "insp-api" }, api) : null,
  ];
}

function fact(words, title = null) {
  return h("span", { title }, words);
}

function tokenWords({ input, output, reasoning }) {
  const thought = reasoning === null ? "" : ` (${reasoning.toLocaleString("en")} reasoning)`;
  return `${input.toLocaleString("en")} tokens in, ${output.toLocaleString("en")} out${thought}`;
}

/** Returns a duration for people. */
export function secondsText(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Returns the name of a row for people. */
export function rowTitle(row) {
  return row.count === 1 ? `Event ${row.first + 1}` : `Events ${row.first + 1} to ${row.first + row.count}, ${counted(row.count, "delta")}`;
}
