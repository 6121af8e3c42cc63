// Finished pictures of faces. Writing is the dearest thing a canvas does; a face that has not changed is copied instead of drawn again.
// A print belongs to one zoom: while the zoom changes, faces are drawn directly.

import type { Faces } from './faces';
import { PILE } from './faces';
import type { Entry } from './folding';
import { CARD_HEIGHT, CARD_WIDTH } from './measures';

/** Room for borders at the left and top, for the pile of a folded card at the right and bottom. */
const EDGE = 2;
const MOST = 240;
/** Changed faces made anew in one frame; the others are a few frames late, which nobody sees. */
const RENEWED = 3;

interface Print {
  key: string;
  /** The second in which the key was last looked at: durations change. */
  second: number;
  picture: ImageBitmap;
  used: number;
}

export class Prints {
  private readonly prints = new Map<Entry, Print>();
  private scale = 0;
  private turn = 0;
  private second = 0;
  private renewed = 0;
  private readonly table = new OffscreenCanvas(1, 1);

  constructor(private readonly faces: Faces) {}

  /** A new frame. Returns whether prints of this scale are worth making: only when it stays. */
  begin(scale: number, now: number): boolean {
    this.turn++;
    this.renewed = 0;
    this.second = Math.floor(now / 1000);
    if (this.prints.size > MOST) this.forgetUnused();
    if (scale === this.scale) return true;
    this.clear();
    this.scale = scale;
    return false;
  }

  /** Some faces are older than what they show. */
  get late(): boolean {
    return this.renewed >= RENEWED;
  }

  clear(): void {
    for (const print of this.prints.values()) print.picture.close();
    this.prints.clear();
  }

  /** Something about a node changed: look at its key again. */
  doubt(node: number): void {
    const print = this.prints.get(node);
    if (print !== undefined) print.second = -1;
  }

  /** Put the face of a card at a point of the screen, in device pixels. */
  put(context: CanvasRenderingContext2D, entry: Entry, near: boolean, now: number, x: number, y: number): void {
    let print = this.prints.get(entry);
    if (print === undefined || print.second !== this.second || typeof entry !== 'number') print = this.renew(entry, print, near, now);
    print.used = this.turn;
    // Whole pixels: a picture between them would be blurred, and cost more.
    context.drawImage(print.picture, Math.round(x - EDGE * this.scale), Math.round(y - EDGE * this.scale));
  }

  private renew(entry: Entry, print: Print | undefined, near: boolean, now: number): Print {
    const key = this.faces.key(entry, near, now);
    if (print !== undefined && print.key === key) print.second = this.second;
    if (print !== undefined && (print.key === key || this.renewed >= RENEWED)) return print;
    if (print !== undefined) this.renewed++;
    print?.picture.close();
    const fresh = { key, second: this.second, picture: this.make(entry, near, now), used: this.turn };
    this.prints.set(entry, fresh);
    return fresh;
  }

  private make(entry: Entry, near: boolean, now: number): ImageBitmap {
    const { table, scale } = this;
    table.width = Math.ceil((CARD_WIDTH + 2 * EDGE + PILE) * scale);
    table.height = Math.ceil((CARD_HEIGHT + 2 * EDGE + PILE) * scale);
    const context = table.getContext('2d')!;
    context.setTransform(scale, 0, 0, scale, EDGE * scale, EDGE * scale);
    this.faces.draw(context, entry, near, now);
    return table.transferToImageBitmap();
  }

  private forgetUnused(): void {
    for (const [entry, print] of this.prints) {
      if (print.used >= this.turn - 1) continue;
      print.picture.close();
      this.prints.delete(entry);
    }
  }
}
