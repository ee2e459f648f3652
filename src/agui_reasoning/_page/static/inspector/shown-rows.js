/**
 * The rows of a timeline that pass a filter, and how high above them the others are. A run's first row is shown as soon as
 * any other one of the run is: it is the heading of the run, and twice as high. Without input or output.
 */

/** How many units high the heading of a run is. */
export const HEAD_UNITS = 2;

export class ShownRows {
  #timeline;
  #filter;
  #log;
  /** @type {number[]} The positions of the rows, in order. */
  #positions = [];
  /** @type {number[]} The units above each row. */
  #tops = [];
  #units = 0;
  /** How many rows of the timeline were looked at, and how many events. */
  #seen = 0;
  #events = 0;
  #head = -1;
  #matched = 0;
  /** @type {import("./timeline.js").Row | null} The last row that passed, which can grow, and its events that are counted. */
  #last = null;
  #counted = 0;

  /**
   * @param {import("./timeline.js").Timeline} timeline
   * @param {import("./filter.js").Filter} filter
   * @param {() => import("../session.js").LogEntry[]} log
   */
  constructor(timeline, filter, log) {
    this.#timeline = timeline;
    this.#filter = filter;
    this.#log = log;
  }

  get length() {
    return this.#positions.length;
  }

  /** The height of all rows, in units. */
  get units() {
    return this.#units;
  }

  /** The number of events in the rows that pass. */
  get matched() {
    return this.#matched + (this.#last ? this.#last.count - this.#counted : 0);
  }

  /** Looks at the rows that were added, and at the last one again, which can have grown. */
  catchUp() {
    const { rows } = this.#timeline;
    const log = this.#log();
    const last = rows[this.#seen - 1];
    if (last && last !== this.#last && last.first + last.count > this.#events && this.#filter.passes(last, log, this.#events)) this.#add(this.#seen - 1);
    for (; this.#seen < rows.length; this.#seen += 1) {
      if (this.#filter.passes(rows[this.#seen], log)) this.#add(this.#seen);
    }
    this.#events = this.#timeline.length;
  }

  /** @param {number} place */
  positionAt(place) {
    return this.#positions[place];
  }

  /**
   * Returns the units above a row.
   *
   * @param {number} place
   */
  topOf(place) {
    return this.#tops[place];
  }

  /** @param {number} place */
  unitsOf(place) {
    return (this.#tops[place + 1] ?? this.#units) - this.#tops[place];
  }

  /**
   * Returns the place of a row; -1 if it is not shown.
   *
   * @param {number} position
   */
  placeOf(position) {
    const place = lastUpTo(this.#positions, position);
    return this.#positions[place] === position ? place : -1;
  }

  /**
   * Returns the place of the row at a height.
   *
   * @param {number} units
   */
  placeAt(units) {
    return Math.max(0, lastUpTo(this.#tops, units));
  }

  #add(position) {
    const row = this.#timeline.rows[position];
    if (row.head >= 0 && row.head !== this.#head) this.#push(row.head, HEAD_UNITS);
    this.#head = row.head;
    if (position !== row.head) this.#push(position, 1);
    this.#matched = this.matched + row.count;
    this.#last = row;
    this.#counted = row.count;
  }

  #push(position, units) {
    this.#positions.push(position);
    this.#tops.push(this.#units);
    this.#units += units;
  }
}

/** Returns the index of the last number that is not above another one; -1 if there is none. The numbers are ascending. */
function lastUpTo(numbers, limit) {
  let low = -1;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (numbers[middle] <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
