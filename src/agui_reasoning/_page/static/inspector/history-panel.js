/** The tab of the history: what goes back with the next run, what of it can be read, and what is encrypted. */

import { h } from "../dom.js";
import { newId } from "../ids.js";
import { counted, short } from "./events.js";
import { abbreviated, jsonView } from "./json-view.js";
import { bytesOf, describeValue, sizeText, valuesOf } from "./values.js";
import { chip, copyButton, disclosure, note, perFrame } from "./widgets.js";

const KINDS = {
  token: "Encrypted: only the gateway can read it.",
  envelope: "Not encrypted: this gateway has no keys, so anyone with the history can read and change it.",
  other: "The value of another producer.",
};

export class HistoryPanel {
  #session;
  #config;
  #summary;
  #list;
  /** @type {Map<string, HTMLElement>} */
  #cards = new Map();
  /** @type {Set<string> | null} The messages that have changed; `null` for all. */
  #stale = null;
  #isShown = false;

  /**
   * @param {import("../session.js").Session} session
   * @param {import("../config.js").Config} config
   */
  constructor(session, config) {
    this.#session = session;
    this.#config = config;
    this.#summary = h("div", {});
    this.#list = h("div", { class: "insp-messages" });
    this.element = h("div", { class: "insp-history" }, this.#summary, this.#list);
  }

  #draw = perFrame(() => this.#render());

  show(isShown) {
    this.#isShown = isShown;
    if (isShown) this.#draw();
  }

  /** @param {Set<string> | null} ids */
  changed(ids) {
    if (ids === null) this.#stale = null;
    for (const id of ids ?? []) this.#stale?.add(id);
    if (this.#isShown) this.#draw();
  }

  /** The input of the next run, as it would be sent now. */
  input() {
    return nextInput(this.#session, this.#config);
  }

  #render() {
    if (!this.#isShown) return;
    const { messages } = this.input();
    if (this.#stale === null) this.#cards.clear();
    for (const id of this.#stale ?? []) this.#cards.delete(id);
    this.#stale = new Set();
    this.#summary.replaceChildren(...this.#overview(messages));
    this.#list.replaceChildren(...messages.map((message) => this.#card(message)));
  }

  #overview(messages) {
    if (messages.length === 0) return [note("The thread is empty. What is sent back with each run appears here.")];
    const values = valuesOf(messages).map(({ value }) => value);
    const size = values.reduce((sum, { bytes }) => sum + bytes, 0);
    const kinds = new Set(values.map(({ kind }) => kind));
    const encrypted = values.length ? `, and ${counted(values.length, "value")} of ${sizeText(size)} in all` : "";
    return [
      note(`The next run sends back ${counted(messages.length, "message")}${encrypted}.`),
      ...[...kinds].map((kind) => note(KINDS[kind])),
      copyButton("Copy the RunAgentInput", () => JSON.stringify(this.input(), null, 2)),
    ];
  }

  #card(message) {
    const held = this.#cards.get(message.id);
    if (held) return held;
    const card = cardOf(message);
    this.#cards.set(message.id, card);
    return card;
  }
}

/**
 * Returns the input of the next run.
 *
 * @param {import("../session.js").Session} session
 * @param {import("../config.js").Config} config
 */
export function nextInput(session, config) {
  const tools = config.tools.map((tool) => tool.declaration);
  return session.conversation.runInput({ runId: newId(), tools });
}

function cardOf(message) {
  const text = contentText(message.content);
  const isReasoning = message.role === "reasoning";
  const chips = [visibleChip(text), ...valueChips(message)].filter(Boolean);
  return h(
    "article",
    { class: "insp-message", dataset: { role: message.role } },
    h("h3", {}, message.role, h("code", { title: message.id }, short(message.id))),
    text ? h("p", { class: "insp-visible" }, abbreviated(text)) : isReasoning ? note("No visible text.") : null,
    chips.length ? h("p", { class: "insp-chips" }, ...chips) : null,
    ...(message.toolCalls ?? []).map(callLine),
    disclosure("JSON", () => jsonView(message)),
  );
}

function callLine(call) {
  const words = `${call.function?.name}(${abbreviated(String(call.function?.arguments ?? ""))})`;
  return h("p", { class: "insp-call" }, h("code", {}, words), ...valueChips(call));
}

function visibleChip(text) {
  return text ? chip(`${sizeText(bytesOf(text))} visible`) : null;
}

function valueChips(holder) {
  if (typeof holder.encryptedValue !== "string") return [];
  const value = describeValue(holder.encryptedValue);
  const size = sizeText(value.bytes);
  if (value.kind === "token") {
    return [chip(`encrypted, ${size}`, "reasoning"), chip(`key ${value.keyId}`), value.expires ? chip(`until ${value.expires}`) : null];
  }
  if (value.kind === "envelope") return [chip(`readable envelope, ${size}`, "warn"), ...value.contents.map((kind) => chip(kind))];
  return [chip(`opaque value, ${size}`)];
}

/** Returns the text of a message, whose content can be a list of parts. */
function contentText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map((part) => (typeof part?.text === "string" ? part.text : `[${part?.type}]`)).join(" ");
}
