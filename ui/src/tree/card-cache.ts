// A cache of drawn cards. Text is the most expensive thing to draw on a canvas; an unchanged card is copied instead.
// While the zoom changes, pictures of another zoom are stretched; when it stays they are drawn again, a few per frame.

import type { Cards } from './cards';
import { STACK_OFFSET } from './cards';
import type { Entry } from './folding';
import { CARD_HEIGHT, CARD_WIDTH } from './dimensions';

/** Room for borders at the left and top, for the pile of a folded card at the right and bottom. */
const EDGE = 2;
const MOST = 240;
/** Changed cards that are drawn again in one frame; the others follow a few frames later, which nobody sees. */
const RENEWED = 2;
/** Cards seen for the first time that get a picture in one frame; the others are drawn directly until their turn comes. */
const MADE = 6;
/** A picture is not stretched further than this: one that comes late looks better. */
const STRETCH = 1.7;

interface CachedCard {
  key: string;
  /** The second in which the key was last compared. Durations change every second. */
  second: number;
  picture: ImageBitmap;
  /** The zoom it was made for. */
  scale: number;
  used: number;
}

export class CardCache {
  private readonly prints = new Map<Entry, CachedCard>();
  private scale = 0;
  private near = true;
  private settled = false;
  private turn = 0;
  private second = 0;
  private renewed = 0;
  private made = 0;
  private readonly table = new OffscreenCanvas(1, 1);

  constructor(private readonly cards: Cards) {}

  begin(scale: number, near: boolean, now: number): void {
    this.turn++;
    this.renewed = this.made = 0;
    this.second = Math.floor(now / 1000);
    this.settled = scale === this.scale;
    if (this.prints.size > MOST) this.forgetUnused();
    if (near !== this.near) this.clear();
    [this.scale, this.near] = [scale, near];
  }

  /** Whether some cards are out of date or have no picture yet. */
  get late(): boolean {
    return !this.settled || this.renewed >= RENEWED || this.made >= MADE;
  }

  clear(): void {
    for (const print of this.prints.values()) print.picture.close();
    this.prints.clear();
  }

  /** A node changed: compare its key again. */
  invalidate(node: number): void {
    const print = this.prints.get(node);
    if (print !== undefined) print.second = -1;
  }

  /** Copies the picture of a card to a point of the screen, in device pixels. */
  put(context: CanvasRenderingContext2D, entry: Entry, now: number, x: number, y: number): void {
    let print = this.prints.get(entry);
    if (print === undefined || print.second !== this.second || typeof entry !== 'number' || this.isWorn(print)) print = this.renew(entry, print, now);
    if (print === undefined) return this.drawDirectly(context, entry, now, x, y);
    print.used = this.turn;
    const [left, top] = [x - EDGE * this.scale, y - EDGE * this.scale];
    const stretch = this.scale / print.scale;
    // Whole pixels: a picture between pixels would be blurred, and cost more.
    if (stretch === 1) context.drawImage(print.picture, Math.round(left), Math.round(top));
    else context.drawImage(print.picture, left, top, print.picture.width * stretch, print.picture.height * stretch);
  }

  private isWorn(print: CachedCard): boolean {
    const stretch = this.scale / print.scale;
    return this.settled ? stretch !== 1 : stretch > STRETCH || stretch < 1 / STRETCH;
  }

  private renew(entry: Entry, print: CachedCard | undefined, now: number): CachedCard | undefined {
    if (print === undefined && this.made >= MADE) return undefined;
    const key = this.cards.key(entry, this.near, now);
    if (print !== undefined) {
      if (print.key === key) print.second = this.second;
      if ((print.key === key && !this.isWorn(print)) || this.renewed >= RENEWED) return print;
      this.renewed++;
      print.picture.close();
    } else {
      this.made++;
    }
    const fresh = { key, second: this.second, picture: this.make(entry, now), scale: this.scale, used: this.turn };
    this.prints.set(entry, fresh);
    return fresh;
  }

  private make(entry: Entry, now: number): ImageBitmap {
    const { table, scale } = this;
    table.width = Math.ceil((CARD_WIDTH + 2 * EDGE + STACK_OFFSET) * scale);
    table.height = Math.ceil((CARD_HEIGHT + 2 * EDGE + STACK_OFFSET) * scale);
    const context = table.getContext('2d')!;
    context.setTransform(scale, 0, 0, scale, EDGE * scale, EDGE * scale);
    this.cards.draw(context, entry, this.near, now);
    return table.transferToImageBitmap();
  }

  private drawDirectly(context: CanvasRenderingContext2D, entry: Entry, now: number, x: number, y: number): void {
    context.setTransform(this.scale, 0, 0, this.scale, x, y);
    this.cards.draw(context, entry, this.near, now);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  private forgetUnused(): void {
    for (const [entry, print] of this.prints) {
      if (print.used >= this.turn - 1) continue;
      print.picture.close();
      this.prints.delete(entry);
    }
  }
}
