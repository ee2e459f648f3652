/**
 * Reads the blocks of a Markdown text while it grows. A complete line is read once; the last one, which may go on, is read
 * again each time. So a block is complete when the next one begins.
 *
 * The rules are CommonMark's and GFM's (tables), with these differences: HTML is text; there are no headings made of
 * underlines, no code made of indentation and no link definitions; lists may be indented by two columns under any item.
 *
 * @see https://spec.commonmark.org/0.31.2/#blocks-and-inlines
 *
 * @typedef {{type: "paragraph", text: string}} Paragraph
 * @typedef {{type: "heading", level: number, text: string}} Heading
 * @typedef {{type: "rule"}} Rule
 * @typedef {{type: "code", language: string, text: string, fence: string, indent: number}} Code `text` ends with a line break.
 * @typedef {{type: "table", columns: ("start" | "center" | "end" | "")[], header: string[], rows: string[][]}} Table
 * @typedef {{type: "quote", children: Block[]}} Quote
 * @typedef {{type: "item", children: Block[], offset: number, indent: number}} Item
 * @typedef {{type: "list", children: Item[], isOrdered: boolean, start: number, marker: string, isLoose: boolean}} List
 * @typedef {Paragraph | Heading | Rule | Code | Table | Quote | List} Block
 * @typedef {{type: "root", children: Block[]} | Quote | Item | List} Container
 */

/** How many quotes and lists are in each other; deeper ones are text. */
const MAX_DEPTH = 8;

