// Draws cards: one rounded shape for everything. The border says whether a node still plans or already works, the colour its
// status; a letter, a sign and a word say the same without colour. A card is drawn at the origin of any
// context, and depends only on what its key contains.

import { NONE } from '../model/nodes';
import type { State } from '../model/state';
import { isTentative, type Tone } from '../model/statuses';
import type { Entry, Placeholder, Folding } from './folding';
import { TextFitter, foldedParts, signOf, statusParts, stubLine } from './labels';
import { CARD_HEIGHT, CARD_WIDTH, STUB_HEIGHT } from './dimensions';
import type { Palette } from './palette';

const RADIUS = 9;
const TITLE_X = 32;
/** A folded card looks like a stack: the cards below are offset by this much. */
export const STACK_OFFSET = 6;

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export class Cards {
  private readonly titles: TextFitter;
  private readonly shortTitles: TextFitter;
  private readonly lines: TextFitter;

  constructor(
    private readonly measuring: CanvasRenderingContext2D,
    private state: State,
    private readonly folding: Folding,
    public palette: Palette,
  ) {
    this.titles = this.fitter(palette.fonts.title, CARD_WIDTH - TITLE_X - 10);
    this.shortTitles = this.fitter(palette.fonts.pill, CARD_WIDTH - 58);
    this.lines = this.fitter(palette.fonts.line, CARD_WIDTH - TITLE_X - 34);
  }

  reset(state: State): void {
    this.state = state;
  }

  /** Cards with equal keys look the same. */
  key(entry: Entry, near: boolean, now: number): string {
    if (typeof entry !== 'number') return entry.kind === 'stub' ? stubLine(this.state, entry) : entry.title;
    const { nodes } = this.state;
    const shape = `${nodes.look(entry)} ${signOf(this.state, entry)} ${nodes.role.get(entry)} ${this.folding.isFolded(entry)} ${nodes.failed.get(entry) > 0}`;
    return near ? `${shape} ${this.line(entry, now)}` : shape;
  }

  /** Draws the card with its upper left corner at the origin. */
  draw(context: Context, entry: Entry, near: boolean, now: number): void {
    if (typeof entry !== 'number') this.drawPlaceholder(context, entry, near);
    else if (near) this.drawCard(context, entry, now);
    else this.drawPill(context, entry);
  }

  /** One line of text beside a card that is too small for text of its own. */
  name(node: number): string {
    return this.lines.fit(`${signOf(this.state, node)} ${this.state.nodes.title.get(node)}`.trim());
  }

  private drawCard(context: Context, node: number, now: number): void {
    const { palette } = this;
    const { nodes } = this.state;
    const status = nodes.status.get(node);
    const tone = nodes.tone(node);
    this.drawStack(context, node, tone);
    this.drawShape(context, CARD_HEIGHT, palette.soft[tone], palette.tone[tone], isTentative(status) ? [5, 4] : null);
    this.drawBadge(context, node, tone);
    context.fillStyle = palette.ink;
    context.font = palette.fonts.title;
    context.fillText(this.titles.fit(nodes.title.get(node)), TITLE_X, 20);
    context.fillStyle = palette.tone[tone];
    context.font = palette.fonts.line;
    context.fillText(this.line(node, now), TITLE_X, 37);
    if (nodes.parent.get(node) !== NONE) this.drawBand(context, nodes.band.get(node));
  }

  private drawPill(context: Context, node: number): void {
    const { palette } = this;
    const { nodes } = this.state;
    const [tone, sign] = [nodes.tone(node), signOf(this.state, node)];
    const line = CARD_HEIGHT / 2 + 7;
    this.drawStack(context, node, tone);
    this.drawShape(context, CARD_HEIGHT, palette.soft[tone], palette.tone[tone], isTentative(nodes.status.get(node)) ? [6, 5] : null, 2.5);
    context.font = palette.fonts.pill;
    context.fillStyle = palette.tone[tone];
    context.fillText(this.letter(node), 11, line);
    if (sign) context.fillText(sign, CARD_WIDTH - 24, line);
    context.fillStyle = palette.ink;
    context.fillText(this.shortTitles.fit(nodes.title.get(node)), 31, line);
  }

  private drawPlaceholder(context: Context, placeholder: Placeholder, near: boolean): void {
    const { palette } = this;
    const ghost = placeholder.kind === 'ghost';
    const height = ghost ? CARD_HEIGHT : STUB_HEIGHT;
    this.drawShape(context, height, ghost ? null : palette.surface, palette.lineStrong, ghost ? [1.5, 4] : null, 1.25);
    context.fillStyle = palette.inkSoft;
    if (!ghost) {
      context.font = palette.fonts.line;
      context.fillText(this.lines.fit(stubLine(this.state, placeholder)), 12, height / 2 + 4);
      return;
    }
    context.font = palette.fonts.title;
    context.fillText(this.titles.fit(placeholder.title), TITLE_X - 18, near ? 20 : height / 2 + 4);
    if (!near) return;
    context.font = palette.fonts.line;
    context.fillText('planned', TITLE_X - 18, 37);
    this.drawBand(context, placeholder.band);
  }

  private drawShape(context: Context, height: number, fill: string | null, stroke: string, dash: number[] | null, width = 1.5): void {
    context.beginPath();
    context.roundRect(0, 0, CARD_WIDTH, height, RADIUS);
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

  /** A folded card shows at its edge that something inside failed. */
  private drawStack(context: Context, node: number, tone: Tone): void {
    if (!this.folding.isFolded(node)) return;
    const { palette } = this;
    context.strokeStyle = palette.tone[this.state.nodes.failed.get(node) > 0 ? 'failed' : tone];
    context.lineWidth = 1.25;
    context.fillStyle = palette.surface;
    for (const inset of [STACK_OFFSET, STACK_OFFSET / 2]) {
      context.beginPath();
      context.roundRect(inset, inset, CARD_WIDTH, CARD_HEIGHT, RADIUS);
      context.fill();
      context.stroke();
    }
  }

  private drawBadge(context: Context, node: number, tone: Tone): void {
    const { palette } = this;
    context.fillStyle = palette.tone[tone];
    context.beginPath();
    context.arc(17, 16, 8.5, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = palette.surface;
    context.font = palette.fonts.badge;
    context.fillText(this.letter(node), 13.5, 20);
  }

  private drawBand(context: Context, band: number): void {
    const text = `b${band + 1}`;
    context.fillStyle = this.palette.inkSoft;
    context.font = this.palette.fonts.band;
    context.fillText(text, CARD_WIDTH - 10 - text.length * 5.6, 37);
  }

  private letter(node: number): string {
    return this.state.nodes.role.get(node) === 0 ? 'P' : 'E';
  }

  private line(node: number, now: number): string {
    const parts = this.folding.isFolded(node) ? foldedParts(this.state, node, now) : statusParts(this.state, node, now);
    return this.lines.fitParts(parts);
  }

  private fitter(font: string, most: number): TextFitter {
    const width = (text: string) => {
      this.measuring.font = font;
      return this.measuring.measureText(text).width;
    };
    return new TextFitter(width, most);
  }
}
