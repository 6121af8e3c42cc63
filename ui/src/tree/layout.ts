// A tidy tree from left to right: columns by depth, children in order, the parent in the middle of them. Positions are
// relative to the parent and a subtree is known to others by its contour alone, so a change costs its path to the root and
// moves nothing beside it.

import { Numbers } from '../model/columns';
import { NONE, type Nodes } from '../model/nodes';
import type { State } from '../model/state';
import type { Entry, Folding } from './folding';
import { BAND_GAP, CARD_HEIGHT, COUSIN_GAP, SIBLING_GAP, STUB_HEIGHT } from './dimensions';

/** How far a subtree reaches up and down in each column, counted from its own, relative to the middle of its card. */
interface Contour {
  top: Float64Array;
  bottom: Float64Array;
}

const LEAF: Contour = leaf(CARD_HEIGHT);
const STUB: Contour = leaf(STUB_HEIGHT);

export class Layout {
  /** The middle of a node's card, relative to its parent's. */
  readonly off = new Numbers();
  /** How far the whole subtree reaches; drawing skips what is outside the view. */
  readonly top = new Numbers();
  readonly bottom = new Numbers();
  private contours: Contour[] = [];
  private dirty: Set<number>[] = [];

  constructor(
    private state: State,
    private readonly folding: Folding,
  ) {}

  private get nodes(): Nodes {
    return this.state.nodes;
  }

  reset(state: State): void {
    this.state = state;
    this.contours = [];
    this.dirty = [];
  }

  /** A node's entries or height may have changed. */
  touch(node: number): void {
    const depth = this.nodes.depth.get(node);
    while (this.dirty.length <= depth) this.dirty.push(new Set());
    this.dirty[depth].add(node);
  }

  touchAll(): void {
    for (let node = 0; node < this.nodes.count; node++) this.touch(node);
  }

  /** Lays out the changed nodes, deepest first. A parent is visited only if a child's contour changed. Returns the number of visited nodes. */
  update(): number {
    let viewed = 0;
    for (let depth = this.dirty.length - 1; depth >= 0; depth--) {
      for (const node of this.dirty[depth]) {
        if (node >= this.nodes.count) continue;
        viewed++;
        this.folding.refresh(node);
        if (!this.place(node)) continue;
        const parent = this.nodes.parent.get(node);
        if (parent !== NONE) this.dirty[depth - 1].add(parent);
      }
      this.dirty[depth].clear();
    }
    return viewed;
  }

  /** The height of a whole subtree. */
  height(node: number): number {
    return this.bottom.get(node) - this.top.get(node);
  }

  contourOf(entry: Entry): Contour {
    if (typeof entry === 'number') return this.contours[entry] ?? LEAF;
    return entry.kind === 'stub' ? STUB : LEAF;
  }

  /** Sets the positions of the children and the node's contour. Returns whether the contour changed. */
  private place(node: number): boolean {
    const before = this.contours[node];
    const after = this.stack(this.folding.entries(node));
    this.contours[node] = after;
    this.top.put(
      node,
      after.top.reduce((least, reach) => Math.min(least, reach)),
    );
    this.bottom.put(
      node,
      after.bottom.reduce((most, reach) => Math.max(most, reach)),
    );
    return before === undefined || !same(before, after);
  }

  /** Moves each entry down until its contour is clear of those before it, then centres the parent. */
  private stack(entries: readonly Entry[]): Contour {
    if (entries.length === 0) return LEAF;
    const top: number[] = [];
    const bottom: number[] = [];
    const offs: number[] = [];
    let lastBand = 0;
    for (const [at, entry] of entries.entries()) {
      const contour = this.contourOf(entry);
      const band = this.bandOf(entry);
      const shift = at === 0 ? 0 : clearance(bottom, contour.top, band === lastBand ? SIBLING_GAP : BAND_GAP);
      lastBand = band;
      offs.push(shift);
      contour.bottom.forEach((reach, depth) => {
        if (depth >= bottom.length) top.push(shift + contour.top[depth]);
        bottom[depth] = shift + reach;
      });
    }
    const middle = offs[offs.length - 1] / 2;
    entries.forEach((entry, at) => this.setOff(entry, offs[at] - middle));
    const half = CARD_HEIGHT / 2;
    return {
      top: Float64Array.from([-half, ...top.map((reach) => reach - middle)]),
      bottom: Float64Array.from([half, ...bottom.map((reach) => reach - middle)]),
    };
  }

  private bandOf(entry: Entry): number {
    return typeof entry === 'number' ? this.nodes.band.get(entry) : entry.band;
  }

  private setOff(entry: Entry, off: number): void {
    if (typeof entry === 'number') this.off.put(entry, off);
    else entry.off = off;
  }
}

/** Cousins are further apart than siblings, because at the same distance they would look like one group. */
function clearance(bottom: readonly number[], top: Float64Array, gap: number): number {
  const common = Math.min(bottom.length, top.length);
  let shift = -Infinity;
  for (let depth = 0; depth < common; depth++) shift = Math.max(shift, bottom[depth] - top[depth] + (depth === 0 ? gap : COUSIN_GAP));
  return shift;
}

function leaf(height: number): Contour {
  return { top: Float64Array.of(-height / 2), bottom: Float64Array.of(height / 2) };
}

function same(a: Contour, b: Contour): boolean {
  return a === b || (a.top.length === b.top.length && a.top.every((reach, at) => reach === b.top[at] && a.bottom[at] === b.bottom[at]));
}
