// The undo log. Each change of a cell swaps two values: the old one goes into the journal. Walking
// back swaps them again, and walking forward once more, so one list serves both directions and no event needs
// to be kept or folded twice.

import type { Numbers, Values } from './columns';

const PAGE = 1 << 14;
const MASK = PAGE - 1;
const SHIFT = 14;

interface Page {
  column: Uint8Array;
  at: Int32Array;
  number: Float64Array;
}

export class Journal {
  private readonly numbers: Numbers[] = [];
  private readonly values: Values<unknown>[] = [];
  private readonly numbered = new Map<Numbers, number>();
  private readonly valued = new Map<Values<unknown>, number>();
  private readonly pages: Page[] = [];
  /** Values set aside, in the order of the entries that refer to them. */
  private readonly aside: unknown[] = [];
  /** Where each step begins; the last one is where the next begins. */
  private marks = new Uint32Array(256);
  private steps = 0;
  private length = 0;
  private position = 0;
  private asidePosition = 0;
  private step = 0;

  /** Steps that are applied now. */
  get at(): number {
    return this.step;
  }

  get end(): number {
    return this.steps;
  }

  setNumber(column: Numbers, at: number, value: number): void {
    const was = column.get(at);
    if (was === value) return;
    this.push(this.numberId(column), at, was);
    column.put(at, value);
  }

  setValue<T>(column: Values<T>, at: number, value: T): void {
    const was = column.get(at);
    if (was === value) return;
    this.push(this.valueId(column as Values<unknown>), at, 0);
    this.aside.push(was);
    this.asidePosition = this.aside.length;
    column.put(at, value);
  }

  /** Closes a step with everything that was written since the last one. Only at the end of the journal. */
  close(): void {
    this.steps++;
    this.step = this.steps;
    if (this.steps >= this.marks.length) {
      const wider = new Uint32Array(this.marks.length * 2);
      wider.set(this.marks);
      this.marks = wider;
    }
    this.marks[this.steps] = this.length;
  }

  moveTo(step: number): void {
    while (this.step > step) this.back();
    while (this.step < step) this.forth();
  }

  private back(): void {
    const to = this.marks[this.step - 1];
    while (this.position > to) {
      this.position--;
      this.exchange(this.position, true);
    }
    this.step--;
  }

  private forth(): void {
    const to = this.marks[this.step + 1];
    while (this.position < to) {
      this.exchange(this.position, false);
      this.position++;
    }
    this.step++;
  }

  private exchange(position: number, backwards: boolean): void {
    const page = this.pages[position >>> SHIFT];
    const slot = position & MASK;
    const id = page.column[slot];
    const at = page.at[slot];
    if (id < 128) {
      const column = this.numbers[id];
      const now = column.get(at);
      column.put(at, page.number[slot]);
      page.number[slot] = now;
      return;
    }
    const column = this.values[id - 128];
    if (backwards) this.asidePosition--;
    const now = column.get(at);
    column.put(at, this.aside[this.asidePosition]);
    this.aside[this.asidePosition] = now;
    if (!backwards) this.asidePosition++;
  }

  private push(id: number, at: number, was: number): void {
    if (this.length >>> SHIFT === this.pages.length) {
      this.pages.push({ column: new Uint8Array(PAGE), at: new Int32Array(PAGE), number: new Float64Array(PAGE) });
    }
    const page = this.pages[this.length >>> SHIFT];
    const slot = this.length & MASK;
    page.column[slot] = id;
    page.at[slot] = at;
    page.number[slot] = was;
    this.length++;
    this.position = this.length;
  }

  private numberId(column: Numbers): number {
    let id = this.numbered.get(column);
    if (id === undefined) {
      id = this.numbers.push(column) - 1;
      this.numbered.set(column, id);
    }
    return id;
  }

  private valueId(column: Values<unknown>): number {
    let id = this.valued.get(column);
    if (id === undefined) {
      id = this.values.push(column) + 127;
      this.valued.set(column, id);
    }
    return id;
  }
}
