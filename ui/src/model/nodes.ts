// The nodes of a tree run: columns, the links between them, and sums over subtrees that follow every change
// in both directions of time. It knows nothing of events.

import type { Outcome } from '../api/shapes';
import { Numbers, Values } from './columns';
import type { UndoLog } from './undo-log';
import { ABSENT, BLOCKED, COMPLETED, FAILED, isTerminal, NO_OP, NODE_STATUSES, PARTIAL, SUPERSEDED, type Tone, toneOf } from './statuses';

export const NONE = -1;

/** A status that keeps the counts: of the run by status, of each subtree by what matters when it is folded. */
class Statuses extends Numbers {
  constructor(private readonly nodes: Nodes) {
    super(ABSENT);
  }

  override put(at: number, value: number): void {
    const was = this.get(at);
    super.put(at, value);
    this.nodes.moved(at, was, value);
  }
}

/** Outcomes that know how many of them are partial. */
class Outcomes extends Values<Outcome | null> {
  partial = 0;

  override put(at: number, value: Outcome | null): void {
    this.partial += Number(value === 'partial') - Number(this.get(at) === 'partial');
    super.put(at, value);
  }
}

/** Numbers that know how many of them were set: in most runs none is. */
class Rare extends Numbers {
  set = 0;

  constructor(private readonly unset: number) {
    super(unset);
  }

  override put(at: number, value: number): void {
    this.set += Number(value !== this.unset) - Number(this.get(at) !== this.unset);
    super.put(at, value);
  }
}

export class Nodes {
  /** `rootLook`: how the root looks when the run is over, because people take it for the whole. */
  constructor(private readonly rootLook: () => number | null = () => null) {}

  readonly id = new Values<string>('');
  readonly title = new Values<string>('');
  readonly stepId = new Values<string | null>(null);
  readonly message = new Values<string | null>(null);
  readonly outcome = new Outcomes(null);
  readonly error = new Values<string | null>(null);
  /** Why a partial one is partial. A snapshot does not say it. */
  readonly shortfall = new Values<string | null>(null);
  readonly question = new Values<string | null>(null);
  readonly scratchpad = new Values<string | null>(null);
  readonly scratchpadTail = new Values<string | null>(null);

  readonly status: Numbers = new Statuses(this);
  readonly role = new Numbers();
  readonly paused = new Numbers();
  readonly retryable = new Numbers();
  readonly generation = new Numbers(1);
  /** 1: a result that it was shown has been replaced since. */
  readonly stale = new Rare(0);
  readonly artifacts = new Numbers();
  /** How many artifacts it had when its present generation began. */
  readonly earlierArtifacts = new Numbers();
  readonly inFlight = new Numbers();
  readonly created = new Numbers();
  readonly started = new Numbers(NaN);
  readonly ended = new Numbers(NaN);

  readonly parent = new Numbers(NONE);
  readonly retryOf = new Numbers(NONE);
  /** The node that does its step again. */
  readonly replacedBy = new Rare(NONE);
  readonly depth = new Numbers();
  readonly band = new Numbers();
  readonly step = new Numbers();
  /** Children in the order (band, step, creation), as a chain. */
  readonly first = new Numbers(NONE);
  readonly last = new Numbers(NONE);
  readonly next = new Numbers(NONE);

  /** Sums over the node and everything below it. */
  readonly total = new Numbers();
  readonly unfinished = new Numbers();
  readonly failed = new Numbers();
  readonly blocked = new Numbers();
  readonly costMicros = new Numbers();
  readonly tokensIn = new Numbers();
  readonly tokensOut = new Numbers();
  readonly modelCalls = new Numbers();
  readonly toolCalls = new Numbers();

  /** Number of nodes by status. */
  readonly counts = new Int32Array(NODE_STATUSES.length);
  /** Nodes whose position or status changed since the last call. */
  restructured = new Set<number>();
  restated = new Set<number>();

  private postponed: Map<Numbers, Float64Array> | null = null;
  private readonly numbers = new Map<string, number>();
  private readonly size = new Numbers();

  get count(): number {
    return this.size.get(0);
  }

  /** Its status, or what a completed one came to. */
  look(at: number): number {
    const status = this.status.get(at);
    if (status !== COMPLETED) return status;
    const outcome = this.outcome.get(at);
    if (outcome === 'partial') return PARTIAL;
    if (outcome === 'no_op') return NO_OP;
    return at === 0 ? (this.rootLook() ?? status) : status;
  }

