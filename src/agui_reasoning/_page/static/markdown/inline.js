/**
 * Reads the Markdown inside a block: emphasis, code, links and addresses. What is none of it stays text, HTML too.
 *
 * The rules are CommonMark's and GFM's (strikethrough, bare addresses), with these differences: nothing reaches further than
 * `MAX_SPAN` characters, so that a text is read in linear time while it grows; an image is a link; line breaks stay; there are
 * no link definitions, no entities and no HTML.
 *
 * @see https://spec.commonmark.org/0.31.2/#inlines
 *
 * @typedef {{type: "text" | "code", text: string}} TextInline
 * @typedef {{type: "emphasis" | "strong" | "deleted", children: Inline[]}} EmphasisInline
 * @typedef {{type: "link" | "image", href: string, children: Inline[]}} LinkInline
 * @typedef {TextInline | EmphasisInline | LinkInline} Inline
 */

/** How far the two ends of emphasis, code or a link may be apart, in characters. */
const MAX_SPAN = 4000;

/** How deep emphasis nests. */
const MAX_DEPTH = 8;

const PLAIN = /[^\\`*_~[\]!<:]+/y;
const ESCAPED = /[!-/:-@[-`{-~]/;
const AUTOLINK = /<(https?:\/\/[^\s<>]{1,2000})>/iy;
const ADDRESS = /:\/\/[^\s<>[\]`|\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]{1,2000}/y;
/** What ends an address: a space, or a character of a script that has no spaces. */
const OUTSIDE_ADDRESS = /[\s\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]/;
/** How many characters at the end of a text without spaces are looked at for the end of an address. */
const NEAR_END = 64;
const SCHEME = /(?<![\p{L}\p{N}])https?$/iu;
const SCHEME_LENGTH = 6; // with the character before it
/** What follows the label of a link: the address, in angle brackets or not, and maybe a title. */
const DESTINATION = /\((?:\s?<([^<>\n]{1,2000})>|\s?((?:[^\s()<>]|\([^\s()<>]{0,500}\)){1,2000}))(?:\s+(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s?\)/y;
const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/**
 * Reads a part of a text.
 *
 * @param {string} text
 * @param {number} [from] Where to start; what is before only tells which delimiters can open and close.
 * @param {number} [to]
 * @returns {{nodes: Inline[], settled: number}} The nodes, and the last position before which more text changes nothing.
 */
export function readInlines(text, from = 0, to = text.length) {
  const reader = new InlineReader(text, from, to);
  reader.read();
  return { nodes: merged(reader.nodes), settled: reader.settled() };
}

/**
 * Reads the end of a text that grows: strong emphasis that is not closed yet is shown as what it will be.
 *
 * @param {string} text
 * @param {number} from
 * @returns {Inline[]}
 */
export function readGrowing(text, from) {
  const reader = new InlineReader(text, from, text.length);
  reader.read();
  reader.closeStrong();
  return merged(reader.nodes);
}

/**
 * Returns the address of a link, or `null` if it is not one of the web, or could pass for another one.
 *
 * @param {string} address
 */
export function webAddress(address) {
  if (!/^https?:\/\//i.test(address)) return null;
  try {
    const { href, username, password } = new URL(address);
    return username || password ? null : href;
  } catch {
    return null;
  }
}

class InlineReader {
  /** @type {Inline[]} */
  nodes = [];
  #plain = "";
  /** @type {{char: string, count: number, at: number, node: number}[]} The delimiters that can open emphasis. */
  #openers = [];
  /** @type {{at: number, node: number, openers: number, isImage: boolean}[]} The brackets that can open a link. */
  #brackets = [];
  /** Brackets before this position open no link, because a link is between: there are no links in links. */
  #linked = -1;
  /** @type {Map<string, number>} Before which position there is no opener, by what closes. */
  #bottoms = new Map();
  /** Where something starts that more text may complete, other than the openers. */
  #pending = Infinity;
  /** @type {{at: number, isFirm: boolean}[]} Where the nodes can be parted, outside of emphasis and links; unless firm, an address may cross it. */
  #partings = [];

  constructor(text, from, to) {
    this.text = text;
    this.at = from;
    this.from = from;
    this.to = to;
  }

  read() {
    while (this.at < this.to) this.#step();
    this.#flush();
  }

  #step() {
    const { text, at } = this;
    PLAIN.lastIndex = at;
    const [plain = ""] = PLAIN.exec(text) ?? [];
    if (plain) {
      this.#addPlain(plain.slice(0, this.to - at));
    } else {
      if (text[at] !== ":") this.#partings.push({ at, isFirm: false });
      (READERS[text[at]] ?? this.delimiters).call(this);
    }
  }

  #addPlain(plain) {
    const end = addressEnd(plain);
    if (end >= 0) this.#partings.push({ at: this.at + end, isFirm: true });
    this.take(plain.length);
  }

  /** Returns the last position that nothing crosses, nor can cross when more text comes. */
  settled() {
    const isNear = ({ at }) => this.to - at <= MAX_SPAN;
    const first = Math.min(this.#pending, this.#openers.find(isNear)?.at ?? Infinity, this.#brackets.find(isNear)?.at ?? Infinity);
    return this.#partings.findLast((parting) => parting.at <= first && (parting.isFirm || !isNear(parting)))?.at ?? this.from;
  }

  /** Forgets the partings in a node that starts at a position. */
  #join(position) {
    while (this.#partings.at(-1)?.at > position) this.#partings.pop();
  }

  /** Takes characters as they are. */
  take(count) {
    this.#plain += this.text.slice(this.at, this.at + count);
    this.at += count;
  }

  #flush() {
    if (this.#plain) this.nodes.push({ type: "text", text: this.#plain });
    this.#plain = "";
  }

  #push(node) {
    this.#flush();
    return this.nodes.push(node) - 1;
  }

  /** Marks that more text may complete what starts here. */
  #await(position) {
    if (this.text.length - position <= MAX_SPAN) this.#pending = Math.min(this.#pending, position);
  }

  escape() {
    const isEscape = ESCAPED.test(this.text[this.at + 1] ?? "");
    if (isEscape) this.at += 1;
    this.take(1);
  }

  code() {
    const { text, at } = this;
    const ticks = runLength(text, at, "`");
    const end = codeEnd(text, at + ticks, ticks, at + MAX_SPAN - ticks);
    if (end < 0) {
      this.#await(at);
      this.take(ticks);
      return;
    }
    this.#push({ type: "code", text: trimCode(text.slice(at + ticks, end).replaceAll("\n", " ")) });
    this.at = end + ticks;
  }

  autolink() {
    AUTOLINK.lastIndex = this.at;
    const found = AUTOLINK.exec(this.text);
    const href = found && webAddress(found[1]);
    if (!href) return this.take(1);
    this.#push({ type: "link", href, children: [{ type: "text", text: found[1] }] });
    this.at += found[0].length;
  }

  /** Reads an address whose scheme was just read. */
  address() {
    const scheme = SCHEME.exec(this.text.slice(Math.max(0, this.at - SCHEME_LENGTH), this.at))?.[0];
    ADDRESS.lastIndex = this.at;
    const rest = scheme && ADDRESS.exec(this.text)?.[0];
    const shown = rest && scheme + withoutTrailing(rest);
    const href = shown && webAddress(shown);
    if (!href) return this.take(1);
    this.#plain = this.#plain.slice(0, -scheme.length);
    this.#push({ type: "link", href, children: [{ type: "text", text: shown }] });
    this.at += shown.length - scheme.length;
  }

  image() {
    if (this.text[this.at + 1] === "[") this.bracket(true);
    else this.take(1);
  }

  bracket(isImage = false) {
    const text = isImage ? "![" : "[";
    const node = this.#push({ type: "text", text });
    this.#brackets.push({ at: this.at, node, openers: this.#openers.length, isImage });
    this.at += text.length;
  }

  /** Reads the end of a label: a link, if an address follows. */
  label() {
    const { text, at } = this;
    const bracket = this.#brackets.pop();
    if (!bracket || at - bracket.at > MAX_SPAN || (!bracket.isImage && bracket.at < this.#linked)) return this.take(1);
    DESTINATION.lastIndex = at + 1;
    const found = DESTINATION.exec(text);
    const end = at + 1 + (found?.[0].length ?? 0);
    const href = found && end - bracket.at < MAX_SPAN && webAddress(found[1] ?? found[2]);
    if (!href) {
      if (!found && "(".startsWith(text.slice(at + 1, at + 2))) this.#await(bracket.at);
      return this.take(1);
    }
    this.#flush();
    const label = merged(unlinked(this.nodes.splice(bracket.node).slice(1)));
    this.#openers.length = Math.min(this.#openers.length, bracket.openers);
    if (!bracket.isImage) this.#linked = at;
    this.#join(bracket.at);
    this.nodes.push({ type: bracket.isImage ? "image" : "link", href, children: label.length ? label : [{ type: "text", text: href }] });
    this.at = end;
  }

  /** Reads a run of `*`, `_` or `~`, which may close emphasis, then open one. */
  delimiters() {
    const { text, at } = this;
    const char = text[at];
    const count = runLength(text, at, char);
    const { canOpen, canClose } = flanking(char, text[at - 1], text[at + count]);
    const run = { char, count, at, canOpen, length: count };
    this.#flush();
    if (canClose && (char !== "~" || count === 2)) this.#close(run);
    const node = run.count ? this.#push({ type: "text", text: char.repeat(run.count) }) : -1;
    if (canOpen && run.count && (char !== "~" || count === 2)) this.#openers.push({ ...run, node, canClose });
    this.at += count;
  }

  #close(run) {
    while (run.count > 0) {
      const index = this.#openerOf(run);
      const opener = this.#openers[index];
      if (!opener) return;
      const size = Math.min(2, opener.count, run.count);
      const children = this.nodes.splice(opener.node + 1);
      if (depthOf(children) >= MAX_DEPTH) {
        this.nodes.push(...children);
        return;
      }
      while (this.#brackets.at(-1)?.at > opener.at) this.#brackets.pop(); // what is in emphasis ends in it
      this.#join(opener.at);
      opener.count -= size;
      run.count -= size;
      this.nodes[opener.node].text = run.char.repeat(opener.count);
      this.nodes.push(emphasis(run.char, size, merged(children)));
      this.#openers.length = opener.count ? index + 1 : index;
    }
  }

  closeStrong() {
    const last = this.#openers.findLast(({ char }) => char === "*");
    if (!last || last.count < 2 || last.node === this.nodes.length - 1) return; // or nothing follows it
    this.#close({ char: "*", count: 2, length: 2, at: this.to, canOpen: false });
  }

  #openerOf(run) {
    const key = `${run.char}${run.canOpen}${run.length % 3}`;
    const bottom = Math.max(this.#bottoms.get(key) ?? -1, run.at - MAX_SPAN - 1);
    for (let index = this.#openers.length - 1; index >= 0 && this.#openers[index].at > bottom; index -= 1) {
      if (matches(this.#openers[index], run)) return index;
    }
    this.#bottoms.set(key, run.at - 1); // the run itself may open
    return -1;
  }
}

/** @type {Record<string, (this: InlineReader) => void>} */
const READERS = {
  "\\": InlineReader.prototype.escape,
  "`": InlineReader.prototype.code,
  "<": InlineReader.prototype.autolink,
  ":": InlineReader.prototype.address,
  "!": InlineReader.prototype.image,
  "[": function open() {
    this.bracket();
  },
  "]": InlineReader.prototype.label,
};

/** Returns whether a delimiter run can open and close emphasis, by what is before and after it. */
function flanking(char, before = " ", after = " ") {
  const [spaceBefore, spaceAfter] = [SPACE.test(before), SPACE.test(after)];
  const [pointBefore, pointAfter] = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
  const left = !spaceAfter && (!pointAfter || spaceBefore || pointBefore);
  const right = !spaceBefore && (!pointBefore || spaceAfter || pointAfter);
  if (char !== "_") return { canOpen: left, canClose: right };
  return { canOpen: left && (!right || pointBefore), canClose: right && (!left || pointAfter) };
}

/** CommonMark's rule of three: `*a**b*` is not the end of emphasis before `b`. */
function matches(opener, run) {
  if (opener.char !== run.char) return false;
  const isBoth = opener.canClose || run.canOpen;
  return !isBoth || (opener.length + run.length) % 3 !== 0 || (opener.length % 3 === 0 && run.length % 3 === 0);
}

function emphasis(char, size, children) {
  const type = char === "~" ? "deleted" : size === 2 ? "strong" : "emphasis";
  return { type, children, depth: depthOf(children) + 1 };
}

function depthOf(nodes) {
  return nodes.reduce((depth, node) => Math.max(depth, node.depth ?? 0), 0);
}

function runLength(text, at, char) {
  let end = at;
  while (text[end] === char) end += 1;
  return end - at;
}

/** Returns where a run of exactly so many backticks starts, or -1. */
function codeEnd(text, from, ticks, until) {
  for (let at = text.indexOf("`", from); at >= 0 && at < until;) {
    const found = runLength(text, at, "`");
    if (found === ticks) return at;
    at = text.indexOf("`", at + found);
  }
  return -1;
}

/** A space at each end is there to separate backticks that belong to the code. */
function trimCode(code) {
  return code.startsWith(" ") && code.endsWith(" ") && /[^ ]/.test(code) ? code.slice(1, -1) : code;
}

/** Returns the last place in a plain text where no address goes on, or -1. */
function addressEnd(plain) {
  const space = Math.max(plain.lastIndexOf(" "), plain.lastIndexOf("\n"));
  for (let at = plain.length - 1; at > Math.max(space, plain.length - NEAR_END); at -= 1) {
    if (OUTSIDE_ADDRESS.test(plain[at])) return at;
  }
  return space;
}

/** Returns an address without the punctuation of the sentence around it. */
function withoutTrailing(address) {
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (last === ")" ? isBalanced(address.slice(0, end)) : !/[?!.,:;*_~'"\]]/.test(last)) break;
  }
  return address.slice(0, end);
}

function isBalanced(text) {
  return text.split(")").length <= text.split("(").length;
}

/** Returns nodes with the content of links instead of the links. */
function unlinked(nodes) {
  return nodes.flatMap((node) => {
    if (!node.children) return [node];
    const children = unlinked(node.children);
    return node.href ? children : [{ ...node, children }];
  });
}

/** Returns nodes without empty texts, and with texts side by side as one. */
function merged(nodes) {
  /** @type {Inline[]} */
  const result = [];
  for (const node of nodes) {
    const last = result.at(-1);
    if (node.type !== "text") result.push(node);
    else if (last?.type === "text") last.text += node.text;
    else if (node.text) result.push({ ...node });
  }
  return result;
}
