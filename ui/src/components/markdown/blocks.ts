// Parses the blocks of markdown into data. It knows only what models write in reports and scratchpads, and nothing that runs. Each line is read once for
// each level it is nested in, and everything that is made from the text has a limit.

import { inlines, type Inline } from './inline';
import { beginsList, beginsTable, bulletInterrupts, bulletOf, cellsOf, closesFence, columnsOf, fenceOf, headingOf, isQuote, isRule, underlineOf, unquoted, type Align, type Bullet } from './lines';
import { definitionOf } from './links';
import { ParseContext } from './parse-context';
import { indentOf, isBlank, isSpace, stripped, unixLines } from './characters';

export type Block =
  | { kind: 'heading'; level: number; inside: Inline[] }
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; inside: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Item[] }
  | { kind: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' }
  /** Footnotes, in the order in which the text refers to them. */
  | { kind: 'notes'; items: Note[] };

interface Item {
  /** The checkbox of a task: checked, unchecked, or none. */
  checked: boolean | null;
  inside: Block[];
}

export interface Note {
  number: number;
  inside: Block[];
}

interface Parsed {
  blocks: Block[];
  /** How many characters of the text were parsed; the page shows the rest as plain text. */
  shown: number;
  of: number;
}

/** At most this much is parsed as markdown: about sixty pages. */
export const MAX_CHARACTERS = 200_000;
const MAX_NESTING = 8;

export const blocks = (markdown: string): Block[] => parse(markdown).blocks;

export function parse(markdown: string): Parsed {
  const begin = markdown.length > MAX_CHARACTERS ? markdown.slice(0, cutAt(markdown)) : markdown;
  const lines = begin === '' ? [] : unixLines(begin).replaceAll('\t', '    ').split('\n');
  const context = new ParseContext();
  const parser = new Parser(context);
  const found = parser.blocks(lines, 0);
  context.parseWaiting(inlines);
  const notes = context.notes();
  if (notes.length > 0) found.push({ kind: 'notes', items: notes });
  return { blocks: found, shown: parser.full === null ? begin.length : endOfLine(begin, parser.full), of: markdown.length };
}

/** Cuts at the end of a line if one is near, and never within a character. */
function cutAt(markdown: string): number {
  const line = markdown.lastIndexOf('\n', MAX_CHARACTERS - 1) + 1;
  if (line > MAX_CHARACTERS / 2) return line;
  const last = markdown.charCodeAt(MAX_CHARACTERS - 1);
  return last >= 0xd800 && last < 0xdc00 ? MAX_CHARACTERS - 1 : MAX_CHARACTERS;
}

/** How many characters the first lines take in the text as it was written. */
function endOfLine(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines && at < text.length; line += 1) {
    while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
    at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

interface Found {
  block: Block | null;
  end: number;
}

class Parser {
  /** The outermost line at which a limit was reached, or null. */
  full: number | null = null;

  constructor(private readonly context: ParseContext) {}

  blocks(lines: readonly string[], depth: number): Block[] {
    const out: Block[] = [];
    let at = 0;
    while (at < lines.length) {
      if (isBlank(lines[at] as string)) {
        at += 1;
        continue;
      }
      const found = this.context.countBlock() ? this.block(lines, at, depth) : { block: null, end: at };
      if (found.block) out.push(found.block);
      if (this.context.full) {
        // Part of this block may be parsed already, so the rest that is shown as plain text begins with it.
        if (depth === 0) this.full = at;
        return out;
      }
      at = found.end;
    }
    return out;
  }

  private block(lines: readonly string[], at: number, depth: number): Found {
    const line = lines[at] as string;
    if (depth >= MAX_NESTING) return this.paragraph(lines, at);
    const heading = headingOf(line);
    if (heading) return { block: { kind: 'heading', level: heading.level, inside: this.context.inline(heading.text) }, end: at + 1 };
    if (isRule(line)) return { block: { kind: 'rule' }, end: at + 1 };
    if (isQuote(line)) return this.quote(lines, at, depth);
    const bullet = bulletOf(line);
    if (beginsList(bullet)) return this.list(lines, at, depth, bullet);
    if (beginsTable(line, lines[at + 1])) return this.table(lines, at);
    return this.fence(lines, at) ?? this.definition(lines, at, depth) ?? this.paragraph(lines, at);
  }

  private fence(lines: readonly string[], at: number): Found | null {
    const fence = fenceOf(lines[at] as string);
    if (!fence) return null;
    let end = at + 1;
    while (end < lines.length && !closesFence(lines[end] as string, fence)) end += 1;
    return { block: { kind: 'code', language: fence.language, text: lines.slice(at + 1, end).join('\n') }, end: end + 1 };
  }

  private quote(lines: readonly string[], at: number, depth: number): Found {
    let end = at;
    while (end < lines.length && isQuote(lines[end] as string)) end += 1;
    return { block: { kind: 'quote', inside: this.blocks(lines.slice(at, end).map(unquoted), depth + 1) }, end };
  }

  private list(lines: readonly string[], at: number, depth: number, first: Bullet): Found {
    const ordered = first.number !== null;
    const items: Item[] = [];
    let end = at;
    while (end < lines.length && this.context.countBlock()) {
      const bullet = bulletOf(lines[end] as string);
      if (!beginsList(bullet) || (bullet.number !== null) !== ordered) break;
      const inside = [bullet.text];
      end += 1;
      while (end < lines.length && continues(lines, end, bullet.inside)) {
        const line = lines[end] as string;
        inside.push(line.slice(Math.min(indentOf(line), bullet.inside)));
        end += 1;
      }
      items.push(this.item(inside, depth));
    }
    return { block: { kind: 'list', ordered, start: first.number ?? 1, items }, end };
  }

  private item(lines: string[], depth: number): Item {
    const first = lines[0] as string;
    const mark = first[0] === '[' && first[2] === ']' && isSpace(first[3]) ? first[1] : undefined;
    const task = mark === ' ' || mark === 'x' || mark === 'X';
    if (task) lines[0] = stripped(first.slice(3));
    return { checked: task ? mark !== ' ' : null, inside: this.blocks(lines, depth + 1) };
  }

  private table(lines: readonly string[], at: number): Found {
    const align = columnsOf(lines[at + 1]) ?? [];
    const head = cellsOf(lines[at] as string).map((cell) => this.context.inline(cell));
    const rows: Inline[][][] = [];
    let end = at + 2;
    while (end < lines.length && (lines[end] as string).includes('|') && this.context.countBlock()) {
      rows.push(
        cellsOf(lines[end] as string)
          .slice(0, head.length)
          .map((cell) => this.context.inline(cell)),
      );
      end += 1;
    }
    return { block: { kind: 'table', align, head, rows }, end };
  }

  /** A definition makes no block: it gives the address of a link or the text of a note. */
  private definition(lines: readonly string[], at: number, depth: number): Found | null {
    const found = definitionOf(lines[at] as string);
    if (!found) return null;
    if (!found.note) return this.context.defineLink(found.label, found.text) ? { block: null, end: at + 1 } : null;
    let end = at + 1;
    const inside = [found.text];
    while (end < lines.length && (indentOf(lines[end] as string) >= 2 || (isBlank(lines[end] as string) && indentOf(lines[end + 1] ?? '') >= 2))) {
      const line = lines[end] as string;
      inside.push(line.slice(Math.min(indentOf(line), 4)));
      end += 1;
    }
    return this.context.defineNote(found.label, () => this.blocks(inside, depth + 1)) ? { block: null, end } : null;
  }

  private paragraph(lines: readonly string[], at: number): Found {
    let end = at + 1;
    while (end < lines.length && underlineOf(lines[end] as string) === 0 && !interrupts(lines, end)) end += 1;
    // A line of dashes below a paragraph makes it a heading; elsewhere it is a rule.
    const level = end < lines.length ? underlineOf(lines[end] as string) : 0;
    if (level > 0) return { block: { kind: 'heading', level, inside: this.context.inline(joined(lines, at, end)) }, end: end + 1 };
    return { block: { kind: 'paragraph', inside: this.context.inline(joined(lines, at, end)) }, end };
  }
}

const joined = (lines: readonly string[], at: number, end: number): string =>
  lines
    .slice(at, end)
    .map((line) => line.slice(indentOf(line)))
    .join('\n');

/** Whether a line still belongs to the list item above it. */
function continues(lines: readonly string[], at: number, inside: number): boolean {
  const line = lines[at] as string;
  const indent = indentOf(line);
  const least = Math.min(inside, 2);
  if (isBlank(line)) {
    const next = lines[at + 1];
    return next !== undefined && !isBlank(next) && indentOf(next) >= least;
  }
  if (bulletOf(line)) return indent >= 2;
  if (indent >= least) return true;
  return !isBlank(lines[at - 1] as string) && !fenceOf(line) && !headingOf(line) && !isRule(line) && !line.startsWith('>');
}

function interrupts(lines: readonly string[], at: number): boolean {
  const line = lines[at] as string;
  return isBlank(line) || fenceOf(line) !== null || headingOf(line) !== null || isRule(line) || isQuote(line) || bulletInterrupts(line) || beginsTable(line, lines[at + 1]);
}
