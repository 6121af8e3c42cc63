// Growing arrays of one kind of value each. Ten thousand nodes as objects would be ten thousand objects to trace at
// every collection; as columns they are a few dozen. A column knows nothing of what its numbers mean.

type Store = Float64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;
type Kind = Float64ArrayConstructor | Int32ArrayConstructor | Uint32ArrayConstructor | Uint16ArrayConstructor | Uint8ArrayConstructor;

const FIRST_ROOM = 64;

/** Numbers; a cell that was never written reads as `empty`. */
export class Numbers {
  data: Store;
  constructor(
    private readonly kind: Kind,
    private readonly empty = 0,
  ) {
    this.data = new kind(FIRST_ROOM).fill(empty);
  }

  get(at: number): number {
    return at < this.data.length ? this.data[at] : this.empty;
  }

  put(at: number, value: number): void {
    if (at >= this.data.length) this.grow(at);
    this.data[at] = value;
  }

  private grow(at: number): void {
    let room = this.data.length;
    while (room <= at) room *= 2;
    const wider = new this.kind(room);
    wider.set(this.data);
    if (this.empty !== 0) wider.fill(this.empty, this.data.length);
    this.data = wider;
  }
}

/** Texts and other values by reference; never changed in place, so remembering one is remembering the value. */
export class Values<T> {
  readonly data: T[] = [];
  constructor(private readonly empty: T) {}

  get(at: number): T {
    return at < this.data.length ? this.data[at] : this.empty;
  }

  put(at: number, value: T): void {
    // Holes would turn the array into a dictionary.
    while (this.data.length < at) this.data.push(this.empty);
    this.data[at] = value;
  }
}

/** Names by number and numbers by name; a name once given a number keeps it. */
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
