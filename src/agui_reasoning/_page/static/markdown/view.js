/**
 * Shows Markdown as elements, while it grows: blocks that are complete are not touched again. All text becomes text nodes,
 * and the only attribute that comes from it is the address of a link to the web.
 */

import { copyButton } from "../buttons.js";
import { h } from "../dom.js";
import { BlockReader } from "./blocks.js";
import { readGrowing, readInlines } from "./inline.js";

/** The headings of the page end at this level; those of texts are below. */
const PAGE_LEVEL = 2;
const MAX_LEVEL = 6;

const TAGS = { emphasis: "em", strong: "strong", deleted: "del" };

export class MarkdownText {
  #reader = new BlockReader();
  #blocks;

  /** @param {string} className */
  constructor(className) {
    this.element = h("div", { class: `${className} markdown` });
    this.#blocks = new BlockList(this.element);
  }

  /**
   * Shows a text.
   *
   * @param {string} text
   * @param {boolean} [isGrowing] Whether it may go on.
   */
  update(text, isGrowing = false) {
    this.#reader.update(text, isGrowing);
    this.#blocks.update(this.#reader.blocks, isGrowing);
  }
}

/** Blocks one below the other. */
class BlockList {
  #views = [];

  /**
   * @param {HTMLElement} parent
   * @param {boolean} [isOutermost] Each outermost block has the direction of its own text.
   */
  constructor(parent, isOutermost = parent.classList.contains("markdown")) {
    this.parent = parent;
    this.isOutermost = isOutermost;
  }

