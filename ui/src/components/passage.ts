// Finds a quoted passage in the text of an element and shows it. A quote is the source of a document, and what is on the page is its
// rendering, so only letters and digits are compared. The quote is text: it is searched for and never becomes part of the page.

import { parse, type Block } from './markdown/blocks';
import type { Inline } from './markdown/inline';

/** The name of the highlight in `CSS.highlights`. */
export const HIGHLIGHT = 'quote';

/** In letters: a shorter part of a quote may stand anywhere. */
const LEAST_PART = 8;

const isCompared = (char: string): boolean => /[\p{L}\p{N}]/u.test(char);
const compared = (text: string): string => [...text.toLowerCase()].filter(isCompared).join('');

/** The passage as a range of the element's text; null when it is not there. */
export function findPassage(element: Node, quote: string): Range | null {
  const text = new ComparedText(element);
  for (const sought of variants(quote)) {
    const at = sought === '' ? -1 : text.letters.indexOf(sought);
    if (at >= 0) return text.range(at, at + sought.length);
  }
  return null;
}

/** Marks the passage and scrolls to it. Returns whether it is there. */
export function showPassage(element: Element, quote: string): boolean {
  const range = findPassage(element, quote);
  clearPassage();
  if (range === null) return false;
  if (typeof Highlight === 'function') CSS.highlights.set(HIGHLIGHT, new Highlight(range));
  else getSelection()?.setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
  range.startContainer.parentElement?.scrollIntoView({ block: 'center' });
  return true;
}

export function clearPassage(): void {
  if (typeof Highlight === 'function') CSS.highlights.delete(HIGHLIGHT);
}

/** The letters of an element's text, and the place of each. */
class ComparedText {
  readonly letters: string;
  private readonly places: { node: Text; offset: number; length: number }[] = [];

  constructor(element: Node) {
    const found: string[] = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode() as Text | null; node !== null; node = walker.nextNode() as Text | null) {
      let offset = 0;
      for (const char of node.data) {
        for (const letter of compared(char)) {
          found.push(letter);
          for (let unit = 0; unit < letter.length; unit += 1) this.places.push({ node, offset, length: char.length });
        }
        offset += char.length;
      }
    }
    this.letters = found.join('');
  }

  range(from: number, to: number): Range {
    const [first, last] = [this.places[from]!, this.places[to - 1]!];
    const range = document.createRange();
    range.setStart(first.node, first.offset);
    range.setEnd(last.node, last.offset + last.length);
    return range;
  }
}

/** The words of each line. A line is read alone, because a quote may begin in the middle of a list or a table. */
const linesOf = (quote: string): string[] => quote.split('\n').map((line) => plain(parse(line).blocks));

/** A quote for people: its words without the marks of its source. */
export function readableQuote(quote: string): string {
  const cells = (line: string): string =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '')
      .join(' · ');
  return linesOf(quote)
    .filter((line) => compared(line) !== '')
    .map(cells)
    .join('\n');
}

/** What to look for, best first: all of it, all but its first line (which may be the title), one line of it, and the source itself. */
function variants(quote: string): string[] {
  const lines = linesOf(quote)
    .map(compared)
    .filter((line) => line !== '');
  const parts = [lines.slice(1).join(''), compared(quote), ...lines].filter((part) => part.length >= LEAST_PART);
  return [lines.join(''), ...parts];
}

function plain(blocks: Block[]): string {
  const words = (parts: Inline[]): string => parts.map((part) => ('inside' in part ? words(part.inside) : 'text' in part ? part.text : '')).join('');
  return blocks
    .map((block) => {
      if (block.kind === 'heading' || block.kind === 'paragraph') return words(block.inside);
      if (block.kind === 'code') return block.text;
      if (block.kind === 'quote') return plain(block.inside);
      if (block.kind === 'list') return block.items.map((item) => plain(item.inside)).join(' ');
      return block.kind === 'table' ? [block.head, ...block.rows].flat().map(words).join(' ') : '';
    })
    .join(' ');
}
