// Finished pictures of faces. Writing is the dearest thing a canvas does; a face that has not changed is copied instead of drawn again.
// A print belongs to one zoom: while the zoom changes, faces are drawn directly.

import type { Faces } from './faces';
import { PILE } from './faces';
import type { Entry } from './folding';
import { CARD_HEIGHT, CARD_WIDTH } from './measures';

/** Room for borders at the left and top, for the pile of a folded card at the right and bottom. */
const EDGE = 2;
const MOST = 240;

interface Print {
  key: string;
  picture: ImageBitmap;
  used: number;
}

export class Prints {
  private readonly prints = new Map<Entry, Print>();
  private scale = 0;
  private turn = 0;
  private readonly table = new OffscreenCanvas(1, 1);

  constructor(private readonly faces: Faces) {}

  /** A new frame. Returns whether prints of this scale are worth making: only when it stays. */
  begin(scale: number): boolean {
    this.turn++;
    if (this.prints.size > MOST) this.forgetUnused();
    if (scale === this.scale) return true;
    this.clear();
    this.scale = scale;
    return false;
  }

  clear(): void {
    for (const print of this.prints.values()) print.picture.close();
    this.prints.clear();
  }

  /** Put the face of a card at a point of the screen, in device pixels. */
  put(context: CanvasRenderingContext2D, entry: Entry, near: boolean, now: number, x: number, y: number): void {
    const key = this.faces.key(entry, near, now);
    let print = this.prints.get(entry);
    if (print === undefined || print.key !== key) {
      print?.picture.close();
      print = { key, picture: this.make(entry, near, now), used: this.turn };
      this.prints.set(entry, print);
    }
    print.used = this.turn;
    // Whole pixels: a picture between them would be blurred, and cost more.
    context.drawImage(print.picture, Math.round(x - EDGE * this.scale), Math.round(y - EDGE * this.scale));
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
