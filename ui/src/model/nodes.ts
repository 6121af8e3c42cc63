// The nodes of a tree run: columns, the links that make them a tree, and sums over subtrees that follow every change
// by themselves, in whichever direction time moves. It knows nothing of events.

import { Numbers, Values } from './columns';
import type { Journal } from './journal';
import { BLOCKED, FAILED, isTerminal, NODE_STATUSES, NOWHERE } from './words';

export const NONE = -1;

/** A status that keeps the counts: of the run by status, of each subtree by what matters when it is folded. */
class Statuses extends Numbers {
  constructor(private readonly nodes: Nodes) {
    super(Uint8Array, NOWHERE);
  }

  override put(at: number, value: number): void {
    const was = this.get(at);
    super.put(at, value);
    this.nodes.moved(at, was, value);
  }
}

export class Nodes {
  readonly id = new Values<string>('');
  readonly title = new Values<string>('');
  readonly stepId = new Values<string | null>(null);
  readonly message = new Values<string | null>(null);
  readonly outcome = new Values<string | null>(null);
  readonly error = new Values<string | null>(null);
  readonly question = new Values<string | null>(null);
  readonly pad = new Values<string | null>(null);
  readonly tail = new Values<string | null>(null);

  readonly status: Numbers = new Statuses(this);
  readonly role = new Numbers(Uint8Array);
  readonly paused = new Numbers(Uint8Array);
  readonly retryable = new Numbers(Uint8Array);
  readonly generation = new Numbers(Uint16Array, 1);
  readonly artifacts = new Numbers(Uint32Array);
  readonly inFlight = new Numbers(Int32Array);
  readonly created = new Numbers(Float64Array);
  readonly started = new Numbers(Float64Array, NaN);
  readonly ended = new Numbers(Float64Array, NaN);
  /** When anything of it changed last: what the camera follows. */
  readonly touched = new Numbers(Float64Array);

  readonly parent = new Numbers(Int32Array, NONE);
  readonly retryOf = new Numbers(Int32Array, NONE);
  readonly depth = new Numbers(Uint16Array);
  readonly band = new Numbers(Uint32Array);
  readonly step = new Numbers(Uint32Array);
  /** Children in the order (band, step, creation), as a chain. */
  readonly first = new Numbers(Int32Array, NONE);
  readonly last = new Numbers(Int32Array, NONE);
  readonly next = new Numbers(Int32Array, NONE);

  /** Of the node and everything below it. */
  readonly total = new Numbers(Int32Array);
  readonly unfinished = new Numbers(Int32Array);
  readonly failed = new Numbers(Int32Array);
  readonly blocked = new Numbers(Int32Array);
  readonly costMicros = new Numbers(Float64Array);
  readonly tokensIn = new Numbers(Float64Array);
  readonly tokensOut = new Numbers(Float64Array);
  readonly modelCalls = new Numbers(Uint32Array);
  readonly toolCalls = new Numbers(Uint32Array);

  /** How many nodes stand where. */
  readonly counts = new Int32Array(NODE_STATUSES.length);
  /** Nodes whose place in the tree, or whose status, changed since someone last asked. */
  readonly restructured = new Set<number>();
  readonly restated = new Set<number>();

  private readonly numbers = new Map<string, number>();
  private readonly size = new Numbers(Int32Array);

  get count(): number {
    return this.size.get(0);
  }

  /** The number of a node that exists at this point of time. */
  number(id: string | null | undefined): number {
    const found = id ? this.numbers.get(id) : undefined;
    return found !== undefined && found < this.count ? found : NONE;
  }

  add(journal: Journal, node: NewNode): number {
    const at = this.count;
    this.numbers.set(node.id, at);
    this.id.put(at, node.id);
    this.title.put(at, node.title);
    this.stepId.put(at, node.stepId);
    this.parent.put(at, node.parent);
    this.retryOf.put(at, node.retryOf);
    this.depth.put(at, node.depth);
    this.band.put(at, node.band);
    this.step.put(at, node.step);
    this.created.put(at, node.created);
    journal.setNumber(this.size, 0, at + 1);
    this.link(journal, at, node.parent);
    journal.setNumber(this.status, at, node.status);
    journal.setNumber(this.touched, at, node.created);
    return at;
  }

  /** Every node of a snapshot at once, before anything was remembered. */
  resize(count: number): void {
    this.size.put(0, count);
  }

  know(id: string, at: number): void {
    this.numbers.set(id, at);
  }

  link(journal: Journal | null, at: number, parent: number): void {
    const set = (column: Numbers, where: number, value: number) =>
      journal ? journal.setNumber(column, where, value) : column.put(where, value);
    if (parent === NONE) return;
    const last = this.last.get(parent);
    if (last === NONE) {
      set(this.first, parent, at);
      set(this.last, parent, at);
    } else if (!this.before(at, last)) {
      set(this.next, last, at);
      set(this.last, parent, at);
    } else {
      let previous = NONE;
      let child = this.first.get(parent);
      while (!this.before(at, child)) {
        previous = child;
        child = this.next.get(child);
      }
      set(this.next, at, child);
      if (previous === NONE) set(this.first, parent, at);
      else set(this.next, previous, at);
    }
  }

  *children(at: number): Generator<number> {
    for (let child = this.first.get(at); child !== NONE; child = this.next.get(child)) yield child;
  }

  addUp(column: Numbers, at: number, amount: number): void {
    if (amount === 0) return;
    for (let node = at; node !== NONE; node = this.parent.get(node)) column.put(node, column.get(node) + amount);
  }

  moved(at: number, was: number, now: number): void {
    if (was !== NOWHERE) this.counts[was]--;
    if (now !== NOWHERE) this.counts[now]++;
    this.addUp(this.total, at, there(now) - there(was));
    this.addUp(this.unfinished, at, works(now) - works(was));
    this.addUp(this.failed, at, is(now, FAILED) - is(was, FAILED));
    this.addUp(this.blocked, at, is(now, BLOCKED) - is(was, BLOCKED));
    if (was === NOWHERE || now === NOWHERE) this.restructured.add(at);
    else this.restated.add(at);
  }

  private before(a: number, b: number): boolean {
    const band = this.band.get(a) - this.band.get(b);
    if (band !== 0) return band < 0;
    const step = this.step.get(a) - this.step.get(b);
    return step !== 0 ? step < 0 : a < b;
  }
}

export interface NewNode {
  id: string;
  title: string;
  stepId: string | null;
  parent: number;
  retryOf: number;
  depth: number;
  band: number;
  step: number;
  status: number;
  created: number;
}

const there = (status: number) => (status === NOWHERE ? 0 : 1);
const works = (status: number) => (status !== NOWHERE && !isTerminal(status) ? 1 : 0);
const is = (status: number, wanted: number) => (status === wanted ? 1 : 0);
