import assert from "node:assert/strict";
import { test } from "node:test";

// The few members of the DOM that a text needs.
class Node {
  children = [];
  append(...children) {
    this.children.push(...children);
  }
  replaceChildren() {
    this.children = [];
  }
  setAttribute() {}
  get textContent() {
    return this.children.map((child) => child.textContent).join("\n\n");
  }
}
class Text {
  constructor(data) {
    this.data = data;
  }
  get length() {
    return this.data.length;
  }
  get textContent() {
    return this.data;
  }
  appendData(data) {
    this.data += data;
    Text.appended += data.length;
  }
}
globalThis.document = { createElement: () => new Node(), createTextNode: (data) => new Text(data) };
const { StreamedText } = await import("../static/streamed-text.js");

const TEXT = "**Heading**\n\nFirst line\nsecond line\n\nSecond **paragraph**\n\n\nThird\n";

test("any split gives the same paragraphs", () => {
  const whole = new StreamedText("x");
  whole.update(TEXT);
  assert.deepEqual(whole.element.children.map((child) => child.textContent), ["Heading", "First line\nsecond line", "Second **paragraph**", "Third\n"]);
  for (let size = 1; size < TEXT.length; size += 1) {
    const pieces = new StreamedText("x");
    for (let end = size; end < TEXT.length + size; end += size) pieces.update(TEXT.slice(0, end));
    assert.deepEqual(pieces.element.children.map((child) => child.textContent), whole.element.children.map((child) => child.textContent), `pieces of ${size}`);
  }
});

test("a text that changes otherwise is shown anew", () => {
  const text = new StreamedText("x");
  text.update("One\n\nTwo");
  text.update("Three");
  assert.equal(text.element.textContent, "Three");
});

test("each character is appended once", () => {
  const text = new StreamedText("x");
  Text.appended = 0;
  let shown = "";
  for (let i = 0; i < 500; i += 1) text.update((shown += `word ${i}\n`));
  assert.equal(Text.appended, shown.length);
});

test("a long run of line breaks is looked at once, wherever the search starts", () => {
  const text = new StreamedText("x");
  text.update(`One${"\n".repeat(500_000)}`);
  text.update(`One${"\n".repeat(1_000_000)}Two`);
  assert.deepEqual(text.element.children.map((child) => child.textContent), ["One", "Two"]);
});
