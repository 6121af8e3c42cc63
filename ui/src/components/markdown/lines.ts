// Recognises what a line of markdown begins: a heading, a fence, a list item and so on. Each function reads its line once.

import { indentOf, isBlank, isDigit, isSpace, runOf, stripped } from './characters';

/** A mark that is indented further than this is text. */
const MAX_INDENT = 3;
const MAX_LANGUAGE = 40;
const MAX_COLUMNS = 200;

interface Fence {
  mark: string;
  length: number;
  language: string;
}

export function fenceOf(line: string): Fence | null {
  const indent = indentOf(line);
  const mark = line[indent];
  if (indent > MAX_INDENT || (mark !== '`' && mark !== '~')) return null;
  const length = runOf(line, indent, mark);
  if (length < 3) return null;
  const info = stripped(line.slice(indent + length, indent + length + MAX_LANGUAGE));
  // Text with a backtick after the mark is code inside a line.
  if (mark === '`' && line.includes('`', indent + length)) return null;
  const space = info.indexOf(' ');
  return { mark, length, language: space < 0 ? info : info.slice(0, space) };
}

export function closesFence(line: string, fence: Fence): boolean {
  const indent = indentOf(line);
  return runOf(line, indent, fence.mark) >= fence.length && isBlank(line.slice(indent + runOf(line, indent, fence.mark)));
}

export function headingOf(line: string): { level: number; text: string } | null {
  const indent = indentOf(line);
  const level = runOf(line, indent, '#');
  if (indent > MAX_INDENT || level === 0 || level > 6) return null;
  const after = indent + level;
  if (after < line.length && !isSpace(line[after])) return null;
  const text = stripped(line.slice(after));
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  // A space separates closing marks from the text.
  return { level, text: end === 0 || isSpace(text[end - 1]) ? stripped(text.slice(0, end)) : text };
}

export function isRule(line: string): boolean {
  const indent = indentOf(line);
  const mark = line[indent];
  if (indent > MAX_INDENT || (mark !== '-' && mark !== '*' && mark !== '_')) return false;
  let marks = 0;
  for (let at = indent; at < line.length; at += 1) {
    if (line[at] === mark) marks += 1;
    else if (!isSpace(line[at])) return false;
  }
  return marks >= 3;
}

/** The level of the heading that this line makes of the lines above it, or 0. */
export function underlineOf(line: string): 0 | 1 | 2 {
  const indent = indentOf(line);
  const mark = line[indent];
  if (indent > MAX_INDENT || (mark !== '=' && mark !== '-')) return 0;
  if (!isBlank(line.slice(indent + runOf(line, indent, mark)))) return 0;
  return mark === '=' ? 1 : 2;
}

export function isQuote(line: string): boolean {
  const indent = indentOf(line);
  return indent <= MAX_INDENT && line[indent] === '>';
}

/** The line without its quotation mark `>`. */
export function unquoted(line: string): string {
  const after = indentOf(line) + 1;
  return line.slice(line[after] === ' ' ? after + 1 : after);
}

export interface Bullet {
  indent: number;
  /** Its number, or null for a bullet. */
  number: number | null;
  /** How far the lines that belong to it are indented. */
  inside: number;
  text: string;
}

export function bulletOf(line: string): Bullet | null {
  const indent = indentOf(line);
  let at = indent;
  let number: number | null = null;
  if (isDigit(line[at])) {
    while (at - indent < 9 && isDigit(line[at])) at += 1;
    number = Number(line.slice(indent, at));
    if (line[at] !== '.' && line[at] !== ')') return null;
  } else if (line[at] !== '-' && line[at] !== '*' && line[at] !== '+') return null;
  at += 1;
  if (at < line.length && !isSpace(line[at])) return null;
  const spaces = runOf(line, at, ' ');
  return { indent, number, inside: Math.min(at + Math.max(1, spaces), indent + 8), text: line.slice(at + spaces) };
}

/** A list may follow a paragraph without an empty line, but a number other than one is more likely the end of a sentence. */
export function bulletInterrupts(line: string): boolean {
  const bullet = bulletOf(line);
  return bullet !== null && bullet.indent <= MAX_INDENT && (bullet.number === null || bullet.number === 1) && bullet.text !== '';
}

export const beginsList = (bullet: Bullet | null): bullet is Bullet => bullet !== null && bullet.indent <= MAX_INDENT;

/** The cells of a table row; a bar after a backslash is part of its cell. */
export function cellsOf(line: string): string[] {
  const row = stripped(line);
  const cells: string[] = [];
  let cell = '';
  let start = row[0] === '|' ? 1 : 0;
  for (let at = start; at < row.length; at += 1) {
    if (row[at] === '\\' && row[at + 1] === '|') {
      cell += row.slice(start, at) + '|';
      start = at + 2;
      at += 1;
    } else if (row[at] === '|') {
      cells.push(stripped(cell + row.slice(start, at)));
      cell = '';
      start = at + 1;
    }
  }
  if (start < row.length || cell !== '') cells.push(stripped(cell + row.slice(start)));
  return cells;
}

export type Align = 'left' | 'right' | 'center' | null;

/** The columns of the line between a table's head and its rows, or null if it is not such a line. */
export function columnsOf(line: string | undefined): Align[] | null {
  if (line === undefined || !line.includes('-')) return null;
  const columns: Align[] = [];
  for (const cell of cellsOf(line)) {
    const left = cell.startsWith(':');
    const right = cell.length > 1 && cell.endsWith(':');
    const dashes = cell.slice(left ? 1 : 0, right ? -1 : undefined);
    if (dashes === '' || runOf(dashes, 0, '-') !== dashes.length) return null;
    columns.push(left && right ? 'center' : right ? 'right' : left ? 'left' : null);
  }
  return columns.length > 0 && columns.length <= MAX_COLUMNS ? columns : null;
}

export function beginsTable(line: string, next: string | undefined): boolean {
  return next !== undefined && line.includes('|') && next.includes('|') && columnsOf(next)?.length === cellsOf(line).length;
}