const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( +|$)/;
const HEADING = /^ {0,3}(#{1,6})(?= |$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const FENCE = /^( {0,3})(`{3,}|~{3,}) *(.*)$/;
const DELIMITER_ROW = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;
/** A line that may become anything: it is not shown while the text grows. */
const UNDECIDED = /^[ \t]*(?:[-+*#>`~|]{1,3}|\d{1,9}[.)])[ \t]*$/;

export class BlockReader {
  /** @type {Container[]} The containers that are open, outermost first. */
  #open = [];
  /** @type {Paragraph | Code | Table | null} The block that the next line may belong to. */
  #leaf = null;
  #wasBlank = false;
  #text = "";
  /** Where the first line starts that is not complete. */
  #start = 0;
  /** @type {() => void} Takes back what the last line did. */
  #restore = () => {};

  constructor() {
    this.#clear();
  }

  /** @returns {Block[]} Since the last time, only the last two and new ones have changed. */
  get blocks() {
    return /** @type {Block[]} */ (this.#open[0].children);
  }

  /**
   * Reads a text.
   *
   * @param {string} text
   * @param {boolean} [isGrowing] Whether its last line may go on.
   */
  update(text, isGrowing = false) {
    if (text.startsWith(this.#text)) this.#restore();
    else this.#clear();
    this.#text = text;
    for (let end = text.indexOf("\n", this.#start); end >= 0; end = text.indexOf("\n", this.#start)) {
      this.#readLine(text.slice(this.#start, end));
      this.#start = end + 1;
    }
    this.#restore = this.#snapshot();
    const last = text.slice(this.#start);
    if (last && !(isGrowing && UNDECIDED.test(last))) this.#readLine(last);
  }

  #clear() {
    this.#open = [{ type: "root", children: [] }];
    this.#leaf = null;
    this.#wasBlank = false;
    this.#start = 0;
    this.#restore = () => {};
  }

  #snapshot() {
    const leaf = this.#leaf;
    const [text, rows, wasBlank] = [leaf?.text, leaf?.rows?.length, this.#wasBlank];
    const open = this.#open.map((container) => ({ container, count: container.children.length, last: container.children.at(-1), isLoose: container.isLoose }));
    return () => {
      this.#leaf = leaf;
      this.#wasBlank = wasBlank;
      this.#open = open.map(({ container }) => container);
      for (const { container, count, last, isLoose } of open) {
        container.children.length = count;
        if (last) container.children[count - 1] = last;
        if (container.type === "list") container.isLoose = isLoose;
      }
      if (leaf && text !== undefined) leaf.text = text;
      if (leaf?.rows) leaf.rows.length = rows;
    };
  }

  /** @param {string} line */
  #readLine(line) {
    let { depth, rest } = this.#matched(withoutTabs(line.replace(/\r$/, "")));
    if (this.#leaf?.type === "code" && depth === this.#open.length) return this.#readCode(rest);
    if (!rest.trim()) return this.#readBlank(depth);
    let isNew = false;
    for (let found = this.#container(rest, depth, isNew); found !== null; found = this.#container(rest, depth, isNew)) {
      rest = found;
      depth = this.#open.length;
      isNew = true;
    }
    if (rest.trim() && !this.#readLeaf(rest, depth)) this.#readText(rest, depth, isNew);
    this.#wasBlank = false;
  }

  /** Returns how many of the open containers a line belongs to, and the rest of the line. */
  #matched(line) {
    let rest = line;
    let depth = 1;
    for (; depth < this.#open.length; depth += 1) {
      const container = this.#open[depth];
      if (container.type === "list") continue;
      const inner = container.type === "quote" ? inQuote(rest) : inItem(rest, container);
      if (inner === null) break;
      rest = inner;
    }
    return { depth, rest };
  }

  /** Reads the end of a code block, or a line of it. */
  #readCode(line) {
    const { fence, indent } = this.#leaf;
    const end = FENCE.exec(line);
    if (end && !end[3].trim() && end[2].startsWith(fence)) this.#leaf = null;
    else this.#leaf.text += `${line.slice(Math.min(indent, indentOf(line)))}\n`;
  }

  #readBlank(depth) {
    this.#close(depth);
    this.#leaf = null;
    this.#wasBlank = true;
  }

  /**
   * Opens the container that a line starts.
   *
   * @returns {string | null} The rest of the line; `null` if it starts none.
   */
  #container(line, depth, isNew) {
    if (this.#open.length > 2 * MAX_DEPTH || RULE.test(line)) return null;
    const quote = QUOTE.exec(line);
    if (quote) {
      this.#close(depth);
      this.#add({ type: "quote", children: [] });
      return line.slice(quote[0].length);
    }
    const item = ITEM.exec(line);
    if (!item || (!isNew && this.#isText(item, line, depth))) return null;
    return this.#openItem(item, line, depth);
  }

  /** Returns whether what looks like an item belongs to a paragraph: a year at the start of a line, or a dash. */
  #isText([whole, , marker], line, depth) {
    if (this.#leaf?.type !== "paragraph" || this.#open[depth - 1].type === "list") return false;
    return !line.slice(whole.length).trim() || (marker.length > 1 && Number.parseInt(marker, 10) !== 1);
  }

  #openItem([whole, before, marker, spaces], line, depth) {
    const isOrdered = marker.length > 1;
    const kind = marker.at(-1);
    this.#close(depth, kind);
    if (this.#open.at(-1).type !== "list") {
      this.#add({ type: "list", children: [], isOrdered, start: Number.parseInt(marker, 10) || 0, marker: kind, isLoose: false });
    }
    const width = spaces.length >= 1 && spaces.length <= 4 ? spaces.length : 1;
    const indent = before.length + marker.length + width;
    this.#add({ type: "item", children: [], offset: before.length, indent });
    return line.slice(Math.min(indent, whole.length));
  }

  /** Reads a heading, a rule, or the start of a code block. Returns whether the line is one. */
  #readLeaf(line, depth) {
    const leaf = headingOf(line) ?? (RULE.test(line) ? { type: "rule" } : codeOf(line));
    if (!leaf) return false;
    this.#close(depth);
    this.#add(leaf);
    this.#leaf = leaf.type === "code" ? leaf : null;
    return true;
  }

  /** Reads a line of a paragraph or of a table. */
  #readText(line, depth, isNew) {
    const text = line.replace(/^ {1,3}(?! )/, "");
    const leaf = isNew ? null : this.#leaf;
    const isInside = depth === this.#open.length;
    if (leaf?.type === "paragraph") {
      if (!isInside || !this.#openTable(leaf, line)) leaf.text += `\n${text}`;
    } else if (leaf?.type === "table" && isInside && line.includes("|")) {
      leaf.rows.push(cellsOf(line).slice(0, leaf.columns.length));
    } else {
      this.#close(depth);
      this.#add((this.#leaf = { type: "paragraph", text }));
    }
  }

  /** Makes a table of the last line of a paragraph, if this line says so. */
  #openTable(paragraph, line) {
    if (!DELIMITER_ROW.test(line)) return false;
    const start = paragraph.text.lastIndexOf("\n") + 1;
    const row = paragraph.text.slice(start);
    const [header, columns] = [cellsOf(row), cellsOf(line)];
    if (!row.includes("|") || header.length !== columns.length) return false;
    const { children } = this.#open.at(-1);
    children.pop();
    if (start > 0) children.push({ type: "paragraph", text: paragraph.text.slice(0, start - 1) });
    this.#leaf = { type: "table", columns: columns.map(alignmentOf), header, rows: [] };
    children.push(this.#leaf);
    return true;
  }

  /** Closes the containers from a depth on; and a list, unless it goes on with an item of its kind. */
  #close(depth, marker = "") {
    if (depth < this.#open.length || marker) this.#leaf = null;
    this.#open.length = depth;
    const last = this.#open.at(-1);
    if (last.type === "list" && marker !== last.marker) this.#open.pop();
  }

  /** @param {Block | Item} block */
  #add(block) {
    const parent = this.#open.at(-1);
    if (this.#wasBlank && parent.children.length) {
      if (parent.type === "list") parent.isLoose = true;
      if (parent.type === "item") this.#open.at(-2).isLoose = true;
    }
    /** @type {any[]} */ (parent.children).push(block);
    if ("children" in block) {
      this.#open.push(block);
      this.#leaf = null;
    }
  }
}

function withoutTabs(line) {
  return line.replace(/^[ \t]+/, (indent) => indent.replaceAll("\t", "    "));
}

function indentOf(line) {
  const found = line.search(/[^ ]/);
  return found < 0 ? line.length : found;
}

function inQuote(line) {
  const found = QUOTE.exec(line);
  return found && line.slice(found[0].length);
}

/** Returns the part of a line that belongs to an item: it is blank, indented, or an item of a list in the item. */
function inItem(line, { offset, indent }) {
  const own = indentOf(line);
  if (own >= indent || own === line.length) return line.slice(indent);
  return own >= offset + 2 && ITEM.test(line.slice(own)) ? line.slice(own) : null;
}

function headingOf(line) {
  const found = HEADING.exec(line);
  return found && { type: "heading", level: found[1].length, text: withoutClosing(line.slice(found[0].length).trim()) };
}

/** Returns the text of a heading without the number signs at its end. */
function withoutClosing(text) {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return end === 0 || text[end - 1] === " " ? text.slice(0, end).trimEnd() : text;
}

function codeOf(line) {
  const found = FENCE.exec(line);
  if (!found || (found[2].startsWith("`") && found[3].includes("`"))) return null;
  const [, { length: indent }, fence, info] = found;
  return { type: "code", language: info.trim().split(/[\s{,]/, 1)[0].slice(0, 30), text: "", fence, indent };
}

/** Returns the cells of a row. A line break in a cell is written as HTML, for want of another way. */
function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|").replace(/<br *\/?>/gi, "\n"));
}

function alignmentOf(cell) {
  const [start, end] = [cell.startsWith(":"), cell.endsWith(":")];
  if (start && end) return "center";
  return end ? "end" : start ? "start" : "";
}
