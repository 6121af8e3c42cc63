// Addresses: which ones may be followed, where an address ends inside a text, and the definitions that links refer to.

import { entityAt } from './entities';
import { isPunctuation, isSpace, stripped } from './characters';

/** Longer labels and addresses are text: nobody reads them, and each would be looked at many times. */
const MAX_ADDRESS = 2_000;
const MAX_LABEL = 200;
const MAX_TITLE = 300;
const MAX_PARENTHESES = 8;
const SCHEMES = ['https://', 'http://', 'mailto:'];

/** An address that may be followed, or null. Only these schemes; never javascript:, data: or a path of this server. */
export function safeHref(raw: string): string | null {
  if (raw.length > MAX_ADDRESS) return null;
  // Browsers drop control characters before they read the scheme, so they are dropped here first.
  const href = Array.from(raw)
    .filter((char) => char > ' ' && char !== '\u007f')
    .join('');
  const start = href.slice(0, 8).toLowerCase();
  if (!SCHEMES.some((scheme) => start.startsWith(scheme))) return null;
  try {
    return new URL(href).href;
  } catch {
    return null;
  }
}

interface Destination {
  address: string;
  end: number;
}

/** Parses the parentheses of a link; `at` is the opening one. */
export function destinationAt(text: string, at: number): Destination | null {
  const most = Math.min(text.length, at + MAX_ADDRESS);
  const found = addressAt(text, afterSpaces(text, at + 1, most), most);
  if (!found) return null;
  let end = afterSpaces(text, found.end, most);
  if (text[end] !== ')') {
    if (end === found.end) return null;
    const title = titleEnd(text, end, most);
    if (title < 0) return null;
    end = afterSpaces(text, title, most);
  }
  return text[end] === ')' ? { address: found.address, end: end + 1 } : null;
}

function afterSpaces(text: string, at: number, most: number): number {
  let end = at;
  while (end < most && isSpace(text[end])) end += 1;
  return end;
}

/** An address in angle brackets, or one whose parentheses are balanced. */
function addressAt(text: string, at: number, most: number): Destination | null {
  if (text[at] === '<') {
    for (let end = at + 1; end < most; end += 1) {
      if (text[end] === '>') return { address: literal(text.slice(at + 1, end)), end: end + 1 };
      if (text[end] === '\n' || text[end] === '<') return null;
      if (text[end] === '\\') end += 1;
    }
    return null;
  }
  let open = 0;
  let end = at;
  for (; end < most && !isSpace(text[end]); end += 1) {
    if (text[end] === '\\' && isPunctuation(text[end + 1])) end += 1;
    else if (text[end] === '(' && ++open > MAX_PARENTHESES) return null;
    else if (text[end] === ')' && --open < 0) break;
  }
  return open > 0 ? null : { address: literal(text.slice(at, end)), end };
}

const QUOTES: Record<string, string> = { '"': '"', "'": "'", '(': ')' };

/** Where a title ends; titles are not shown. */
function titleEnd(text: string, at: number, most: number): number {
  const close = QUOTES[text[at] ?? ''];
  if (close === undefined) return -1;
  for (let end = at + 1; end < Math.min(most, at + MAX_TITLE); end += 1) {
    if (text[end] === '\\') end += 1;
    else if (text[end] === close) return end + 1;
  }
  return -1;
}

/** Replaces escapes and entities by their characters. */
function literal(text: string): string {
  if (!text.includes('\\') && !text.includes('&')) return text;
  let out = '';
  for (let at = 0; at < text.length; at += 1) {
    const entity = text[at] === '&' ? entityAt(text, at) : null;
    if (entity) {
      out += entity.text;
      at = entity.end - 1;
    } else if (text[at] === '\\' && isPunctuation(text[at + 1])) {
      out += text[at + 1];
      at += 1;
    } else out += text[at];
  }
  return out;
}

/** The normalised name of a definition, or null if the label cannot be one. */
export function labelOf(text: string): string | null {
  if (text.length > MAX_LABEL) return null;
  let out = '';
  for (const char of stripped(text)) out += isSpace(char) ? (out.endsWith(' ') ? '' : ' ') : char;
  return out === '' ? null : out.toLowerCase();
}

interface Definition {
  label: string;
  note: boolean;
  /** The address, or the first line of a note. */
  text: string;
}

/** `[label]: address` or `[^label]: words`. */
export function definitionOf(line: string): Definition | null {
  let at = 0;
  while (at < 3 && line[at] === ' ') at += 1;
  if (line[at] !== '[') return null;
  const note = line[at + 1] === '^';
  const start = at + (note ? 2 : 1);
  let end = start;
  while (end < line.length && end - start <= MAX_LABEL && line[end] !== ']' && line[end] !== '[') end += line[end] === '\\' ? 2 : 1;
  const label = line[end] === ']' && line[end + 1] === ':' ? labelOf(line.slice(start, end)) : null;
  if (label === null) return null;
  const rest = end + 2;
  if (note) return { label, note, text: stripped(line.slice(rest)) };
  const most = Math.min(line.length, rest + MAX_ADDRESS);
  const found = addressAt(line, afterSpaces(line, rest, most), most);
  if (!found || found.address === '') return null;
  let after = afterSpaces(line, found.end, most);
  if (after < line.length && after > found.end) {
    const title = titleEnd(line, after, most);
    if (title < 0) return null;
    after = afterSpaces(line, title, most);
  }
  return after === line.length ? { label, note, text: found.address } : null;
}

const ENDS = new Set(['<', '>', '"', '`', '[', ']', '|', '\\']);
const TRAILING = new Set([...".,;:!?*_~'"]);

/** Where an address in plain text ends, or `at` if there is none. Text that is too long for an address is skipped as a whole. */
export function bareAddressEnd(text: string, at: number): { end: number; past: number } {
  const scheme = SCHEMES.slice(0, 2).find((one) => text.startsWith(one, at));
  if (scheme === undefined) return { end: at, past: at };
  let past = at + scheme.length;
  let open = 0;
  while (past < text.length && !isSpace(text[past]) && !ENDS.has(text[past] as string)) {
    open += text[past] === '(' ? 1 : text[past] === ')' ? -1 : 0;
    past += 1;
  }
  let end = past;
  // An unbalanced closing parenthesis belongs to the sentence, not to the address.
  while (end > at && (TRAILING.has(text[end - 1] as string) || (text[end - 1] === ')' && open < 0))) {
    if (text[end - 1] === ')') open += 1;
    end -= 1;
  }
  return { end: end - at > MAX_ADDRESS || end <= at + scheme.length ? at : end, past };
}
