/**
 * Arranges messages for display: questions and answers, and in an answer its reasoning above it.
 *
 * @typedef {import("./conversation.js").Message} Message
 * @typedef {{kind: "reasoning", key: string, messages: Message[]}} ReasoningItem
 * @typedef {{kind: "text", key: string, message: Message}} TextItem
 * @typedef {{kind: "call", key: string, call: import("./conversation.js").ToolCall, result: Message | undefined,
 *   message: Message, reasoningId: string | undefined}} CallItem
 * @typedef {{kind: "activity", key: string, message: Message}} ActivityItem
 * @typedef {ReasoningItem | TextItem | CallItem | ActivityItem} Item
 * @typedef {{kind: "question", key: string, message: Message} | {kind: "answer", key: string, items: Item[]}} Turn
 */

import { hintOf } from "./conversation.js";
import { textOf } from "./format.js";

/**
 * Arranges messages as turns.
 *
 * @param {Message[]} messages
 * @returns {Turn[]}
 */
export function turnsOf(messages) {
  const results = new Map(messages.filter(({ role }) => role === "tool").map((message) => [message.toolCallId, message]));
  /** @type {Turn[]} */
  const turns = [];
  /** @type {Message[]} */
  let answer = [];
  let question = "start";
  const endAnswer = () => {
    if (answer.length) turns.push({ kind: "answer", key: `answer:${question}`, items: itemsOf(answer, results) });
    answer = [];
  };
  for (const message of messages) {
    if (message.role === "user") {
      endAnswer();
      turns.push({ kind: "question", key: `question:${message.id}`, message });
      question = message.id;
    } else if (["assistant", "reasoning", "activity", "tool"].includes(message.role)) {
      answer.push(message);
    }
  }
  endAnswer();
  return turns;
}

/**
 * Reasoning that some text of the answer follows belongs to that answer, as one item, where its first message stood. Other
 * reasoning stands alone, where it happened.
 *
 * @param {Message[]} messages
 * @param {Map<string, Message>} results
 * @returns {Item[]}
 */
function itemsOf(messages, results) {
  const lastText = messages.findLastIndex((message) => hasText(message));
  const answered = messages.slice(0, lastText + 1).filter(({ role }) => role === "reasoning");
  /** @type {Item[]} */
  const items = [];
  let latest;
  for (const [index, message] of messages.entries()) {
    if (message.role === "reasoning") {
      latest = message.id;
      addReasoning(items, message, index < lastText ? answered : null);
    } else if (message.role === "activity") {
      items.push({ kind: "activity", key: `activity:${message.id}`, message });
    } else if (message.role === "assistant") {
      if (hasText(message)) items.push({ kind: "text", key: `text:${message.id}`, message });
      for (const call of message.toolCalls ?? []) {
        items.push({ kind: "call", key: `call:${call.id}`, call, message, result: results.get(call.id), reasoningId: reasoningOf(call, latest) });
      }
    }
  }
  return items;
}

/**
 * @param {Item[]} items
 * @param {Message} message
 * @param {Message[] | null} answered The reasoning of the answer, if this message is part of it.
 */
function addReasoning(items, message, answered) {
  if (answered) {
    if (message === answered[0]) items.push({ kind: "reasoning", key: `reasoning:${message.id}`, messages: answered });
    return;
  }
  const last = items.at(-1);
  const isAnswered = last?.kind === "reasoning" && last.isAlone !== true;
  if (last?.kind === "reasoning" && !isAnswered) last.messages.push(message);
  else items.push({ kind: "reasoning", key: `reasoning:${message.id}`, messages: [message], isAlone: true });
}

function hasText(message) {
  return message.role === "assistant" && /\S/.test(textOf(message.content));
}

/** Returns the reasoning that led to a call: as the producer says, else what came before it. */
function reasoningOf(call, latest) {
  const named = hintOf(call).reasoning;
  return Array.isArray(named) && typeof named.at(-1) === "string" ? named.at(-1) : latest;
}
