// One run, folded from its events as the server folds them. It can go back to any moment it has seen, and
// notifies listeners once per frame. It reads nothing from the network.

import type { Iteration } from '../api/shapes';
import { foldHomework } from './fold-homework';
import { foldTask } from './fold-task';
import { clock, foldRun } from './fold-run';
import { foldTree } from './fold-tree';
import { NONE } from './nodes';
import * as read from './selectors';
import { again, restedOn, shownArtifacts, type Standing, standingOfDocuments } from './replaced';
import type { MessageRow, NodeRow, RunRow, ShownArtifact, Snapshot, StepRow, StoredEvent } from './rows';
import { startFrom } from './snapshot';
import { type Branch, State } from './state';
import { ABSENT } from './statuses';

export type { EventOf, NodeRow, RunRow, ShownArtifact, Snapshot, StoredEvent } from './rows';

type Applied = 'applied' | 'known' | 'gap';

/** What changed since listeners were last notified. `moved`: another moment is shown, so everything may differ. */
export interface Change {
  moved: boolean;
  restructured: ReadonlySet<number>;
  restated: ReadonlySet<number>;
}

export type Listener = (change: Change) => void;

export class Run {
  /** The earliest moment that can be shown. */
  base = 0;
  state = new State();
  /** Counts every change: an equal version means an equal state. */
  version = 0;
  /** Events that came while an earlier moment is shown. */
  private waiting: StoredEvent[] = [];
  private readonly listeners = new Set<Listener>();
  private scheduled = false;
  private moved = false;
  private cachedRow: { version: number; row: RunRow | null } = { version: -1, row: null };

  constructor(snapshot?: Snapshot) {
    if (snapshot) this.startFrom(snapshot);
  }

  /** The moment that is shown. */
  get at(): number {
    return this.base + this.state.undoLog.at;
  }

  /** The newest moment that is known. */
  get head(): number {
    return this.base + this.state.undoLog.end + this.waiting.length;
  }

  get live(): boolean {
    return this.at === this.head;
  }

  /** Start over from a snapshot. */
  startFrom(snapshot: Snapshot): void {
    this.state = startFrom(snapshot);
    this.base = snapshot.seq;
    this.waiting = [];
    this.jumped();
  }

  applyEvent(event: StoredEvent): Applied {
    const expected = this.head + 1;
    if (event.seq < expected) return 'known';
    if (event.seq > expected) return 'gap';
    if (this.state.undoLog.at < this.state.undoLog.end || this.waiting.length > 0) this.waiting.push(event);
    else this.fold(event);
    this.changed();
    return 'applied';
  }

  /** Stops before the first gap; the caller reads the missing events and passes the rest again. */
  applyEvents(events: Iterable<StoredEvent>): { applied: number; gap: boolean } {
    let applied = 0;
    for (const event of events) {
      const result = this.applyEvent(event);
      if (result === 'gap') return { applied, gap: true };
      if (result === 'applied') applied++;
    }
    return { applied, gap: false };
  }

  /** Shows another moment. Nothing is executed, and new events are kept. */
  rewind(seq: number): void {
    const known = this.base + this.state.undoLog.end;
    if (seq >= this.head) return this.toLive();
    const to = Math.max(this.base, seq);
    if (to > known) {
      this.moveTo(this.state.undoLog.end);
      this.absorb(to - known);
    } else {
      this.moveTo(to - this.base);
    }
    this.jumped();
  }

  toLive(): void {
    if (this.live) return;
    this.moveTo(this.state.undoLog.end);
    this.absorb(this.waiting.length);
    this.jumped();
  }

  /** Take over the undo log of another run that was folded from the first event. The shown moment stays. */
  adopt(other: Run): void {
    const [shown, live] = [this.at, this.live];
    const newer = this.waiting.filter((event) => event.seq > other.head);
    if (other.head < this.base + this.state.undoLog.end) throw new Error('the other run knows less than this one');
    this.state = other.state;
    this.base = other.base;
    this.waiting = newer;
    if (live) this.toLive();
    else this.rewind(shown);
    this.jumped();
  }

  row(): RunRow | null {
    if (this.cachedRow.version !== this.version) this.cachedRow = { version: this.version, row: read.runRow(this.state, this.at) };
    return this.cachedRow.row;
  }

  node(id: string): NodeRow | undefined {
    const at = this.state.nodes.number(id);
    return at === NONE ? undefined : read.nodeRow(this.state, at);
  }

  children(id: string): string[] {
    const at = this.state.nodes.number(id);
    return at === NONE ? [] : [...this.state.nodes.children(at)].map((child) => this.state.nodes.id.get(child));
  }

