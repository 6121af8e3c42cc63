// Paints a scene on a canvas: edges, cards in the detail of the zoom, and highlights: pulse, selection, search.

import type { State } from '../model/state';
import { toneOf } from '../model/statuses';
import type { Camera } from './camera';
import { Cards } from './cards';
import type { Placeholder, Folding } from './folding';
import { CARD_HEIGHT, CARD_WIDTH } from './dimensions';
import type { Palette } from './palette';
import { CardCache } from './card-cache';
import { detailAt, heightOf, type Placed, pulses, type Scene } from './scene';

const RADIUS = 9;
const PULSE_MS = 1600;
/** Radius of the corners of an edge. */
const CORNER = 8;
/** Opacity of cards that are not emphasised. */
const DIMMED_ALPHA = 0.3;

interface DrawOptions {
  selected: number;
  hovered: number;
  /** Nodes a search found. */
  found: ReadonlySet<number>;
  /** The critical path: while it is shown, only its cards are emphasised. */
  critical: ReadonlySet<number> | null;
  /** No pulse: the person prefers reduced motion. */
  still: boolean;
  /** Milliseconds, for the pulse; and the time of the run, for durations. */
  tick: number;
  now: number;
}

export class Painter {
  private readonly cards: Cards;
  private readonly cache: CardCache;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private state: State,
    folding: Folding,
    private palette: Palette,
  ) {
    this.cards = new Cards(context, state, folding, palette);
    this.cache = new CardCache(this.cards);
  }

  reset(state: State): void {
    this.state = state;
    this.cards.reset(state);
    this.cache.clear();
  }

  /** Nodes whose cards may look different now. */
  invalidate(nodes: Iterable<number>): void {
    for (const node of nodes) this.cache.invalidate(node);
  }

  /** Whether some changed cards are not drawn yet. */
  get late(): boolean {
    return this.cache.late;
  }

  setPalette(palette: Palette): void {
    this.palette = this.cards.palette = palette;
    this.cache.clear();
  }

  paint(scene: Scene, camera: Camera, ratio: number, look: DrawOptions): void {
    const { context, palette } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.paper;
    context.fillRect(0, 0, camera.width, camera.height);
    const scale = ratio * camera.zoom;
    const [left, top] = [ratio * camera.screenX(0), ratio * camera.screenY(0)];
    context.setTransform(scale, 0, 0, scale, left, top);
    this.paintEdges(scene, camera.zoom);
    for (const bar of scene.bars) {
      context.fillStyle = palette.tone[bar.tone];
      context.fillRect(bar.x, bar.top, CARD_WIDTH, bar.bottom - bar.top);
    }
    const detail = detailAt(camera.zoom);
    if (detail === 'card' || detail === 'pill') {
      this.paintCards(scene, detail === 'card', scale, left, top, look);
    } else {
      for (const placed of scene.cards) {
        context.globalAlpha = isDimmed(placed.entry, look) ? DIMMED_ALPHA : 1;
        this.paintBlock(placed, camera.zoom);
      }
      context.globalAlpha = 1;
      this.paintNames(scene, camera, ratio, look);
    }
  }

  private paintEdges(scene: Scene, zoom: number): void {
    const { context, palette } = this;
    context.lineWidth = Math.max(1.25, 1 / zoom);
    context.strokeStyle = context.fillStyle = palette.branch;
    this.paintBranches(scene.edges, context.lineWidth);
    if (scene.plannedEdges.length === 0) return;
    context.setLineDash([2, 4]);
    this.strokeBranches(scene.plannedEdges);
    context.setLineDash([]);
  }

  /** Fills the straight parts and strokes only the corners, because long curves are the most expensive lines. */
  private paintBranches(edges: readonly number[], width: number): void {
    const { context } = this;
    const half = width / 2;
    context.beginPath();
    for (let at = 0; at < edges.length; at += 4) {
      const [x, y, toX, toY] = [edges[at], edges[at + 1], edges[at + 2], edges[at + 3]];
      const middle = (x + toX) / 2;
      const turn = Math.min(CORNER, Math.abs(toY - y) / 2);
      const way = Math.sign(toY - y) * turn;
      context.fillRect(x, y - half, middle - turn - x, width);
      context.fillRect(middle + turn, toY - half, toX - middle - turn, width);
      if (turn === 0) continue;
      context.fillRect(middle - half, Math.min(y, toY) + turn, width, Math.abs(toY - y) - 2 * turn);
      context.moveTo(middle - turn, y);
      context.quadraticCurveTo(middle, y, middle, y + way);
      context.moveTo(middle, toY - way);
      context.quadraticCurveTo(middle, toY, middle + turn, toY);
    }
    context.stroke();
  }

  private strokeBranches(edges: readonly number[]): void {
    const { context } = this;
    context.beginPath();
    for (let at = 0; at < edges.length; at += 4) {
      const middle = (edges[at] + edges[at + 2]) / 2;
      context.moveTo(edges[at], edges[at + 1]);
      context.lineTo(middle, edges[at + 1]);
      context.lineTo(middle, edges[at + 3]);
      context.lineTo(edges[at + 2], edges[at + 3]);
    }
    context.stroke();
  }

  private paintCards(scene: Scene, near: boolean, scale: number, left: number, top: number, look: DrawOptions): void {
    const { context } = this;
    for (const placed of scene.cards) if (typeof placed.entry === 'number') this.paintHighlight(placed, placed.entry, look);
    this.cache.begin(scale, near, look.now);
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const { entry, x, y } of scene.cards) {
      context.globalAlpha = isDimmed(entry, look) ? DIMMED_ALPHA : 1;
      this.cache.put(context, entry, look.now, left + x * scale, top + (y - heightOf(entry) / 2) * scale);
    }
    context.globalAlpha = 1;
  }

  /** Draws what changes often around the card, outside its cached picture. */
  private paintHighlight({ x, y }: Placed, node: number, look: DrawOptions): void {
    const { palette } = this;
    const found = look.found.has(node);
    if (!look.still && pulses(this.state, node)) {
      const phase = (look.tick % PULSE_MS) / PULSE_MS;
      this.ring(x, y, 2 + phase * 7, palette.tone[toneOf(this.state.nodes.status.get(node))], 2, 0.5 * (1 - phase) ** 2);
    }
    if (node === look.selected) this.ring(x, y, 4, palette.accent, 3, 1);
    else if (found) this.ring(x, y, 4, palette.accent, 1.5, 1);
    else if (node === look.hovered) this.ring(x, y, 4, palette.lineStrong, 1.5, 1);
  }

  private ring(x: number, y: number, reach: number, colour: string, width: number, alpha: number): void {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.roundRect(x - reach, y - CARD_HEIGHT / 2 - reach, CARD_WIDTH + 2 * reach, CARD_HEIGHT + 2 * reach, RADIUS + reach);
    context.stroke();
    context.globalAlpha = 1;
  }

  private paintBlock({ entry, x, y }: Placed, zoom: number): void {
    const height = Math.max(heightOf(entry), 1.5 / zoom);
    this.context.fillStyle = this.colourOf(entry);
    this.context.fillRect(x, y - height / 2, CARD_WIDTH, height);
  }

  private colourOf(entry: number | Placeholder): string {
    return typeof entry === 'number' ? this.palette.tone[this.state.nodes.tone(entry)] : this.palette.line;
  }

  /** At a small zoom only selected and found nodes have a title, in a readable size. */
  private paintNames(scene: Scene, camera: Camera, ratio: number, look: DrawOptions): void {
    const { context, palette } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = palette.fonts.line;
    let lastBottom = -Infinity;
    const named = scene.cards.filter(({ entry }) => typeof entry === 'number' && this.isNamed(entry, look));
    for (const { entry, x, y } of named.sort((a, b) => a.y - b.y)) {
      const node = entry as number;
      const [left, middle] = [camera.screenX(x), camera.screenY(y)];
      if (node === look.selected) this.frame(left, middle, camera.zoom);
      if (middle - 7 < lastBottom) continue;
      lastBottom = middle + 7;
      const text = this.cards.name(node);
      context.globalAlpha = 0.85;
      context.fillStyle = palette.paper;
      context.fillRect(left, middle - 7, context.measureText(text).width + 6, 14);
      context.globalAlpha = 1;
      context.fillStyle = this.colourOf(node);
      context.fillText(text, left + 3, middle + 4);
    }
  }

  private frame(left: number, middle: number, zoom: number): void {
    const height = CARD_HEIGHT * zoom;
    this.context.strokeStyle = this.palette.accent;
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 2, middle - height / 2 - 2, CARD_WIDTH * zoom + 4, height + 4);
  }

  private isNamed(node: number, look: DrawOptions): boolean {
    const tone = this.state.nodes.tone(node);
    return node === look.selected || look.found.has(node) || ['active', 'failed', 'blocked', 'partial'].includes(tone);
  }
}

function isDimmed(entry: number | Placeholder, look: DrawOptions): boolean {
  return look.critical !== null && (typeof entry !== 'number' || !look.critical.has(entry)) && entry !== look.selected;
}
