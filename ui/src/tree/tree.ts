// The view state of a tree: what is folded, selected, found and followed. Canvas and outline share it, so
// they have one selection. It draws nothing.

import { NONE, type Nodes } from '../model/nodes';
import type { Change, Run } from '../model/run';
import { BLOCKED, FAILED, isActive } from '../model/statuses';
import { type Box, Camera } from './camera';
import { criticalPath } from './critical-path';
import { type Placeholder, Folding } from './folding';
import { Follower } from './follow';
import { Layout } from './layout';
import { CARD_WIDTH, COLUMN } from './dimensions';
import * as paths from './navigation';

type Mode = 'follow' | 'free';
export type Kind = 'match' | 'failed' | 'active' | 'blocked';

const FOLD_EVERY_MS = 250;
/** The critical path of a large tree is computed at most this often. */
const PATH_EVERY_MS = 500;
/** A path is unfolded only up to this many cards: more would hide it again. */
const MAX_REVEALED = 200;

export class Tree {
  readonly folding: Folding;
  readonly layout: Layout;
  readonly camera = new Camera();
  mode: Mode = 'follow';
  /** Called when a person selects or opens a node here, not when the page does it. */
  onselect: ((id: string | null) => void) | null = null;
  onopen: ((id: string) => void) | null = null;
  /** Focuses the search box, where there is one. */
  focusFind: () => void = () => {};
  query = '';
  found: ReadonlySet<number> = new Set();
  /** Nodes that appeared since the canvas last drew. */
  readonly added: number[] = [];
  /** Nodes whose cards may look different since then. */
  readonly stale = new Set<number>();
  readonly working = new Set<number>();
  /** The critical path, while it is shown. */
  critical: ReadonlySet<number> | null = null;
  private criticalAt = 0;
  private readonly follower: Follower;
  private selectedNumber = NONE;
  private selectedId: string | null = null;
  private crowded = false;
  private heading = NONE;
  private readonly listeners = new Set<() => void>();
  private readonly unsubscribe: () => void;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly run: Run) {
    this.folding = new Folding(run.state);
    this.layout = new Layout(run.state, this.folding);
    this.follower = new Follower(this);
    this.unsubscribe = run.subscribe((change) => this.changed(change));
    this.reset();
  }

  get nodes(): Nodes {
    return this.run.state.nodes;
  }

  get selected(): string | null {
    return this.selectedId;
  }

  get selectedNode(): number {
    return this.selectedNumber;
  }

  destroy(): void {
    this.unsubscribe();
    if (this.timer !== null) clearTimeout(this.timer);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Selects without a callback, for the page. `reveal` opens the path to the node and shows it. */
  select(id: string | null, { reveal = false } = {}): void {
    this.selectedId = id;
    this.choose(this.nodes.number(id));
    if (reveal && this.selectedNumber !== NONE) this.reveal(this.selectedNumber);
    this.notify();
  }

  /** A person selected a node. */
  userSelect(node: number, { look = false } = {}): void {
    this.selectedId = node === NONE ? null : this.nodes.id.get(node);
    this.choose(node);
    if (look && node !== NONE) this.reveal(node);
    this.onselect?.(this.selectedId);
    this.notify();
  }

  showCritical(wanted: boolean): void {
    this.critical = wanted ? criticalPath(this.nodes) : null;
    const path = [...(this.critical ?? [])];
    if (path.length <= MAX_REVEALED) for (const node of path) for (const ancestor of this.folding.reveal(node)) this.layout.touch(ancestor);
    this.layout.update();
    for (let node = 0; node < this.nodes.count; node++) this.stale.add(node);
    this.notify();
  }

  open(node: number): void {
    if (node === NONE) return;
    if (node !== this.selectedNumber) this.userSelect(node);
    this.onopen?.(this.nodes.id.get(node));
  }

  fold(node: number, folded: boolean): void {
    if (!this.folding.hasChildren(node)) return;
    this.folding.set(node, folded);
    this.stale.add(node);
    this.layout.touch(node);
    this.layout.update();
    if (!folded) this.added.push(...this.folding.entries(node).filter((entry) => typeof entry === 'number'));
    this.notify();
  }

  openStub(stub: Placeholder): void {
    this.folding.openBand(stub);
    this.layout.touch(stub.parent);
    this.layout.update();
    this.notify();
  }

  unfoldTo(level: number): void {
    this.folding.toLevel(level);
    for (let node = 0; node < this.nodes.count; node++) this.stale.add(node);
    this.layout.touchAll();
    this.layout.update();
    this.notify();
  }

  /** Opens whatever hides a node and moves it into view. */
  reveal(node: number): void {
    for (const ancestor of this.folding.reveal(node)) {
      this.layout.touch(ancestor);
      this.stale.add(ancestor);
    }
    this.layout.update();
    this.mode = 'free';
    const [x, y] = this.centre(node);
    if (this.camera.centred(x, y, 0.8)) return;
    this.heading = node;
    this.camera.glideTo(x, y, Math.max(this.camera.zoom, 0.7));
  }

  /** The middle of a node's card in the layout; the card may still move there. */
  centre(node: number): [number, number] {
    let y = 0;
    for (let at = node; this.nodes.parent.get(at) !== NONE; at = this.nodes.parent.get(at)) y += this.layout.off.get(at);
    return [this.nodes.depth.get(node) * COLUMN + CARD_WIDTH / 2, y];
  }

  find(query: string): number {
    this.query = query;
    this.found = paths.matching(this.nodes, query);
    this.notify();
    return this.found.size;
  }

  next(kind: Kind, direction: 1 | -1 = 1): void {
    const node = paths.next(this.nodes, this.selectedNumber, direction, (at) => this.is(kind, at));
    if (node !== NONE) this.userSelect(node, { look: true });
  }

  count(kind: Kind): number {
    if (kind === 'match') return this.found.size;
    if (kind === 'active') return [...this.working].filter((node) => this.nodes.status.get(node) !== BLOCKED).length;
    const root = this.nodes.count > 0;
    return root ? (kind === 'failed' ? this.nodes.failed : this.nodes.blocked).get(0) : 0;
  }

  follow(): void {
    this.mode = 'follow';
    this.follower.lookNow();
    this.notify();
  }

  free(): void {
    if (this.mode === 'free') return;
    this.mode = 'free';
    this.notify();
  }

  fit(): void {
    this.mode = 'free';
    this.heading = NONE;
    const view = this.camera.framing(this.bounds(), 1);
    this.camera.glideTo(view.x, view.y, view.zoom);
    this.notify();
  }

  /** The box around everything that is shown. */
  bounds(): Box {
    if (this.nodes.count === 0) return { left: 0, right: CARD_WIDTH, top: -50, bottom: 50 };
    const columns = this.layout.contourOf(0).top.length;
    return { left: 0, right: (columns - 1) * COLUMN + CARD_WIDTH, top: this.layout.top.get(0), bottom: this.layout.bottom.get(0) };
  }

  /** Called by the canvas before it draws: follow what happens. */
  step(now: number): void {
    if (this.mode === 'follow') return this.follower.step(now);
    // The goal of a glide may itself move.
    if (!this.camera.gliding || this.heading >= this.nodes.count) this.heading = NONE;
    if (this.heading !== NONE) this.camera.glideTo(...this.centre(this.heading));
  }

  key(event: KeyboardEvent): boolean {
    return paths.key(this, event);
  }

  /** The point to show when the tree is first drawn. */
  initialView(): void {
    const view = this.camera.framing(this.bounds(), 1);
    if (view.zoom >= 0.35 || this.nodes.count === 0) this.camera.jumpTo(view.x, view.y, view.zoom);
    else this.camera.jumpTo(this.camera.width * 0.5 - 40, 0, 0.8);
    this.follower.lookNow();
  }

  private is(kind: Kind, node: number): boolean {
    if (kind === 'match') return this.found.has(node);
    const status = this.nodes.status.get(node);
    if (kind === 'active') return isActive(status);
    return kind === 'failed' ? status === FAILED : status === BLOCKED;
  }

  private choose(node: number): void {
    this.selectedNumber = node;
    for (const parent of this.folding.select(node)) this.layout.touch(parent);
    this.layout.update();
  }

  private changed(change: Change): void {
    if (change.moved) return this.reset();
    const now = performance.now();
    if (this.folding.crowded !== this.crowded) this.layout.touchAll();
    this.crowded = this.folding.crowded;
    const climbed = new Set<number>();
    for (const node of change.restructured) this.placed(node, now, climbed);
    for (const node of change.restated) this.restated(node, now, climbed);
    this.layout.update();
    this.scheduleFolding();
    if (this.query !== '' && change.restructured.size > 0) this.found = paths.matching(this.nodes, this.query);
    if (this.selectedNumber === NONE && this.selectedId !== null) this.choose(this.nodes.number(this.selectedId));
    this.refreshCriticalPath(now);
    this.notify();
  }

  private reset(): void {
    const { state } = this.run;
    this.folding.reset(state);
    this.crowded = this.folding.crowded;
    this.layout.reset(state);
    this.selectedNumber = this.nodes.number(this.selectedId);
    this.folding.select(this.selectedNumber);
    this.folding.decideAll();
    this.layout.touchAll();
    this.layout.update();
    this.added.length = 0;
    this.working.clear();
    for (let node = 0; node < this.nodes.count; node++) {
      this.trackActive(node);
      this.stale.add(node);
    }
    this.found = paths.matching(this.nodes, this.query);
    this.criticalAt = 0;
    this.refreshCriticalPath(performance.now());
    this.notify();
  }

  private refreshCriticalPath(now: number): void {
    if (this.critical === null || now - this.criticalAt < PATH_EVERY_MS) return;
    this.critical = criticalPath(this.nodes);
    this.criticalAt = now;
  }

  /** A node or its plan is new. */
  private placed(node: number, now: number, climbed: Set<number>): void {
    this.added.push(node);
    this.restated(node, now, climbed);
    // A node with children gets its own card, so its first child changes what its own parent shows.
    const parent = this.nodes.parent.get(node);
    const above = parent === NONE ? NONE : this.nodes.parent.get(parent);
    if (above !== NONE) this.layout.touch(above);
  }

  private restated(node: number, now: number, climbed: Set<number>): void {
    this.trackActive(node);
    this.layout.touch(node);
    const parent = this.nodes.parent.get(node);
    if (parent !== NONE) this.layout.touch(parent);
    // Nodes that change together share ancestors: visit each ancestor once.
    for (let at = node; at !== NONE && !climbed.has(at); at = this.nodes.parent.get(at)) {
      climbed.add(at);
      this.stale.add(at);
      if (this.folding.consider(at, now)) this.layout.touch(at);
    }
  }

  private trackActive(node: number): void {
    const status = this.nodes.status.get(node);
    if (isActive(status) || status === BLOCKED) this.working.add(node);
    else this.working.delete(node);
  }

  private scheduleFolding(): void {
    if (this.timer !== null || !this.folding.waits) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      const folded = this.folding.foldDue(performance.now());
      for (const node of folded) {
        this.layout.touch(node);
        this.stale.add(node);
      }
      this.layout.update();
      if (folded.length > 0) this.notify();
      this.scheduleFolding();
    }, FOLD_EVERY_MS);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}