  /**
   * @param {import("./blocks.js").Block[]} blocks
   * @param {boolean} isGrowing Whether the last one may go on.
   */
  update(blocks, isGrowing) {
    for (let index = Math.max(0, Math.min(this.#views.length, blocks.length) - 2); index < blocks.length; index += 1) {
      if (this.#views[index]?.kind !== kindOf(blocks[index])) this.#create(index, blocks[index]);
      this.#views[index].update(blocks[index], isGrowing && index === blocks.length - 1);
    }
    this.#shorten(blocks.length);
  }

  #create(index, block) {
    this.#shorten(index);
    const view = new (VIEWS[block.type])(block, this);
    view.kind = kindOf(block);
    if (this.isOutermost && !view.element.dir) view.element.dir = "auto";
    this.#views.push(view);
    this.parent.append(view.element);
  }

  /** The level of the last heading, or of the heading above. */
  get level() {
    return this.#views.findLast((view) => view.level)?.level ?? PAGE_LEVEL;
  }

  #shorten(length) {
    for (const view of this.#views.splice(length)) view.element.remove();
  }
}

/** Returns what a block has in common with those that the same element can show. */
function kindOf({ type, level, isOrdered }) {
  return `${type} ${level ?? isOrdered ?? ""}`;
}

/** The text of a block. What cannot change any more is not touched again. */
class InlineText {
  #shown = "";
  #settled = 0;
  /** @type {ChildNode[]} The nodes that more text may change. */
  #tail = [];
  #isGrowing = false;

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.parent = parent;
  }

  /**
   * @param {string} text
   * @param {boolean} [isGrowing] Whether it may go on.
   */
  update(text, isGrowing = false) {
    if (text === this.#shown && isGrowing === this.#isGrowing) return;
    if (!text.startsWith(this.#shown)) this.#clear();
    this.#shown = text;
    this.#isGrowing = isGrowing;
    for (const node of this.#tail) node.remove();
    let { nodes, settled } = readInlines(text, this.#settled);
    if (settled > this.#settled) {
      this.#settle(readInlines(text, this.#settled, settled).nodes);
      this.#settled = settled;
      ({ nodes } = readInlines(text, settled));
    }
    if (isGrowing) nodes = readGrowing(text, this.#settled);
    this.#tail = nodes.map(drawn);
    this.parent.append(...this.#tail);
  }

  #settle(nodes) {
    const last = this.parent.lastChild;
    if (last instanceof Text && nodes[0]?.type === "text") last.appendData(nodes.shift().text);
    this.parent.append(...nodes.map(drawn));
  }

  #clear() {
    this.parent.replaceChildren();
    this.#tail = [];
    this.#settled = 0;
  }
}

/**
 * @param {import("./inline.js").Inline} node
 * @returns {Text | HTMLElement}
 */
function drawn(node) {
  if (node.type === "text") return document.createTextNode(node.text);
  if (node.type === "code") return h("code", {}, node.text);
  const children = node.children.map(drawn);
  if (!("href" in node)) return h(TAGS[node.type], {}, ...children);
  const title = node.type === "image" ? "An image, which is not loaded" : null;
  return h("a", { href: node.href, target: "_blank", rel: "noopener noreferrer", title }, ...children);
}

class TextView {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.text = new InlineText(element);
  }

  update({ text }, isGrowing) {
    this.text.update(text, isGrowing);
  }
}

class ParagraphView extends TextView {
  constructor() {
    super(h("p"));
  }
}

/** A heading. Texts leave levels out, which outlines must not. */
class HeadingView extends TextView {
  constructor({ level }, { level: before }) {
    const own = Math.min(level + PAGE_LEVEL, before + 1, MAX_LEVEL);
    super(h(/** @type {"h3"} */ (`h${own}`), { class: `heading-${level}` }));
    this.level = own;
  }
}

class RuleView {
  element = h("hr");
  update() {}
}

/** Blocks in a block. */
class ContainerView {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.blocks = new BlockList(element);
  }

  update({ children }, isGrowing) {
    this.blocks.update(children, isGrowing);
  }
}

class QuoteView extends ContainerView {
  constructor() {
    super(h("blockquote"));
  }
}

class ItemView extends ContainerView {
  constructor() {
    super(h("li"));
  }
}

class ListView extends ContainerView {
  constructor({ isOrdered }) {
    super(h(isOrdered ? "ol" : "ul"));
  }

  update(list, isGrowing) {
    if (list.isOrdered && this.element.start !== list.start) this.element.start = list.start;
    this.element.classList.toggle("is-loose", list.isLoose);
    super.update(list, isGrowing);
  }
}

class CodeView {
  #text = document.createTextNode("");
  #language = h("span", { class: "code-language" });

  constructor() {
    const pre = h("pre", { tabindex: "0", dir: "ltr" }, h("code", {}, this.#text));
    this.pre = pre;
    this.element = h("figure", { class: "code", dir: "ltr" }, h("figcaption", { class: "code-head" }, this.#language, copyButton(() => this.#text.data)), pre);
  }

  update({ language, text }) {
    const label = language || "Code";
    if (this.#language.textContent !== label) {
      this.#language.textContent = label;
      this.pre.setAttribute("aria-label", label);
    }
    const { data } = this.#text;
    if (text.startsWith(data)) this.#text.appendData(text.slice(data.length));
    else this.#text.data = text;
  }
}

class TableView {
  #rows = [];

  constructor({ columns }) {
    this.columns = columns;
    this.head = this.#row("th");
    this.body = h("tbody");
    const table = h("table", {}, h("thead", {}, this.head.element), this.body);
    this.element = h("div", { class: "table", role: "group", "aria-label": "Table", tabindex: "0" }, table);
  }

  #row(tag) {
    return { element: h("tr"), tag, cells: [] };
  }

  update({ columns, header, rows }) {
    this.columns = columns;
    this.#fill(this.head, header);
    for (let index = Math.max(0, Math.min(this.#rows.length, rows.length) - 2); index < rows.length; index += 1) {
      if (!this.#rows[index]) this.body.append((this.#rows[index] = this.#row("td")).element);
      this.#fill(this.#rows[index], rows[index]);
    }
    for (const { element } of this.#rows.splice(rows.length)) element.remove();
  }

  #fill({ element, tag, cells }, texts) {
    for (const [index, text] of texts.entries()) {
      cells[index] ??= this.#cell(element, tag, this.columns[index]);
      cells[index].text.update(text);
    }
    for (const cell of cells.splice(texts.length)) cell.element.remove();
  }

  #cell(row, tag, alignment) {
    const element = h(tag, { class: alignment ? `align-${alignment}` : null, scope: tag === "th" ? "col" : null });
    row.append(element);
    return { element, text: new InlineText(element) };
  }
}

const VIEWS = {
  paragraph: ParagraphView,
  heading: HeadingView,
  rule: RuleView,
  quote: QuoteView,
  list: ListView,
  item: ItemView,
  code: CodeView,
  table: TableView,
};