  active(): string[] {
    return read.active(this.state).map((at) => this.state.nodes.id.get(at));
  }

  stats(): read.Stats {
    return read.stats(this.state);
  }

  steps(id: string): StepRow[] {
    return read.stepRows(this.state, this.state.nodes.number(id));
  }

  artifacts(id: string): ShownArtifact[] {
    const at = this.state.nodes.number(id);
    return at === NONE ? [] : shownArtifacts(this.state, at);
  }

  /** Whether the node's step is set to be done again. */
  again(id: string): boolean {
    const at = this.state.nodes.number(id);
    return at !== NONE && again(this.state, at);
  }

  /** The number of nodes that a retry with what rested on it does again, besides the node itself. */
  restedOn(id: string): number {
    const at = this.state.nodes.number(id);
    return at === NONE ? 0 : restedOn(this.state, at);
  }

  documents(): Map<string, Standing> {
    return standingOfDocuments(this.state);
  }

  /** Sorts siblings as the plan has them, and what does a step again after what did it before. */
  placeOf(id: string): number {
    const { nodes } = this.state;
    const at = nodes.number(id);
    return at === NONE ? Infinity : (nodes.band.get(at) * 1e4 + nodes.step.get(at)) * 1e6 + at;
  }

  /** The node that made an artifact. */
  nodeOfArtifact(id: string): string | undefined {
    const { nodes, artifacts } = this.state;
    for (let at = 0; at < nodes.count; at++) if (artifacts.get(at).some((artifact) => artifact.artifact_id === id)) return nodes.id.get(at);
    return undefined;
  }

  iterations(): readonly Iteration[] {
    return this.state.value('iterations');
  }

  /** Homework: the newest entries of the main scratchpad, the branches, and the actions that repeat without progress. */
  work(): { entries: readonly string[]; branches: readonly Branch[]; repeated: readonly string[] } {
    return { entries: this.state.value('entries'), branches: this.state.value('branches'), repeated: this.state.value('repeated') };
  }

  messages(): readonly MessageRow[] {
    return this.state.value('messages');
  }

  /** Calls with an unknown outcome; a person settles them. */
  unknown(): read.UnknownCall[] {
    return read.unknownCalls(this.state);
  }

  /** The seqs of the events of one node, oldest first. */
  eventsOf(id: string): number[] {
    return read.eventsOf(this.state, this.state.nodes.number(id)).map((event) => this.base + event);
  }

  /** Notifies of later changes only: a new listener already has the current state. */
  subscribe(listener: Listener): () => void {
    if (this.listeners.size === 0) this.gathered();
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Notify listeners now instead of with the next frame. */
  flush(): void {
    this.scheduled = false;
    const change = this.gathered();
    for (const listener of this.listeners) listener(change);
  }

  /** Changes since the last call. */
  private gathered(): Change {
    const { nodes } = this.state;
    const change = { moved: this.moved, restructured: nodes.restructured, restated: nodes.restated };
    this.moved = false;
    nodes.restructured = new Set();
    nodes.restated = new Set();
    return change;
  }

  private fold(event: StoredEvent): void {
    const { state } = this;
    const time = Date.parse(event.timestamp);
    const at = state.undoLog.end + 1;
    clock(state, event, at, time);
    state.events.type.put(at, Math.min(state.events.types.of(event.type), 255));
    state.events.time.put(at, time);
    if (event.type.startsWith('tree.')) foldTree(state, event, time);
    else if (event.type.startsWith('homework.')) foldHomework(state, event);
    else if (event.type.startsWith('task.')) foldTask(state, event);
    else foldRun(state, event);
    const node = state.node(event);
    state.events.node.put(at, node);
    state.events.status.put(at, node === NONE ? ABSENT : state.nodes.status.get(node));
    state.undoLog.close();
  }

  private moveTo(step: number): void {
    this.state.nodes.inBulk(() => this.state.undoLog.moveTo(step));
  }

  private absorb(count: number): void {
    for (const event of this.waiting.splice(0, count)) this.fold(event);
  }

  private jumped(): void {
    this.moved = true;
    this.changed();
  }

  private changed(): void {
    this.version++;
    if (this.scheduled || this.listeners.size === 0) return;
    this.scheduled = true;
    // A hidden tab gets no animation frames, but its title must still change.
    if (typeof requestAnimationFrame === 'function' && !document.hidden) requestAnimationFrame(() => this.flush());
    else setTimeout(() => this.flush(), 0);
  }
}
