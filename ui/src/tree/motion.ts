// Animates cards towards their positions in the layout. Only visible cards move; the others are
// in place when they come into view.

import { Numbers } from '../model/columns';
import { NONE, type Nodes } from '../model/nodes';
import type { Placeholder } from './folding';
import type { Layout } from './layout';

const EASE_MS = 90;
const ARRIVED = 0.4;

export class Motion {
  /** Where each node was last drawn, and in which frame. */
  private readonly drawn = new Numbers();
  private readonly drawnIn = new Numbers(-1);
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
    const last = this.drawnIn.get(node);
    if (last === this.frame) return this.drawn.get(node);
    const goal = this.layout.off.get(node);
    const from = this.added.size > 0 && this.added.delete(node) ? 0 : last === this.frame - 1 ? this.drawn.get(node) : goal;
    this.drawn.put(node, this.towards(from, goal));
    this.drawnIn.put(node, this.frame);
    return this.drawn.get(node);
  }

  offsetOf(placeholder: Placeholder): number {
    if (placeholder.drawnIn === this.frame) return placeholder.drawn;
    const from = placeholder.drawnIn === this.frame - 1 ? placeholder.drawn : placeholder.off;
    placeholder.drawn = this.towards(from, placeholder.off);
    placeholder.drawnIn = this.frame;
    return placeholder.drawn;
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
      if (this.drawnIn.get(at) !== this.frame) return null;
      y += this.drawn.get(at);
    }
    return y;
  }

  private towards(from: number, goal: number): number {
    const now = from + (goal - from) * this.part;
    if (Math.abs(goal - now) < ARRIVED) return goal;
    this.moving = true;
    return now;
  }
}
