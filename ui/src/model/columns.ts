// Growing arrays of one type each. Ten thousand nodes as objects would be ten thousand objects to trace at
// every garbage collection; as columns they are a few dozen. A column does not know what its numbers mean.

const INITIAL_CAPACITY = 64;

/** Grows by a quarter, because doubling would leave half of a large log empty. */
function capacityFor(at: number, room: number): number {
  return Math.max(at + 1, Math.ceil(room * 1.25) + INITIAL_CAPACITY);
}

/** Numbers; a cell that was never written reads as `empty`. All have one width, because the JIT optimises code that sees one kind of array. */
export class Numbers {
  data: Float64Array;
  constructor(private readonly empty = 0) {
    this.data = new Float64Array(INITIAL_CAPACITY).fill(empty);
  }

  get(at: number): number {
    return at < this.data.length ? this.data[at] : this.empty;
  }

  put(at: number, value: number): void {
    if (at >= this.data.length) this.grow(at);
    this.data[at] = value;
  }

  private grow(at: number): void {
    const wider = new Float64Array(capacityFor(at, this.data.length));
    wider.set(this.data);
    if (this.empty !== 0) wider.fill(this.empty, this.data.length);
    this.data = wider;
  }
}

type Narrow = Int32Array | Uint32Array | Uint8Array | Float64Array;

/** Numbers that are written once, in the narrowest kind of array that holds them: there is one for every event. */
export class Series<A extends Narrow> {
  private data: A;
  constructor(private readonly kind: new (size: number) => A) {
    this.data = new kind(INITIAL_CAPACITY);
  }

  get(at: number): number {
    return this.data[at];
  }

  put(at: number, value: number): void {
    if (at >= this.data.length) {
      const wider = new this.kind(capacityFor(at, this.data.length));
      wider.set(this.data);
      this.data = wider;
    }
    this.data[at] = value;
  }
}

/** Values by reference. They are never changed in place, so the undo log can keep the reference. */
export class Values<T> {
  readonly data: T[] = [];
  constructor(private readonly empty: T) {}

  get(at: number): T {
    return at < this.data.length ? this.data[at] : this.empty;
  }

  put(at: number, value: T): void {
    // Holes would turn the array into a slow dictionary.
    while (this.data.length < at) this.data.push(this.empty);
    this.data[at] = value;
  }
}

/** Interned names: each name gets a number once and keeps it. */
export class Names {
  private readonly numbers = new Map<string, number>();
  readonly list: string[] = [];

  of(name: string): number {
    let number = this.numbers.get(name);
    if (number === undefined) {
      number = this.list.length;
      this.numbers.set(name, number);
      this.list.push(name);
    }
    return number;
  }

  find(name: string): number | undefined {
    return this.numbers.get(name);
  }
}
