import assert from "node:assert/strict";
import { test } from "node:test";

import { BlockReader } from "../static/markdown/blocks.js";
import { readGrowing, readInlines, webAddress } from "../static/markdown/inline.js";

const TAGS = { paragraph: "p", quote: "blockquote", item: "li", emphasis: "em", strong: "strong", deleted: "del" };

function read(text, isGrowing = false) {
  const reader = new BlockReader();
  reader.update(text, isGrowing);
  return shown(reader.blocks);
}

/** What a browser is asked to show, as HTML for reading. */
function shown(blocks) {
  return blocks.map(shownBlock).join("");
}

function shownBlock(block) {
  const { type, text, children } = block;
  if (type === "rule") return "<hr>";
  if (type === "heading") return tag(`h${block.level}`, inlines(text));
  if (type === "code") return `<pre${block.language && ` ${block.language}`}>${text}</pre>`;
  if (type === "table") return tag("table", [block.header, ...block.rows].map((row) => tag("tr", row.map((cell) => tag("td", inlines(cell))).join(""))).join(""));
  if (type === "list") return `<${block.isOrdered ? `ol ${block.start}` : "ul"}${block.isLoose ? " loose" : ""}>${shown(children)}</${block.isOrdered ? "ol" : "ul"}>`;
  return tag(TAGS[type], children ? shown(children) : inlines(text));
}

function inlines(text) {
  return readInlines(text).nodes.map(shownInline).join("");
}

function shownInline({ type, text, href, children }) {
  if (type === "text") return text;
  if (type === "code") return tag("code", text);
  const content = children.map(shownInline).join("");
  return href ? `<a ${href}>${content}</a>` : tag(TAGS[type], content);
}

const tag = (name, content) => `<${name}>${content}</${name}>`;

const BLOCKS = [
  ["", ""],
  ["One\ntwo\n\n\nThree", "<p>One\ntwo</p><p>Three</p>"],
  ["One\r\ntwo\r\n\r\nThree", "<p>One\ntwo</p><p>Three</p>"],
  ["# One\n### Two ##\n#hash\n####### Seven", "<h1>One</h1><h3>Two</h3><p>#hash\n####### Seven</p>"],
  ["#", "<h1></h1>"],
  ["a\n***\nb\n- - -\n_ _ _ x", "<p>a</p><hr><p>b</p><hr><p>_ _ _ x</p>"],
  ["```js title\nlet x;\n\n  y\n```\nafter", "<pre js>let x;\n\n  y\n</pre><p>after</p>"],
  ["~~~~\n```\n~~~\n~~~~", "<pre>```\n~~~\n</pre>"],
  ["```\nopen", "<pre>open\n</pre>"],
  ["``` a`b", "<p>``` a`b</p>"],
  ["- a\n- b\n\n\ntext", "<ul><li><p>a</p></li><li><p>b</p></li></ul><p>text</p>"],
  ["- a\n\n- b", "<ul loose><li><p>a</p></li><li><p>b</p></li></ul>"],
  ["3. a\n4. b", "<ol 3><li><p>a</p></li><li><p>b</p></li></ol>"],
  ["- a\n* b\n1. c\n1) d", "<ul><li><p>a</p></li></ul><ul><li><p>b</p></li></ul><ol 1><li><p>c</p></li></ol><ol 1><li><p>d</p></li></ol>"],
  ["- a\n  - b\n    - c\n- d", "<ul><li><p>a</p><ul><li><p>b</p><ul><li><p>c</p></li></ul></li></ul></li><li><p>d</p></li></ul>"],
  ["1. a\n  - b\n2. c", "<ol 1><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>"],
  ["  - a\n  - b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"],
  ["1. a\n\n   more\n\n   ```\n   code\n   ```\n2. b", "<ol 1 loose><li><p>a</p><p>more</p><pre>code\n</pre></li><li><p>b</p></li></ol>"],
  ["It was in\n1986. A year\n- with weather", "<p>It was in\n1986. A year</p><ul><li><p>with weather</p></li></ul>"],
  ["- a\nlazy", "<ul><li><p>a\nlazy</p></li></ul>"],
  ["> a\nlazy\n> - b\n\nc", "<blockquote><p>a\nlazy</p><ul><li><p>b</p></li></ul></blockquote><p>c</p>"],
  ["> > a\n> b", "<blockquote><blockquote><p>a\nb</p></blockquote></blockquote>"],
  ["| a | b |\n|:--|--:|\n| 1 | `x\\|y` |\n| 2 | 3 | 4 |\nend", "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td><code>x|y</code></td></tr><tr><td>2</td><td>3</td></tr></table><p>end</p>"],
  ["Rain:\na | b\n--- | ---\n1 |", "<p>Rain:</p><table><tr><td>a</td><td>b</td></tr><tr><td>1</td></tr></table>"],
  ["| a | b |\n|---|", "<p>| a | b |\n|---|</p>"],
  ["| a<br>b |\n|---|", "<table><tr><td>a\nb</td></tr></table>"],
  ["<div onclick=x>\n\n<!-- a -->", "<p><div onclick=x></p><p><!-- a --></p>"],
  [`${"> ".repeat(30)}deep`, `${"<blockquote>".repeat(16)}<p>${"> ".repeat(14)}deep</p>${"</blockquote>".repeat(16)}`],
];