  /** Whether nothing has replaced it: neither a retry nor another plan, of it or of a node above it. */
  isCurrent(at: number): boolean {
    if (this.replacedBy.set === 0 && this.counts[SUPERSEDED] === 0) return true;
    for (let node = at; node !== NONE; node = this.parent.get(node)) {
      if (this.replacedBy.get(node) !== NONE || this.status.get(node) === SUPERSEDED) return false;
    }
    return true;
  }

  /** Whether it rests on a replaced result and still counts. */
  isStale(at: number): boolean {
    return this.stale.get(at) === 1 && this.isCurrent(at);
  }

  /** The stale nodes among it and those below it. */
  staleIn(at: number): number {
    if (this.stale.set === 0) return 0;
    let found = 0;
    for (const node of this.subtree(at)) found += Number(this.isStale(node));
    return found;
  }

  /** The colour group it is shown in: grey when it was replaced, and no stale one looks like success. */
  tone(at: number): Tone {
    const tone = toneOf(this.look(at));
    if (!this.isCurrent(at)) return 'canceled';
    return (tone === 'done' || tone === 'neutral') && this.stale.get(at) === 1 ? 'partial' : tone;
  }

  /** The index of a node that exists at this moment. */
  number(id: string | null | undefined): number {
    const found = id ? this.numbers.get(id) : undefined;
    return found !== undefined && found < this.count ? found : NONE;
  }

  add(undoLog: UndoLog, node: NewNode): number {
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
    undoLog.setNumber(this.size, 0, at + 1);
    if (node.retryOf !== NONE) undoLog.setNumber(this.replacedBy, node.retryOf, at);
    this.link(undoLog, at, node.parent);
    undoLog.setNumber(this.status, at, node.status);
    return at;
  }

  /** Adds every node of a snapshot at once, without entries in the undo log. */
  resize(count: number): void {
    this.size.put(0, count);
  }

  know(id: string, at: number): void {
    this.numbers.set(id, at);
  }

  link(undoLog: UndoLog | null, at: number, parent: number): void {
    const set = (column: Numbers, where: number, value: number) => (undoLog ? undoLog.setNumber(column, where, value) : column.put(where, value));
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

  /** The node and everything below it. */
  *subtree(at: number): Generator<number> {
    yield at;
    for (const child of this.children(at)) yield* this.subtree(child);
  }

  /** Adds to a node and to every subtree it is in. */
  addUp(column: Numbers, at: number, amount: number): void {
    if (amount === 0) return;
    if (this.postponed !== null) return this.postpone(column, at, amount);
    const { data: parents } = this.parent;
    for (let node = at; node !== NONE; node = parents[node]) column.put(node, column.get(node) + amount);
  }

  /** Applies many changes, then adds them up in one pass instead of climbing to the root for each. */
  inBulk(work: () => void): void {
    this.postponed = new Map();
    const before = this.count;
    work();
    const { postponed } = this;
    this.postponed = null;
    const { data: parents } = this.parent;
    for (const [column, amounts] of postponed) {
      for (let node = Math.max(before, this.count) - 1; node >= 0; node--) {
        const amount = amounts[node];
        if (amount === 0) continue;
        column.put(node, column.get(node) + amount);
        if (parents[node] !== NONE) amounts[parents[node]] += amount;
      }
    }
  }

  private postpone(column: Numbers, at: number, amount: number): void {
    let amounts = this.postponed!.get(column);
    if (amounts === undefined) this.postponed!.set(column, (amounts = new Float64Array(this.parent.data.length)));
    amounts[at] += amount;
  }

  moved(at: number, was: number, now: number): void {
    if (was !== ABSENT) this.counts[was]--;
    if (now !== ABSENT) this.counts[now]++;
    this.addUp(this.total, at, there(now) - there(was));
    this.addUp(this.unfinished, at, works(now) - works(was));
    this.addUp(this.failed, at, is(now, FAILED) - is(was, FAILED));
    this.addUp(this.blocked, at, is(now, BLOCKED) - is(was, BLOCKED));
    if (this.postponed !== null) return;
    if (was === ABSENT || now === ABSENT) this.restructured.add(at);
    else this.restated.add(at);
  }

  private before(a: number, b: number): boolean {
    const band = this.band.get(a) - this.band.get(b);
    if (band !== 0) return band < 0;
    const step = this.step.get(a) - this.step.get(b);
    return step !== 0 ? step < 0 : a < b;
  }
}

interface NewNode {
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

const there = (status: number) => (status === ABSENT ? 0 : 1);
const works = (status: number) => (status !== ABSENT && !isTerminal(status) ? 1 : 0);
const is = (status: number, wanted: number) => (status === wanted ? 1 : 0);
