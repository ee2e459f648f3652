/**
 * The messages of a conversation, in order, with their calls by ID.
 *
 * @typedef {import("./conversation.js").Message} Message
 * @typedef {import("./conversation.js").ToolCall} ToolCall
 * @typedef {{call: ToolCall, owner: Message}} HeldCall
 */

export class History {
  /** @type {Message[]} */
  messages = [];
  /** @type {Map<string, Message>} */
  #byId = new Map();
  /** @type {Map<string, HeldCall>} */
  #calls = new Map();
  /** @type {WeakSet<object>} The content parts that text was streamed into. */
  #growing = new WeakSet();

  /** @param {string} id */
  get(id) {
    return this.#byId.get(id);
  }

  /** @param {string} id */
  call(id) {
    return this.#calls.get(id);
  }

  /** @param {Message} message */
  add(message, index = this.messages.length) {
    this.messages.splice(index, 0, message);
    this.#index(message);
    return message;
  }

  /**
   * Adds a call to its message.
   *
   * @param {string} id
   * @param {Message} owner
   * @returns {HeldCall}
   */
  addCall(id, owner) {
    const call = { id, type: /** @type {const} */ ("function"), function: { name: "", arguments: "" } };
    const held = { call, owner };
    (owner.toolCalls ??= []).push(call);
    this.#calls.set(id, held);
    return held;
  }

  /**
   * Adds a result after its call, and after the results that are there.
   *
   * @param {Message} message
   * @returns {Message | undefined} The message of the call.
   */
  addResult(message) {
    const owner = this.#calls.get(message.toolCallId)?.owner;
    let index = owner ? this.messages.indexOf(owner) + 1 : this.messages.length;
    while (owner && this.messages[index]?.role === "tool") index += 1;
    this.add(message, index);
    return owner;
  }

  /** Puts a message in the place of another one with the same ID. */
  replace(held, message) {
    this.messages.splice(this.messages.indexOf(held), 1, message);
    this.#byId.set(message.id, message);
  }

  /** @param {Message[]} messages */
  replaceAll(messages) {
    this.messages = messages;
    this.#byId.clear();
    this.#calls.clear();
    for (const message of messages) this.#index(message);
  }

  /** Appends to the content of a message. Text for a list of parts becomes one more part. */
  append(message, delta) {
    if (!Array.isArray(message.content)) {
      message.content = (message.content ?? "") + delta;
      return;
    }
    const last = message.content.at(-1);
    if (this.#growing.has(last)) {
      last.text += delta;
      return;
    }
    const part = { type: "text", text: delta };
    message.content.push(part);
    this.#growing.add(part);
  }

  /** @param {Message} message */
  #index(message) {
    if (!this.#byId.has(message.id)) this.#byId.set(message.id, message);
    for (const call of message.toolCalls ?? []) {
      if (!this.#calls.has(call.id)) this.#calls.set(call.id, { call, owner: message });
    }
  }
}
