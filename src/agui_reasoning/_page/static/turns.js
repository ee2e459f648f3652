/**
 * Arranges messages for display: questions, answers, and how these ended if they may be incomplete.
 *
 * @typedef {import("./conversation.js").Message} Message
 * @typedef {{kind: "reasoning", key: string, messages: Message[]}} ReasoningItem
 * @typedef {{kind: "text", key: string, message: Message}} TextItem
 * @typedef {{kind: "call", key: string, call: import("./conversation.js").ToolCall, result: Message | undefined,
 *   message: Message, reasoningId: string | undefined}} CallItem
 * @typedef {{kind: "activity", key: string, message: Message}} ActivityItem
 * @typedef {ReasoningItem | TextItem | CallItem | ActivityItem} Item
 * @typedef {{kind: "question", key: string, message: Message} | {kind: "answer", key: string, items: Item[]}
 *   | {kind: "ending", key: string, question: string, ending: import("./endings.js").Ending, hasAnswer: boolean}} Turn
 */

import { hintOf } from "./conversation.js";
import { textOf } from "./format.js";

/**
 * Arranges messages as turns.
 *
 * @param {Message[]} messages
 * @param {Map<string, import("./endings.js").Ending>} [endings] By the ID of the question. That of the last one is left out:
 *   it is the state of the thread.
 * @returns {Turn[]}
 */
export function turnsOf(messages, endings = new Map()) {
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
      const hasAnswer = answer.length > 0;
      endAnswer();
      const ending = endings.get(question);
      if (ending) turns.push({ kind: "ending", key: `ending:${question}`, question, ending, hasAnswer });
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
 * The items of an answer, in the order of the events. Reasoning messages with nothing between them are one item.
 *
 * @param {Message[]} messages
 * @param {Map<string, Message>} results
 * @returns {Item[]}
 */
function itemsOf(messages, results) {
  /** @type {Item[]} */
  const items = [];
  let latest;
  for (const message of messages) {
    if (message.role === "reasoning") {
      latest = message.id;
      addReasoning(items, message);
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

function addReasoning(items, message) {
  const last = items.at(-1);
  if (last?.kind === "reasoning" && last.messages[0].subagentRunId === message.subagentRunId) last.messages.push(message);
  else items.push({ kind: "reasoning", key: `reasoning:${message.id}`, messages: [message] });
}

function hasText(message) {
  return message.role === "assistant" && /\S/.test(textOf(message.content));
}

/** Returns the reasoning that led to a call: as the producer says, else what came before it. */
function reasoningOf(call, latest) {
  const named = hintOf(call).reasoning;
  return Array.isArray(named) && typeof named.at(-1) === "string" ? named.at(-1) : latest;
}
