// Draws a scene on a canvas. One rounded shape for everything; its border says whether a node still thinks or already
// works, its colour what it is doing, and a letter, a sign and a word say the same to those who see no colour.

import { NONE } from '../model/nodes';
import type { State } from '../model/state';
import { isTentative, type Mood, moodOf } from '../model/words';
import type { Camera } from './camera';
import type { Extra, Folding } from './folding';
import { Cutter, foldedParts, SIGN, statusParts, stubLine } from './labels';
import { CARD_HEIGHT, CARD_WIDTH, COLUMN, STUB_HEIGHT } from './measures';
import type { Palette } from './palette';
import { detailAt, type Placed, pulses, type Scene } from './scene';

const RADIUS = 9;
const TITLE_X = 32;
const PULSE_MS = 1600;

export interface Look {
  selected: number;
  hovered: number;
  /** Nodes a search found. */
  found: ReadonlySet<number>;
  /** The pulse stands still for those who asked for less motion. */
  still: boolean;
  /** Milliseconds, for the pulse; and the time of the run, for durations. */
  tick: number;
  now: number;
}

export class Painter {
  private readonly titles: Cutter;
  private readonly shortTitles: Cutter;
  private readonly lines: Cutter;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private state: State,
    private readonly folding: Folding,
    public palette: Palette,
  ) {
    this.titles = this.cutter(this.palette.fonts.title, CARD_WIDTH - TITLE_X - 10);
    this.shortTitles = this.cutter(this.palette.fonts.pill, CARD_WIDTH - 58);
    this.lines = this.cutter(this.palette.fonts.line, CARD_WIDTH - TITLE_X - 34);
  }

  startOver(state: State): void {
    this.state = state;
  }

  paint(scene: Scene, camera: Camera, ratio: number, look: Look): void {
    const { context, palette } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.paper;
    context.fillRect(0, 0, camera.width, camera.height);
    const scale = ratio * camera.zoom;
    context.setTransform(scale, 0, 0, scale, ratio * camera.screenX(0), ratio * camera.screenY(0));
    this.paintEdges(scene, camera.zoom);
    for (const bar of scene.bars) {
      context.fillStyle = palette.mood[bar.mood];
      context.fillRect(bar.x, bar.top, CARD_WIDTH, bar.bottom - bar.top);
    }
    const detail = detailAt(camera.zoom);
    for (const placed of scene.cards) {
      if (typeof placed.entry !== 'number') this.paintExtra(placed, placed.entry, camera.zoom);
      else if (detail === 'card') this.paintCard(placed, placed.entry, look);
      else if (detail === 'pill') this.paintPill(placed, placed.entry, look);
      else this.paintBlock(placed, placed.entry, camera.zoom);
    }
    if (detail === 'block' || detail === 'bar') this.paintNames(scene, camera, ratio, look);
  }

  private paintEdges(scene: Scene, zoom: number): void {
    const { context, palette } = this;
    context.lineWidth = Math.max(1.25, 1 / zoom);
    context.strokeStyle = palette.lineStrong;
    context.globalAlpha = 0.5;
    this.strokeEdges(scene.edges, zoom);
    if (scene.plannedEdges.length > 0) {
      context.setLineDash([2, 4]);
      this.strokeEdges(scene.plannedEdges, zoom);
      context.setLineDash([]);
    }
    context.globalAlpha = 1;
  }

  private strokeEdges(edges: readonly number[], zoom: number): void {
    const { context } = this;
    const bend = (COLUMN - CARD_WIDTH) / 2;
    context.beginPath();
    for (let at = 0; at < edges.length; at += 4) {
      const [x, y, toX, toY] = [edges[at], edges[at + 1], edges[at + 2], edges[at + 3]];
      context.moveTo(x, y);
      if (zoom < 0.12 || y === toY) context.lineTo(toX, toY);
      else context.bezierCurveTo(x + bend, y, toX - bend, toY, toX, toY);
    }
    context.stroke();
  }

  private paintCard({ x, y }: Placed, node: number, look: Look): void {
    const { context, palette } = this;
    const { nodes } = this.state;
    const status = nodes.status.get(node);
    const mood = moodOf(status);
    const top = y - CARD_HEIGHT / 2;
    const folded = this.folding.isFolded(node);
    this.paintPulse(x, top, node, mood, look);
    if (folded) this.paintStack(x, top, nodes.failed.get(node) > 0 ? 'failed' : mood);
    this.paintRing(x, top, CARD_HEIGHT, node, look);
    this.shape(x, top, CARD_HEIGHT, palette.soft[mood], palette.mood[mood], isTentative(status) ? [5, 4] : null);
    this.paintBadge(x + 17, top + 16, node, mood);
    context.fillStyle = palette.ink;
    context.font = this.palette.fonts.title;
    context.fillText(this.titles.fit(nodes.title.get(node)), x + TITLE_X, top + 20);
    context.fillStyle = palette.mood[mood];
    context.font = this.palette.fonts.line;
    const parts = folded ? foldedParts(this.state, node, look.now) : statusParts(this.state, node, look.now);
    context.fillText(this.lines.fitParts(parts), x + TITLE_X, top + 37);
    if (nodes.parent.get(node) !== NONE) this.paintBand(x, top, nodes.band.get(node));
  }

  private paintPill({ x, y }: Placed, node: number, look: Look): void {
    const { context, palette } = this;
    const status = this.state.nodes.status.get(node);
    const mood = moodOf(status);
    const top = y - CARD_HEIGHT / 2;
    this.paintPulse(x, top, node, mood, look);
    if (this.folding.isFolded(node)) this.paintStack(x, top, this.state.nodes.failed.get(node) > 0 ? 'failed' : mood);
    this.paintRing(x, top, CARD_HEIGHT, node, look);
    this.shape(x, top, CARD_HEIGHT, palette.soft[mood], palette.mood[mood], isTentative(status) ? [6, 5] : null, 2.5);
    context.font = this.palette.fonts.pill;
    context.fillStyle = palette.mood[mood];
    context.fillText(this.letter(node), x + 11, y + 7);
    if (SIGN[status]) context.fillText(SIGN[status], x + CARD_WIDTH - 24, y + 7);
    context.fillStyle = palette.ink;
    context.fillText(this.shortTitles.fit(this.state.nodes.title.get(node)), x + 31, y + 7);
  }

  private paintBlock({ x, y }: Placed, node: number, zoom: number): void {
    const { context, palette } = this;
    const mood = moodOf(this.state.nodes.status.get(node));
    const height = Math.max(CARD_HEIGHT, 1.5 / zoom);
    context.fillStyle = palette.mood[mood];
    context.fillRect(x, y - height / 2, CARD_WIDTH, height);
  }

  /** From afar only what someone looks for has a name, at a size that can be read. */
  private paintNames(scene: Scene, camera: Camera, ratio: number, look: Look): void {
    const { context, palette } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = this.palette.fonts.line;
    let lastBottom = -Infinity;
    const named = scene.cards.filter(({ entry }) => typeof entry === 'number' && this.isNamed(entry, look));
    for (const { entry, x, y } of named.sort((a, b) => a.y - b.y)) {
      const node = entry as number;
      const [left, middle] = [camera.screenX(x), camera.screenY(y)];
      if (node === look.selected) {
        context.strokeStyle = palette.accent;
        context.lineWidth = 2;
        context.strokeRect(left - 2, middle - (CARD_HEIGHT * camera.zoom) / 2 - 2, CARD_WIDTH * camera.zoom + 4, CARD_HEIGHT * camera.zoom + 4);
      }
      if (middle - 7 < lastBottom) continue;
      lastBottom = middle + 7;
      const text = this.lines.fit(`${SIGN[this.state.nodes.status.get(node)]} ${this.state.nodes.title.get(node)}`.trim());
      context.fillStyle = palette.paper;
      context.globalAlpha = 0.85;
      context.fillRect(left, middle - 7, context.measureText(text).width + 6, 14);
      context.globalAlpha = 1;
      context.fillStyle = palette.mood[moodOf(this.state.nodes.status.get(node))];
      context.fillText(text, left + 3, middle + 4);
    }
  }

  private isNamed(node: number, look: Look): boolean {
    const mood = moodOf(this.state.nodes.status.get(node));
    return node === look.selected || look.found.has(node) || mood === 'active' || mood === 'failed' || mood === 'blocked';
  }

  private paintExtra({ x, y }: Placed, extra: Extra, zoom: number): void {
    const { context, palette } = this;
    const height = extra.kind === 'stub' ? STUB_HEIGHT : CARD_HEIGHT;
    const top = y - height / 2;
    if (zoom < 0.35) {
      context.fillStyle = palette.line;
      context.fillRect(x, top, CARD_WIDTH, height);
      return;
    }
    const ghost = extra.kind === 'ghost';
    this.shape(x, top, height, ghost ? null : palette.surface, palette.lineStrong, ghost ? [1.5, 4] : null, 1.25);
    context.fillStyle = palette.inkSoft;
    if (!ghost) {
      context.font = this.palette.fonts.line;
      context.fillText(this.lines.fit(stubLine(this.state, extra)), x + 12, y + 4);
      return;
    }
    context.font = this.palette.fonts.title;
    context.fillText(this.titles.fit(extra.title), x + TITLE_X - 18, zoom < 0.7 ? y + 4 : top + 20);
    if (zoom < 0.7) return;
    context.font = this.palette.fonts.line;
    context.fillText('planned', x + TITLE_X - 18, top + 37);
    this.paintBand(x, top, extra.band);
  }

  private shape(x: number, top: number, height: number, fill: string | null, stroke: string, dash: number[] | null, width = 1.5): void {
    const { context } = this;
    context.beginPath();
    context.roundRect(x, top, CARD_WIDTH, height, RADIUS);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    context.strokeStyle = stroke;
    context.lineWidth = width;
    if (dash) context.setLineDash(dash);
    context.stroke();
    if (dash) context.setLineDash([]);
  }

  /** A folded card is the top one of a pile. */
  private paintStack(x: number, top: number, mood: Mood): void {
    const { context, palette } = this;
    context.strokeStyle = palette.mood[mood];
    context.lineWidth = 1.25;
    for (const inset of [6, 3]) {
      context.beginPath();
      context.roundRect(x + inset, top + inset, CARD_WIDTH, CARD_HEIGHT, RADIUS);
      context.fillStyle = palette.surface;
      context.fill();
      context.stroke();
    }
  }

  private paintRing(x: number, top: number, height: number, node: number, look: Look): void {
    const { context, palette } = this;
    const found = look.found.has(node);
    if (node !== look.selected && node !== look.hovered && !found) return;
    context.strokeStyle = node === look.selected || found ? palette.accent : palette.lineStrong;
    context.lineWidth = node === look.selected ? 3 : 1.5;
    context.beginPath();
    context.roundRect(x - 4, top - 4, CARD_WIDTH + 8, height + 8, RADIUS + 4);
    context.stroke();
  }

  private paintPulse(x: number, top: number, node: number, mood: Mood, look: Look): void {
    if (look.still || !pulses(this.state, node)) return;
    const { context, palette } = this;
    const phase = (look.tick % PULSE_MS) / PULSE_MS;
    const reach = 2 + phase * 7;
    context.globalAlpha = 0.5 * (1 - phase) ** 2;
    context.strokeStyle = palette.mood[mood];
    context.lineWidth = 2;
    context.beginPath();
    context.roundRect(x - reach, top - reach, CARD_WIDTH + 2 * reach, CARD_HEIGHT + 2 * reach, RADIUS + reach);
    context.stroke();
    context.globalAlpha = 1;
  }

  private paintBadge(x: number, y: number, node: number, mood: Mood): void {
    const { context, palette } = this;
    context.fillStyle = palette.mood[mood];
    context.beginPath();
    context.arc(x, y, 8.5, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = palette.surface;
    context.font = this.palette.fonts.badge;
    const letter = this.letter(node);
    context.fillText(letter, x - (letter === 'P' ? 3.4 : 3.5), y + 4);
  }

  private paintBand(x: number, top: number, band: number): void {
    const { context, palette } = this;
    const text = `b${band + 1}`;
    context.fillStyle = palette.inkSoft;
    context.font = this.palette.fonts.band;
    context.fillText(text, x + CARD_WIDTH - 10 - text.length * 5.6, top + 37);
  }

  private letter(node: number): string {
    return this.state.nodes.role.get(node) === 0 ? 'P' : 'E';
  }

  private cutter(font: string, most: number): Cutter {
    const width = (text: string) => {
      this.context.font = font;
      return this.context.measureText(text).width;
    };
    return new Cutter(width, most);
  }
}
