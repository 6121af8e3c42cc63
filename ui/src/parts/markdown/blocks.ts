// Markdown by blocks, as data. Small on purpose: what models write in reports and scratchpads, and nothing that runs.

import { inlines, type Inline } from './inline';

export type Block =
  | { kind: 'heading'; level: number; inside: Inline[] }
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; inside: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Item[] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

export interface Item {
  /** A task's box: checked, unchecked, or none. */
  checked: boolean | null;
  inside: Block[];
}

const MAX_NESTING = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const BULLET = /^( *)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

export function blocks(markdown: string, depth = 0): Block[] {
  const lines = markdown.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n');
  const out: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === '') {
      at += 1;
      continue;
    }
    const read = depth < MAX_NESTING ? (fence(lines, at) ?? heading(lines, at) ?? rule(lines, at) ?? quote(lines, at, depth) ?? list(lines, at, depth) ?? table(lines, at)) : null;
    const found = read ?? paragraph(lines, at);
    out.push(found.block);
    at = found.end;
  }
  return out;
}

interface Found {
  block: Block;
  end: number;
}

function fence(lines: string[], at: number): Found | null {
  const open = FENCE.exec(lines[at] as string);
  if (!open) return null;
  const mark = open[1] as string;
  let end = at + 1;
  while (end < lines.length && !(lines[end] as string).trimStart().startsWith(mark)) end += 1;
  return { block: { kind: 'code', language: open[2] ?? '', text: lines.slice(at + 1, end).join('\n') }, end: end + 1 };
}

function heading(lines: string[], at: number): Found | null {
  const found = HEADING.exec(lines[at] as string);
  return found ? { block: { kind: 'heading', level: (found[1] as string).length, inside: inlines(found[2] ?? '') }, end: at + 1 } : null;
}

function rule(lines: string[], at: number): Found | null {
  return RULE.test(lines[at] as string) ? { block: { kind: 'rule' }, end: at + 1 } : null;
}

function quote(lines: string[], at: number, depth: number): Found | null {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end] as string)) end += 1;
  if (end === at) return null;
  const inside = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ''));
  return { block: { kind: 'quote', inside: blocks(inside.join('\n'), depth + 1) }, end };
}

function list(lines: string[], at: number, depth: number): Found | null {
  const first = BULLET.exec(lines[at] as string);
  if (!first || (first[1] as string).length > 3) return null;
  const ordered = /\d/.test(first[2] as string);
  const items: Item[] = [];
  let end = at;
  while (end < lines.length) {
    const bullet = BULLET.exec(lines[end] as string);
    if (!bullet || (bullet[1] as string).length > 3 || /\d/.test(bullet[2] as string) !== ordered) break;
    const indent = Math.min((bullet[1] as string).length + (bullet[2] as string).length + Math.max(1, (bullet[3] as string).length), 8);
    const inside = [bullet[4] ?? ''];
    end += 1;
    while (end < lines.length && continues(lines, end, indent)) {
      inside.push((lines[end] as string).replace(new RegExp(`^ {0,${indent}}`), ''));
      end += 1;
    }
    items.push(item(inside, depth));
  }
  return { block: { kind: 'list', ordered, start: Number.parseInt(first[2] as string, 10) || 1, items }, end };
}

/** Whether a line still belongs to the list item above it. */
function continues(lines: string[], at: number, indent: number): boolean {
  const line = lines[at] as string;
  const space = line.length - line.trimStart().length;
  if (line.trim() === '') {
    const next = lines[at + 1];
    return next !== undefined && next.trim() !== '' && next.length - next.trimStart().length >= Math.min(indent, 2);
  }
  if (BULLET.test(line)) return space >= 2;
  if (space >= Math.min(indent, 2)) return true;
  return (lines[at - 1] as string).trim() !== '' && !FENCE.test(line) && !HEADING.test(line) && !RULE.test(line) && !line.startsWith('>');
}

function item(lines: string[], depth: number): Item {
  const task = /^\[([ xX])\]\s+/.exec(lines[0] as string);
  if (task) lines[0] = (lines[0] as string).slice(task[0].length);
  return { checked: task ? task[1] !== ' ' : null, inside: blocks(lines.join('\n'), depth + 1) };
}

function table(lines: string[], at: number): Found | null {
  const line = lines[at] as string;
  if (!line.includes('|') || !TABLE_RULE.test(lines[at + 1] ?? '')) return null;
  let end = at + 2;
  while (end < lines.length && (lines[end] as string).includes('|')) end += 1;
  const head = cells(line);
  const rows = lines.slice(at + 2, end).map((row) => cells(row).slice(0, head.length));
  return { block: { kind: 'table', head, rows }, end };
}

function cells(line: string): Inline[][] {
  const inside = line.trim().replace(/^\||\|$/g, '');
  return inside.split(/(?<!\\)\|/).map((cell) => inlines(cell.trim().replaceAll('\\|', '|')));
}

function paragraph(lines: string[], at: number): Found {
  let end = at + 1;
  while (end < lines.length && !interrupts(lines[end] as string)) end += 1;
  const text = lines.slice(at, end).map((line) => line.replace(/^ +/, ''));
  return { block: { kind: 'paragraph', inside: inlines(text.join('\n')) }, end };
}

function interrupts(line: string): boolean {
  return line.trim() === '' || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || /^ {0,3}>/.test(line) || /^ {0,3}([-*+]|1[.)])\s/.test(line);
}
