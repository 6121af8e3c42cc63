// Where cards are drawn while they move to where the layout wants them. Only what is looked at moves; the rest is simply
// in its place when it comes into view.

import { NONE, type Nodes } from '../model/nodes';
import type { Extra } from './folding';
import type { Layout } from './layout';

const EASE_MS = 90;
const ARRIVED = 0.4;

export class Motion {
  private cur = new Float64Array(64);
  private seen = new Int32Array(64).fill(-1);
  /** Grow out of their parent when first drawn. */
  private readonly sprouts = new Set<number>();
  private frame = 0;
  private part = 1;
  /** Something is still on its way. */
  moving = false;

  constructor(
    private nodes: Nodes,
    private readonly layout: Layout,
  ) {}

  startOver(nodes: Nodes): void {
    this.nodes = nodes;
    this.sprouts.clear();
  }

  sprout(node: number): void {
    this.sprouts.add(node);
  }

  begin(ms: number, still: boolean): void {
    this.frame++;
    this.part = still ? 1 : 1 - Math.exp(-ms / EASE_MS);
    this.moving = false;
    if (still) this.sprouts.clear();
  }

  /** The node's place relative to its parent in this frame. */
  offset(node: number): number {
    if (node >= this.cur.length) this.room(node);
    if (this.seen[node] === this.frame) return this.cur[node];
    const goal = this.layout.off[node];
    const fresh = this.seen[node] !== this.frame - 1;
    const from = this.sprouts.size > 0 && this.sprouts.delete(node) ? 0 : fresh ? goal : this.cur[node];
    this.cur[node] = this.towards(from, goal);
    this.seen[node] = this.frame;
    return this.cur[node];
  }

  offsetOf(extra: Extra): number {
    if (extra.seen === this.frame) return extra.cur;
    const from = extra.seen === this.frame - 1 ? extra.cur : extra.off;
    extra.cur = this.towards(from, extra.off);
    extra.seen = this.frame;
    return extra.cur;
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

  private room(node: number): void {
    const size = Math.max(this.cur.length * 2, node + 1);
    const cur = new Float64Array(size);
    cur.set(this.cur);
    this.cur = cur;
    const seen = new Int32Array(size).fill(-1);
    seen.set(this.seen);
    this.seen = seen;
  }
}
