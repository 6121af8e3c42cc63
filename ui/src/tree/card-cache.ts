// A cache of drawn cards. Text is the most expensive thing to draw on a canvas; an unchanged card is copied instead.
// While the zoom changes, pictures of another zoom are stretched; when it stays they are drawn again, a few per frame.

import type { Cards } from './cards';
import { STACK_OFFSET } from './cards';
import type { Entry } from './folding';
import { CARD_HEIGHT, CARD_WIDTH } from './dimensions';

/** Margin for borders, on all sides. */
const EDGE = 2;
/** Above this number, cards that the last frame did not use are dropped. */
const MAX_CACHED_CARDS = 240;
/** Changed cards that are drawn again in one frame; the others follow a few frames later, which nobody sees. */
const MAX_REDRAWS_PER_FRAME = 2;
/** Cards seen for the first time that get a picture in one frame; the others are drawn directly until their frame comes. */
const MAX_NEW_PER_FRAME = 6;
/** The largest zoom ratio at which an old picture is stretched; beyond it the card is drawn again while the zoom still changes. */
const MAX_STRETCH = 1.7;

interface CachedCard {
  key: string;
  /** The second in which the key was last compared. Durations change every second. */
  second: number;
  picture: ImageBitmap;
  /** The zoom it was made for. */
  scale: number;
  lastUsedFrame: number;
}

export class CardCache {
  private readonly cached = new Map<Entry, CachedCard>();
  private scale = 0;
  private near = true;
  private settled = false;
  private frame = 0;
  private second = 0;
  private redrawn = 0;
  private added = 0;
  private readonly scratchCanvas = new OffscreenCanvas(1, 1);

  constructor(private readonly cards: Cards) {}

  begin(scale: number, near: boolean, now: number): void {
    this.frame++;
    this.redrawn = this.added = 0;
    this.second = Math.floor(now / 1000);
    this.settled = scale === this.scale;
    if (this.cached.size > MAX_CACHED_CARDS) this.forgetUnused();
    if (near !== this.near) this.clear();
    [this.scale, this.near] = [scale, near];
  }

  /** Whether some cards are out of date or have no picture yet. */
  get late(): boolean {
    return !this.settled || this.redrawn >= MAX_REDRAWS_PER_FRAME || this.added >= MAX_NEW_PER_FRAME;
  }

  clear(): void {
    for (const card of this.cached.values()) card.picture.close();
    this.cached.clear();
  }

  /** A node changed: compare its key again. */
  invalidate(node: number): void {
    const card = this.cached.get(node);
    if (card !== undefined) card.second = -1;
  }

  /** Copies the picture of a card to a point of the screen, in device pixels. */
  put(context: CanvasRenderingContext2D, entry: Entry, now: number, x: number, y: number): void {
    let card = this.cached.get(entry);
    if (card === undefined || card.second !== this.second || typeof entry !== 'number' || this.needsOtherScale(card)) card = this.refresh(entry, card, now);
    if (card === undefined) return this.drawDirectly(context, entry, now, x, y);
    card.lastUsedFrame = this.frame;
    const [left, top] = [x - EDGE * this.scale, y - EDGE * this.scale];
    const stretch = this.scale / card.scale;
    // Whole pixels: a picture between pixels would be blurred, and cost more.
    if (stretch === 1) context.drawImage(card.picture, Math.round(left), Math.round(top));
    else context.drawImage(card.picture, left, top, card.picture.width * stretch, card.picture.height * stretch);
  }

  private needsOtherScale(card: CachedCard): boolean {
    const stretch = this.scale / card.scale;
    return this.settled ? stretch !== 1 : stretch > MAX_STRETCH || stretch < 1 / MAX_STRETCH;
  }

  private refresh(entry: Entry, card: CachedCard | undefined, now: number): CachedCard | undefined {
    if (card === undefined && this.added >= MAX_NEW_PER_FRAME) return undefined;
    const key = this.cards.key(entry, this.near, now);
    if (card !== undefined) {
      if (card.key === key) card.second = this.second;
      if ((card.key === key && !this.needsOtherScale(card)) || this.redrawn >= MAX_REDRAWS_PER_FRAME) return card;
      this.redrawn++;
      card.picture.close();
    } else {
      this.added++;
    }
    const fresh = { key, second: this.second, picture: this.make(entry, now), scale: this.scale, lastUsedFrame: this.frame };
    this.cached.set(entry, fresh);
    return fresh;
  }

  private make(entry: Entry, now: number): ImageBitmap {
    const { scratchCanvas, scale } = this;
    scratchCanvas.width = Math.ceil((CARD_WIDTH + 2 * EDGE + STACK_OFFSET) * scale);
    scratchCanvas.height = Math.ceil((CARD_HEIGHT + 2 * EDGE + STACK_OFFSET) * scale);
    const context = scratchCanvas.getContext('2d')!;
    context.setTransform(scale, 0, 0, scale, EDGE * scale, EDGE * scale);
    this.cards.draw(context, entry, this.near, now);
    return scratchCanvas.transferToImageBitmap();
  }

  private drawDirectly(context: CanvasRenderingContext2D, entry: Entry, now: number, x: number, y: number): void {
    context.setTransform(this.scale, 0, 0, this.scale, x, y);
    this.cards.draw(context, entry, this.near, now);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  private forgetUnused(): void {
    for (const [entry, card] of this.cached) {
      if (card.lastUsedFrame >= this.frame - 1) continue;
      card.picture.close();
      this.cached.delete(entry);
    }
  }
}
