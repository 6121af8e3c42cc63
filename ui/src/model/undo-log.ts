// The undo log of a run: one step for each event. A change of a cell puts the old value into the log. Walking back
// swaps the two values, and walking forward swaps them again, so one list serves both directions and no event needs
// to be kept or folded twice.

import { type Numbers, Series, type Values } from './columns';

const PAGE = 1 << 14;
const MASK = PAGE - 1;
const SHIFT = 14;
/** Ids of columns of numbers are smaller, ids of columns of values are not. */
const FIRST_VALUES = 128;

interface Page {
  column: Uint8Array;
  at: Int32Array;
  number: Float64Array;
}

export class UndoLog {
  private readonly numbers: Numbers[] = [];
  private readonly values: Values<unknown>[] = [];
  private readonly ids = new Map<object, number>();
  private readonly pages: Page[] = [];
  /** Values set aside, in the order of the entries that refer to them. */
  private readonly aside: unknown[] = [];
  /** Where each step begins; the last one is where the next begins. */
  private readonly marks = new Series(Uint32Array);
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
    this.push(this.idOf(column, this.numbers, 0), at, was);
    column.put(at, value);
  }

  setValue<T>(column: Values<T>, at: number, value: T): void {
    const was = column.get(at);
    if (was === value) return;
    this.push(this.idOf(column as Values<unknown>, this.values, FIRST_VALUES), at, 0);
    this.aside.push(was);
    this.asidePosition = this.aside.length;
    column.put(at, value);
  }

  /** Closes a step with everything that was written since the last one. Only at the end of the undo log. */
  close(): void {
    this.steps++;
    this.step = this.steps;
    this.marks.put(this.steps, this.length);
  }

  moveTo(step: number): void {
    while (this.step > step) this.back();
    while (this.step < step) this.forth();
  }

  private back(): void {
    const to = this.marks.get(this.step - 1);
    while (this.position > to) {
      this.position--;
      this.exchange(this.position, true);
    }
    this.step--;
  }

  private forth(): void {
    const to = this.marks.get(this.step + 1);
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
    if (id < FIRST_VALUES) {
      const column = this.numbers[id];
      const now = column.get(at);
      column.put(at, page.number[slot]);
      page.number[slot] = now;
      return;
    }
    const column = this.values[id - FIRST_VALUES];
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

  /** Columns get an id when they first change. */
  private idOf<Column extends object>(column: Column, known: Column[], first: number): number {
    let id = this.ids.get(column);
    if (id === undefined) this.ids.set(column, (id = first + known.push(column) - 1));
    return id;
  }
}
