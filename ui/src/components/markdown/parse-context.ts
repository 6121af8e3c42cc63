// The state of parsing one text: how many elements it has, the definitions of links and notes, and the inline text that waits until all definitions are known.

import type { Block, Note } from './blocks';
import type { Inline, References } from './inline';
import { safeHref } from './links';

/** A page with more elements than this is slow to lay out. */
const MOST_BLOCKS = 20_000;
const MOST_INLINES = 40_000;
const MOST_DEFINITIONS = 1_000;
/** The address of a definition is repeated at every use. All uses together may have this many characters. */
const MOST_REPEATED = 200_000;

export class ParseContext implements References {
  private blocksLeft = MOST_BLOCKS;
  private inlinesLeft = MOST_INLINES;
  private repeated = MOST_REPEATED;
  private readonly links = new Map<string, { href: string | null }>();
  private readonly written = new Map<string, Block[]>();
  private readonly numbers = new Map<string, number>();
  private readonly waiting: { into: Inline[]; text: string }[] = [];

  get full(): boolean {
    return this.blocksLeft <= 0;
  }

  /** Counts a block, an item or a row; false when the limit is reached. */
  capacityForBlock(): boolean {
    this.blocksLeft -= 1;
    return !this.full;
  }

  room(): boolean {
    this.inlinesLeft -= 1;
    return this.inlinesLeft > 0;
  }

  /** Inline text that is parsed when every definition is known. */
  inline(text: string): Inline[] {
    const into: Inline[] = [];
    this.blocksLeft -= 1;
    this.waiting.push({ into, text });
    return into;
  }

  fill(read: (text: string, references: References) => Inline[]): void {
    for (const { into, text } of this.waiting) for (const part of read(text, this)) into.push(part);
  }

  /** Adds a definition. False when there are too many or the name is taken; the line is then ordinary text. */
  define(label: string, address: string): boolean {
    if (this.links.has(label) || this.links.size >= MOST_DEFINITIONS) return false;
    this.links.set(label, { href: safeHref(address) });
    return true;
  }

  annotate(label: string, inside: () => Block[]): boolean {
    if (this.written.has(label) || this.written.size >= MOST_DEFINITIONS) return false;
    // The name is reserved before the note is parsed, so that a note within it cannot take the name.
    this.written.set(label, []);
    this.written.set(label, inside());
    return true;
  }

  link(label: string): { href: string | null } | null {
    const found = this.links.get(label) ?? null;
    if (!found) return null;
    this.repeated -= found.href?.length ?? 0;
    return this.repeated < 0 ? null : found;
  }

  note(label: string): number | null {
    if (!this.written.has(label)) return null;
    const number = this.numbers.get(label) ?? this.numbers.size + 1;
    this.numbers.set(label, number);
    return number;
  }

  /** Every note; those that nothing refers to come last. */
  notes(): Note[] {
    for (const label of this.written.keys()) this.note(label);
    return [...this.numbers].map(([label, number]) => ({ number, inside: this.written.get(label) ?? [] }));
  }
}