const INLINES = [
  ["*a* _b_ **c** __d__ ***e*** ~~f~~", "<em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em> <del>f</del>"],
  ["*a **b** c* **a *b***", "<em>a <strong>b</strong> c</em> <strong>a <em>b</em></strong>"],
  ["*foo**bar**baz* a*b*c", "<em>foo<strong>bar</strong>baz</em> a<em>b</em>c"],
  ["2 * 3 * 4, snake_case_name, ~x~, ** a **, *open", "2 * 3 * 4, snake_case_name, ~x~, ** a **, *open"],
  ["**[0, 1) is half-open**", "<strong>[0, 1) is half-open</strong>"],
  ["\\*a\\* \\a `\\*`", "*a* \\a <code>\\*</code>"],
  ["`a` ``b`c`` ` d ` `` ` `` `open", "<code>a</code> <code>b`c</code> <code>d</code> <code>`</code> `open"],
  ["*a `*` b*", "<em>a <code>*</code> b</em>"],
  ["[a *b*](https://x.org/(c) \"t\")", "<a https://x.org/(c)>a <em>b</em></a>"],
  ["[](https://x.org/) [a](<https://x.org/b>)", "<a https://x.org/>https://x.org/</a> <a https://x.org/b>a</a>"],
  ["![alt](https://x.org/p.png) ![](https://x.org/q)", "<a https://x.org/p.png>alt</a> <a https://x.org/q>https://x.org/q</a>"],
  ["[![a](https://x.org/p)](https://y.org/)", "<a https://y.org/>a</a>"],
  ["[a [b](https://x.org/) c](https://y.org/)", "[a <a https://x.org/>b</a> c](<a https://y.org/>https://y.org/</a>)"],
  ["https://x.org/a_b_c?d=*. (see http://y.org/z) xhttps://no", "<a https://x.org/a_b_c?d=>https://x.org/a_b_c?d=</a>*. (see <a http://y.org/z>http://y.org/z</a>) xhttps://no"],
  ["**https://x.org/** 见https://x.org/a。好", "<strong><a https://x.org/>https://x.org/</a></strong> 见https://x.org/a。好"],
  ["<https://x.org/a b> <https://x.org/>", "<<a https://x.org/a>https://x.org/a</a> b> <a https://x.org/>https://x.org/</a>"],
  ["[a](javascript:b) [a](/b) [a](data:text/html,b) <javascript:b>", "[a](javascript:b) [a](/b) [a](data:text/html,b) <javascript:b>"],
  ["[a](https://bank.org@evil.org/)", "[a](https://bank.org@evil.org/)"],
  ["[a](JaVaScRiPt:alert(1)) [a](\u0001javascript:b) [a](//evil.org)", "[a](JaVaScRiPt:alert(1)) [a](\u0001javascript:b) [a](//evil.org)"],
  ["<b>a</b> &lt; <script>", "<b>a</b> &lt; <script>"],
];

for (const [text, expected] of BLOCKS) test(`blocks: ${JSON.stringify(text).slice(0, 60)}`, () => assert.equal(read(text), expected));
for (const [text, expected] of INLINES) test(`inlines: ${text.slice(0, 60)}`, () => assert.equal(inlines(text), expected));

test("only addresses of the web are links", () => {
  const others = ["javascript:x", "data:,x", "ftp://x.org", "//x.org", "x.org", "mailto:a@x.org", "https://", "https://a:b@x.org", " https://x.org"];
  assert.deepEqual(others.map(webAddress), others.map(() => null));
  assert.equal(webAddress("HTTPS://X.org/a b"), "https://x.org/a%20b");
});

