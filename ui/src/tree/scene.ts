// The visible cards and edges, computed for each frame by one walk from the root that skips what cannot be seen: the
// cost depends on the screen, not on the size of the tree.

import { NONE } from '../model/nodes';
import type { State } from '../model/state';
import { BLOCKED, FAILED, type Tone, toneOf } from '../model/statuses';
import type { Box, Camera } from './camera';
import type { Entry, Folding } from './folding';
import type { Layout } from './layout';
import { CARD_HEIGHT, CARD_WIDTH, COLUMN, STUB_HEIGHT } from './dimensions';
import type { Motion } from './motion';

/** Near to far: the whole card, its first words, a block of colour, a bar for a whole subtree. */
type Detail = 'card' | 'pill' | 'block' | 'bar';

export function detailAt(zoom: number): Detail {
  if (zoom >= 0.7) return 'card';
  if (zoom >= 0.35) return 'pill';
  return zoom >= 0.12 ? 'block' : 'bar';
}

/** A subtree thinner than this on the screen is drawn as one bar. */
const BAR_PIXELS = 3;
/** Cards that are still moving may be a little outside of where the layout has them. */
const SLACK = 160;

export interface Placed {
  entry: Entry;
  x: number;
  /** The middle of the card. */
  y: number;
}

export interface Bar {
  x: number;
  top: number;
  bottom: number;
  tone: Tone;
}

export class Scene {
  readonly cards: Placed[] = [];
  readonly bars: Bar[] = [];
  /** x, y, x, y of each edge; planned ones apart. */
  readonly edges: number[] = [];
  readonly plannedEdges: number[] = [];

  constructor(
    private state: State,
    private readonly folding: Folding,
    private readonly layout: Layout,
    private readonly motion: Motion,
  ) {}

  reset(state: State): void {
    this.state = state;
  }

  look(camera: Camera): void {
    this.cards.length = this.bars.length = this.edges.length = this.plannedEdges.length = 0;
    if (this.state.nodes.count === 0) return;
    const view = camera.view();
    const thin = BAR_PIXELS / camera.zoom;
    const stack: number[] = [0];
    const ys: number[] = [0];
    while (stack.length > 0) {
      const node = stack.pop()!;
      const y = ys.pop()!;
      if (this.isOut(node, y, view)) continue;
      const x = this.state.nodes.depth.get(node) * COLUMN;
      if (isIn(x, y, view)) this.cards.push({ entry: node, x, y });
      if (x > view.right) continue;
      if (this.layout.height(node) < thin * 2 && this.folding.entries(node).length > 0) this.bar(node, x, y, thin);
      else this.children(node, x, y, view, stack, ys);
    }
  }

  /** The card at a point of the tree. */
  at(x: number, y: number): Placed | null {
    const half = (placed: Placed) => heightOf(placed.entry) / 2;
    const hit = (placed: Placed) => x >= placed.x && x <= placed.x + CARD_WIDTH && Math.abs(y - placed.y) <= half(placed);
    return this.cards.findLast(hit) ?? null;
  }

  /** The node whose card is nearest to a point. */
  nearest(x: number, y: number): number {
    let [best, distance] = [NONE, Infinity];
    for (const { entry, x: cardX, y: cardY } of this.cards) {
      if (typeof entry !== 'number') continue;
      const away = Math.hypot(cardX + CARD_WIDTH / 2 - x, cardY - y);
      if (away < distance) [best, distance] = [entry, away];
    }
    return best;
  }

  private isOut(node: number, y: number, view: Box): boolean {
    return y + this.layout.bottom.get(node) + SLACK < view.top || y + this.layout.top.get(node) - SLACK > view.bottom;
  }

  private children(node: number, x: number, y: number, view: Box, stack: number[], ys: number[]): void {
    const beside = x + COLUMN >= view.left;
    // Edges that leave the view lie on each other, so only the nearest is drawn.
    let [above, below] = [-Infinity, Infinity];
    for (const entry of this.folding.entries(node)) {
      const isNode = typeof entry === 'number';
      const itsY = y + (isNode ? this.motion.offset(entry) : this.motion.offsetOf(entry));
      if (itsY < view.top) above = Math.max(above, itsY);
      else if (itsY > view.bottom) below = Math.min(below, itsY);
      else if (beside) (isNode || entry.kind === 'stub' ? this.edges : this.plannedEdges).push(x + CARD_WIDTH, y, x + COLUMN, itsY);
      if (isNode) {
        stack.push(entry);
        ys.push(itsY);
      } else if (isIn(x + COLUMN, itsY, view)) {
        this.cards.push({ entry, x: x + COLUMN, y: itsY });
      }
    }
    if (beside && y >= view.top && above > -Infinity) this.edges.push(x + CARD_WIDTH, y, x + COLUMN, above);
    if (beside && y <= view.bottom && below < Infinity) this.edges.push(x + CARD_WIDTH, y, x + COLUMN, below);
  }

  private bar(node: number, x: number, y: number, thin: number): void {
    const height = Math.max(this.layout.height(node), thin / 2);
    this.bars.push({ x: x + COLUMN, top: y - height / 2, bottom: y + height / 2, tone: this.worst(node) });
  }

  /** A bar has one colour: that of its most urgent node. */
  private worst(node: number): Tone {
    const { nodes } = this.state;
    if (nodes.blocked.get(node) > 0) return toneOf(BLOCKED);
    if (nodes.failed.get(node) > 0) return toneOf(FAILED);
    return nodes.unfinished.get(node) > 0 ? 'active' : nodes.tone(node);
  }
}

export function heightOf(entry: Entry): number {
  return typeof entry !== 'number' && entry.kind === 'stub' ? STUB_HEIGHT : CARD_HEIGHT;
}

/** Whether the node has a call in flight or waits for a person. */
export function pulses(state: State, entry: Entry): boolean {
  return typeof entry === 'number' && (state.nodes.inFlight.get(entry) > 0 || state.nodes.status.get(entry) === BLOCKED);
}

function isIn(x: number, y: number, view: Box): boolean {
  return x + CARD_WIDTH >= view.left && x <= view.right && y + CARD_HEIGHT >= view.top && y - CARD_HEIGHT <= view.bottom;
}
