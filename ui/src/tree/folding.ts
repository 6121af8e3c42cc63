// Decides which cards of a tree are shown. Finished subtrees fold into one card, many quiet siblings into a stub, and steps
// that have not started are ghosts, so that active nodes stay on the screen. Nothing here has a position.

import { Numbers } from '../model/columns';
import { NONE, type Nodes } from '../model/nodes';
import type { State } from '../model/state';
import { FAILED, isActive, isTerminal, BLOCKED, PARTIAL, STEP_PENDING } from '../model/statuses';

/** A card that is not a node: a stub for several quiet nodes, or a ghost for a planned step. */
export interface Placeholder {
  kind: 'stub' | 'ghost';
  parent: number;
  band: number;
  step: number;
  /** Stub: the nodes it stands for. */
  nodes: number[];
  /** Stub: how many planned steps it stands for beside them. */
  planned: number;
  title: string;
  /** Where the layout puts it, relative to its parent. */
  off: number;
  /** Where it was last drawn, and in which frame. */
  drawn: number;
  drawnIn: number;
}

export type Entry = number | Placeholder;

/** Who decided whether a node is folded: nobody yet, this module, or a person. */
const UNDECIDED = 0;
const AUTO = 1;
const CLOSED = 2;
const OPEN = 3;

/** Trees up to this size are shown whole. */
const SMALL_TREE = 40;
/** As many cards as fit on a screen. */
const FIRST_VIEW_CARDS = 24;
const QUIET_CARDS_SHOWN = 4;
const FOLD_AFTER_MS = 1500;
const NO_ENTRIES: readonly Entry[] = [];

export class Folding {
  private readonly fold = new Numbers();
  /** Bands whose stub someone opened, as `parent:band`. */
  private readonly openBands = new Set<string>();
  /** When each finished subtree folds: not at once, so that people see its result arrive. */
  private readonly due = new Map<number, number>();
  private readonly shown: (readonly Entry[])[] = [];
  private selected = NONE;

  constructor(private state: State) {}

  private get nodes(): Nodes {
    return this.state.nodes;
  }

  reset(state: State): void {
    this.state = state;
    this.due.clear();
    this.shown.length = 0;
  }

  /** Whether there are too many nodes to show all of them. */
  get crowded(): boolean {
    return this.nodes.count > SMALL_TREE;
  }

  isFolded(node: number): boolean {
    const fold = this.fold.get(node);
    return fold === CLOSED || fold === AUTO;
  }

  /** The cards to the right of a node, in order. */
  entries(node: number): readonly Entry[] {
    return this.shown[node] ?? NO_ENTRIES;
  }

  hasChildren(node: number): boolean {
    return this.nodes.first.get(node) !== NONE;
  }

  /** Folds or unfolds by hand. What a person opened is not folded again automatically. */
  set(node: number, folded: boolean): void {
    this.fold.put(node, folded ? CLOSED : OPEN);
  }

  openBand(placeholder: Placeholder): void {
    this.openBands.add(`${placeholder.parent}:${placeholder.band}`);
  }

  /** Opens whatever hides a node. Returns the ancestors whose entries change. */
  reveal(node: number): number[] {
    const changed: number[] = [];
    for (let at = this.nodes.parent.get(node), below = node; at !== NONE; below = at, at = this.nodes.parent.get(at)) {
      const hidden = this.isFolded(at) || !this.entries(at).includes(below);
      if (this.isFolded(at)) this.set(at, false);
      if (hidden) changed.push(at);
    }
    return changed;
  }

  /** The selection is always shown; returns nodes whose entries may change. */
  select(node: number): number[] {
    const was = this.selected;
    this.selected = node;
    const known = [was, node].filter((at) => at !== NONE && at < this.nodes.count);
    return known.map((at) => this.nodes.parent.get(at)).filter((parent) => parent !== NONE);
  }

  /** A node's subtree changed: schedules its folding, or unfolds it at once when it works again. Returns whether it unfolded. */
  consider(node: number, now: number): boolean {
    if (this.nodes.unfinished.get(node) > 0) {
      this.due.delete(node);
      if (this.fold.get(node) !== AUTO) return false;
      this.fold.put(node, UNDECIDED);
      return true;
    }
    if (this.fold.get(node) === UNDECIDED && this.hasChildren(node) && this.nodes.parent.get(node) !== NONE && !this.due.has(node)) {
      this.due.set(node, now + FOLD_AFTER_MS);
    }
    return false;
  }

  /** Folds what is due. Returns the nodes that folded. */
  foldDue(now: number): number[] {
    const folded: number[] = [];
    if (!this.crowded) return folded;
    for (const [node, when] of this.due) {
      if (when > now) continue;
      this.due.delete(node);
      if (node >= this.nodes.count || this.fold.get(node) !== UNDECIDED || this.nodes.unfinished.get(node) > 0 || this.holdsSelection(node)) continue;
      this.fold.put(node, AUTO);
      folded.push(node);
    }
    return folded;
  }

  get waits(): boolean {
    return this.due.size > 0 && this.crowded;
  }

  /** Decides everything again at once: when the tree is first shown, and after a jump in time. */
  decideAll(): void {
    const { nodes } = this;
    this.due.clear();
    for (let node = 0; node < nodes.count; node++) {
      if (this.fold.get(node) === AUTO) this.fold.put(node, UNDECIDED);
      const over = nodes.unfinished.get(node) === 0 && this.hasChildren(node) && nodes.parent.get(node) !== NONE;
      if (over && this.fold.get(node) === UNDECIDED && this.crowded && !this.holdsSelection(node)) this.fold.put(node, AUTO);
    }
    if (this.crowded && nodes.unfinished.get(0) === 0) this.openFromTheTop();
  }