test("the start of a line that may become anything is not shown while the text grows", () => {
  const starts = ["-", "*", "**", "1.", "#", "```", "> ", "|"];
  assert.deepEqual(starts.map((start) => read(`a\n\n${start}`, true)), starts.map(() => "<p>a</p>"));
  assert.equal(read("**", false), "<p>**</p>");
  assert.equal(read("42", true), "<p>42</p>");
});

test("strong emphasis is shown before it is closed", () => {
  const growing = (text) => readGrowing(text, 0).map(shownInline).join("");
  assert.equal(growing("a **b *c* d"), "a <strong>b <em>c</em> d</strong>");
  assert.equal(growing("**a** *b **c"), "<strong>a</strong> *b <strong>c</strong>");
  assert.deepEqual(["a **", "2 ** 3", "a *b", "a"].map(growing), ["a **", "2 ** 3", "a *b", "a"]);
});

/** A text of pieces that mean something, the same for the same seed. */
function* pieces(seed, count) {
  const all = ["*", "**", "_", "`", "``", "```", "~~", "[", "]", "(", ")", "](http://a.b)", "![", "<", "http://x.y", "\n", "\n\n", "- ", "1. ", "> ", "# ", "|", "---", "\n| a | b |\n|---|---|\n", " ", "    ", "a", "word ", "\\", "\t", "é", "中文。", "http:", "\ud83d\ude00", " y ".repeat(900)];
  for (let state = seed; count > 0; count -= 1) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield all[Math.floor((state / 2 ** 31) * all.length)];
  }
}

test("any text in any pieces gives what the whole gives, and never an error", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const reader = new BlockReader();
    let text = "";
    for (const piece of pieces(seed * 7919, 5 + (seed % 40))) reader.update((text += piece), true);
    reader.update(text);
    assert.equal(shown(reader.blocks), read(text), JSON.stringify(text));
    assert.deepEqual(joined(grown(text)), joined(readInlines(text).nodes), JSON.stringify(text));
  }
});

/** Reads inlines as the page does: what is settled is read once. */
function grown(text) {
  const nodes = [];
  let from = 0;
  for (let end = 1; end < text.length; end += 1 + (end % (text.length > 2000 ? 200 : 7))) {
    const { settled } = readInlines(text.slice(0, end), from);
    nodes.push(...readInlines(text.slice(0, end), from, settled).nodes);
    from = settled;
  }
  return [...nodes, ...readInlines(text, from).nodes];
}

function joined(nodes) {
  const result = [];
  for (const node of nodes) {
    if (node.type === "text" && result.at(-1)?.type === "text") result.at(-1).text += node.text;
    else result.push({ ...node });
  }
  return result;
}

test("a text that changes otherwise is read anew", () => {
  const reader = new BlockReader();
  reader.update("- One\n\nTwo");
  reader.update("Three");
  assert.equal(shown(reader.blocks), "<p>Three</p>");
});

/** Counts what the parser does: each step looks for something, or adds something. */
function steps(work) {
  const [{ exec }, { push }] = [RegExp.prototype, Array.prototype];
  let count = 0;
  const counted = (method) =>
    function call(...given) {
      count += 1;
      return method.apply(this, given);
    };
  Object.assign(RegExp.prototype, { exec: counted(exec) });
  Object.assign(Array.prototype, { push: counted(push) });
  try {
    work();
  } finally {
    Object.assign(RegExp.prototype, { exec });
    Object.assign(Array.prototype, { push });
  }
  return count;
}

const LONG = { words: "word **bold** `code` ", lines: "- item\n", paragraphs: "One *two*\n\n", unclosed: "*a ", brackets: "[", rows: "| a | b |\n|---|---|\n", code: "```\nx\n```\n" };

for (const [name, unit] of Object.entries(LONG)) {
  test(`the work is linear: ${name}`, () => {
    const grow = (size) => () => {
      const text = unit.repeat(size / unit.length);
      const reader = new BlockReader();
      for (let end = 1_000; end <= text.length; end += 1_000) reader.update(text.slice(0, end), true);
      let from = 0;
      for (let end = 1_000; end <= text.length; end += 1_000) from = readInlines(text.slice(0, end), from).settled;
    };
    const [small, large] = [steps(grow(12_000)), steps(grow(48_000))];
    assert.ok(large < 6 * small, `${large} instead of ${4 * small}`);
  });
}
