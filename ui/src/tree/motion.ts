// Animates cards towards their positions in the layout. Only visible cards move; the others are
// in place when they come into view.

import { NONE, type Nodes } from '../model/nodes';
import type { Placeholder } from './folding';
import type { Layout } from './layout';

const EASE_MS = 90;
const ARRIVED = 0.4;

export class Motion {
  private cur = new Float64Array(64);
  private seen = new Int32Array(64).fill(-1);
  /** Nodes that grow out of their parent when first drawn. */
  private readonly added = new Set<number>();
  private frame = 0;
  private part = 1;
  /** Whether a card still moves. */
  moving = false;

  constructor(
    private nodes: Nodes,
    private readonly layout: Layout,
  ) {}

  reset(nodes: Nodes): void {
    this.nodes = nodes;
    this.added.clear();
  }

  add(node: number): void {
    this.added.add(node);
  }

  begin(ms: number, still: boolean): void {
    this.frame++;
    this.part = still ? 1 : 1 - Math.exp(-ms / EASE_MS);
    this.moving = false;
    if (still) this.added.clear();
  }

  /** The node's place relative to its parent in this frame. */
  offset(node: number): number {
    if (node >= this.cur.length) this.grow(node);
    if (this.seen[node] === this.frame) return this.cur[node];
    const goal = this.layout.off[node];
    const fresh = this.seen[node] !== this.frame - 1;
    const from = this.added.size > 0 && this.added.delete(node) ? 0 : fresh ? goal : this.cur[node];
    this.cur[node] = this.towards(from, goal);
    this.seen[node] = this.frame;
    return this.cur[node];
  }

  offsetOf(placeholder: Placeholder): number {
    if (placeholder.seen === this.frame) return placeholder.cur;
    const from = placeholder.seen === this.frame - 1 ? placeholder.cur : placeholder.off;
    placeholder.cur = this.towards(from, placeholder.off);
    placeholder.seen = this.frame;
    return placeholder.cur;
  }

  /** The middle of a node's card in the tree, as it is drawn now. */
  y(node: number): number {
    let y = 0;
    for (let at = node; this.nodes.parent.get(at) !== NONE; at = this.nodes.parent.get(at)) y += this.offset(at);
    return y;
  }

  /** The same in the last frame, if it was drawn then. */
  lastY(node: number): number | null {
    let y = 0;
    for (let at = node; this.nodes.parent.get(at) !== NONE; at = this.nodes.parent.get(at)) {
      if (at >= this.seen.length || this.seen[at] !== this.frame) return null;
      y += this.cur[at];
    }
    return y;
  }

  private towards(from: number, goal: number): number {
    const now = from + (goal - from) * this.part;
    if (Math.abs(goal - now) < ARRIVED) return goal;
    this.moving = true;
    return now;
  }

  private grow(node: number): void {
    const size = Math.max(this.cur.length * 2, node + 1);
    const cur = new Float64Array(size);
    cur.set(this.cur);
    this.cur = cur;
    const seen = new Int32Array(size).fill(-1);
    seen.set(this.seen);
    this.seen = seen;
  }
}
