// The state of parsing one text: how many elements it has, the definitions of links and notes, and the inline text that waits until all definitions are known.

import type { Block, Note } from './blocks';
import type { Inline, References } from './inline';
import { safeHref } from './links';

/** A page with more elements than this is slow to lay out. */
const MAX_BLOCKS = 20_000;
const MAX_INLINES = 40_000;
const MAX_DEFINITIONS = 1_000;
/** The address of a definition is repeated at every use. All uses together may have this many characters. */
const MAX_REPEATED = 200_000;

export class ParseContext implements References {
  private blocksLeft = MAX_BLOCKS;
  private inlinesLeft = MAX_INLINES;
  private repeatedLeft = MAX_REPEATED;
  private readonly links = new Map<string, { href: string | null }>();
  private readonly noteBlocks = new Map<string, Block[]>();
  private readonly noteNumbers = new Map<string, number>();
  private readonly waiting: { into: Inline[]; text: string }[] = [];

  get full(): boolean {
    return this.blocksLeft <= 0;
  }

  /** Counts a block, an item or a row; false when the limit is reached. */
  countBlock(): boolean {
    this.blocksLeft -= 1;
    return !this.full;
  }

  /** Counts an inline element; false when the limit is reached. */
  countInline(): boolean {
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

  /** Parses all waiting inline text, now that every definition is known. */
  parseWaiting(read: (text: string, references: References) => Inline[]): void {
    for (const { into, text } of this.waiting) for (const part of read(text, this)) into.push(part);
  }

  /** Adds a definition. False when there are too many or the name is taken; the line is then ordinary text. */
  defineLink(label: string, address: string): boolean {
    if (this.links.has(label) || this.links.size >= MAX_DEFINITIONS) return false;
    this.links.set(label, { href: safeHref(address) });
    return true;
  }

  defineNote(label: string, inside: () => Block[]): boolean {
    if (this.noteBlocks.has(label) || this.noteBlocks.size >= MAX_DEFINITIONS) return false;
    // The name is reserved before the note is parsed, so that a note within it cannot take the name.
    this.noteBlocks.set(label, []);
    this.noteBlocks.set(label, inside());
    return true;
  }

  link(label: string): { href: string | null } | null {
    const found = this.links.get(label) ?? null;
    if (!found) return null;
    this.repeatedLeft -= found.href?.length ?? 0;
    return this.repeatedLeft < 0 ? null : found;
  }

  noteNumber(label: string): number | null {
    if (!this.noteBlocks.has(label)) return null;
    const number = this.noteNumbers.get(label) ?? this.noteNumbers.size + 1;
    this.noteNumbers.set(label, number);
    return number;
  }

  /** Every note; those that nothing refers to come last. */
  notes(): Note[] {
    for (const label of this.noteBlocks.keys()) this.noteNumber(label);
    return [...this.noteNumbers].map(([label, number]) => ({ number, inside: this.noteBlocks.get(label) ?? [] }));
  }
}