  /** A finished run needs no room for active nodes: shows as many levels as fit on a screen. */
  private openFromTheTop(): void {
    let shown = 1;
    let level = [0];
    while (level.length > 0) {
      const next: number[] = [];
      for (const node of level) {
        const children = [...this.nodes.children(node)];
        if (shown + children.length > FIRST_VIEW_CARDS) return;
        if (this.fold.get(node) === AUTO) this.fold.put(node, UNDECIDED);
        shown += children.length;
        if (this.fold.get(node) !== CLOSED) next.push(...children);
      }
      level = next;
    }
  }

  /** Unfolds everything above a depth and folds what is below it. */
  toLevel(depth: number): void {
    for (let node = 0; node < this.nodes.count; node++) {
      if (this.hasChildren(node)) this.set(node, this.nodes.depth.get(node) >= depth);
    }
  }

  /** Computes the entries of a node again. Returns whether they changed. */
  refresh(node: number): boolean {
    const before = this.shown[node] ?? NO_ENTRIES;
    const after = this.isFolded(node) ? NO_ENTRIES : this.arrange(node, before);
    this.shown[node] = after;
    return before.length !== after.length || after.some((entry, at) => entry !== before[at]);
  }

  /** Whether a node gets no card of its own: it neither works nor failed, did all of its work, is not stale, blocked or selected, and has no children. */
  private isQuiet(node: number): boolean {
    const { nodes } = this;
    const status = nodes.look(node);
    if (status === FAILED || status === BLOCKED || status === PARTIAL || nodes.isStale(node) || this.hasChildren(node) || node === this.selected) return false;
    // A node that waits for its first call does not work yet.
    return !isActive(status) || (Number.isNaN(nodes.started.get(node)) && nodes.inFlight.get(node) === 0);
  }

  private arrange(node: number, before: readonly Entry[]): readonly Entry[] {
    const { nodes } = this;
    const ghosts = this.ghosts(node, before);
    if (nodes.first.get(node) === NONE && ghosts.length === 0) return NO_ENTRIES;
    const entries: Entry[] = [];
    let quiet: Entry[] = [];
    let band = NONE;
    let nextGhost = 0;
    const endBand = () => {
      this.crowd(node, band, entries, quiet, before);
      quiet = [];
    };
    const put = (entry: Entry, itsBand: number, isQuiet: boolean) => {
      if (itsBand !== band) {
        if (band !== NONE) endBand();
        band = itsBand;
      }
      entries.push(entry);
      if (isQuiet) quiet.push(entry);
    };
    for (let child = nodes.first.get(node); child !== NONE; child = nodes.next.get(child)) {
      const place = nodes.band.get(child) * 1e6 + nodes.step.get(child);
      while (nextGhost < ghosts.length && placeOf(ghosts[nextGhost]) < place) put(ghosts[nextGhost], ghosts[nextGhost++].band, true);
      put(child, nodes.band.get(child), this.isQuiet(child));
    }
    while (nextGhost < ghosts.length) put(ghosts[nextGhost], ghosts[nextGhost++].band, true);
    endBand();
    return entries;
  }

  /** Keeps the first few quiet cards of a band. The other quiet nodes and the planned steps become one stub, unless a person opened it. */
  private crowd(node: number, band: number, entries: Entry[], quiet: Entry[], before: readonly Entry[]): void {
    if (!this.crowded || this.openBands.has(`${node}:${band}`)) return;
    const nodes = quiet.filter((entry) => typeof entry === 'number');
    const planned = quiet.length - nodes.length;
    // A stub takes as much room as a card, so it never stands for only one.
    const over = nodes.length > QUIET_CARDS_SHOWN + 1 ? nodes.slice(QUIET_CARDS_SHOWN) : [];
    if (over.length === 0 && planned < 2) return;
    const stub = known(before, 'stub', band, 0) ?? fresh('stub', node, band, 0);
    stub.nodes = over;
    stub.planned = planned;
    const hidden = new Set(over);
    const kept = entries.filter((entry) => (typeof entry === 'number' ? !hidden.has(entry) : entry.band !== band || entry.kind === 'stub'));
    entries.length = 0;
    entries.push(...kept, stub);
  }

  private ghosts(node: number, before: readonly Entry[]): Placeholder[] {
    if (isTerminal(this.nodes.status.get(node))) return [];
    const { steps } = this.state;
    const planned = steps.plan(node).steps.filter((step) => steps.child.get(step) === NONE && steps.status.get(step) === STEP_PENDING);
    const ghosts = planned.map((step) => {
      const [band, place] = [steps.band.get(step), steps.step.get(step)];
      const ghost = known(before, 'ghost', band, place) ?? fresh('ghost', node, band, place);
      ghost.title = steps.title.get(step);
      return ghost;
    });
    return ghosts.sort((a, b) => placeOf(a) - placeOf(b));
  }

  private holdsSelection(node: number): boolean {
    for (let at = this.selected; at !== NONE && at < this.nodes.count; at = this.nodes.parent.get(at)) if (at === node) return this.selected !== node;
    return false;
  }
}

function placeOf(placeholder: Placeholder): number {
  return placeholder.band * 1e6 + placeholder.step;
}

/** The same placeholder as before, so that it keeps its place on the screen. */
function known(before: readonly Entry[], kind: Placeholder['kind'], band: number, step: number): Placeholder | undefined {
  return before.find((entry): entry is Placeholder => typeof entry !== 'number' && entry.kind === kind && entry.band === band && entry.step === step);
}

function fresh(kind: Placeholder['kind'], parent: number, band: number, step: number): Placeholder {
  return { kind, parent, band, step, nodes: [], planned: 0, title: '', off: 0, drawn: 0, drawnIn: -1 };
}
