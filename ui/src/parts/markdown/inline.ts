// Markdown inside a line, as data. Nothing here is ever turned into HTML text: the page builds elements from it.

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'strong'; inside: Inline[] }
  | { kind: 'em'; inside: Inline[] }
  | { kind: 'del'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] }
  /** Never loaded: an image's address can carry away what the model has read. */
  | { kind: 'image'; href: string | null; alt: string };

const MAX_NESTING = 8;
const PUNCTUATION = /[\\`*_{}[\]()#+\-.!~|<>"'&:;,/?@$%^=]/;

/** An address that may be followed, or null. Only these schemes; never javascript:, data: or a path of this server. */
export function safeHref(raw: string): string | null {
  // Browsers drop control characters before they read the scheme, so they are dropped here first.
  const href = Array.from(raw).filter((char) => char > ' ' && char !== '\u007f').join('');
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return null;
  try {
    return new URL(href).href;
  } catch {
    return null;
  }
}

export function inlines(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  let plain = '';
  let at = 0;
  const flush = (): void => {
    if (plain !== '') out.push({ kind: 'text', text: plain });
    plain = '';
  };
  while (at < text.length) {
    const found = depth < MAX_NESTING ? special(text, at, depth) : null;
    if (found === null) {
      plain += text[at];
      at += 1;
    } else if (typeof found.node === 'string') {
      plain += found.node;
      at = found.end;
    } else {
      flush();
      out.push(found.node);
      at = found.end;
    }
  }
  flush();
  return out;
}

interface Found {
  /** A string is plain text, such as an escaped character. */
  node: Inline | string;
  end: number;
}

function special(text: string, at: number, depth: number): Found | null {
  switch (text[at]) {
    case '\\':
      return escaped(text, at);
    case '`':
      return code(text, at);
    case '*':
    case '_':
      return emphasis(text, at, depth);
    case '~':
      return text.startsWith('~~', at) ? wrapped(text, at, '~~', 'del', depth) : null;
    case '!':
      return text[at + 1] === '[' ? link(text, at + 1, depth, true) : null;
    case '[':
      return link(text, at, depth, false);
    case '<':
      return angled(text, at);
    case 'h':
      return bare(text, at);
    case '\n':
      return newline(text, at);
    default:
      return null;
  }
}

function escaped(text: string, at: number): Found | null {
  const next = text[at + 1];
  if (next === '\n') return { node: { kind: 'break' }, end: at + 2 };
  return next !== undefined && PUNCTUATION.test(next) ? { node: next, end: at + 2 } : null;
}

function newline(text: string, at: number): Found {
  const hard = text[at - 1] === ' ' && text[at - 2] === ' ';
  return { node: hard ? { kind: 'break' } : ' ', end: at + 1 };
}

function code(text: string, at: number): Found {
  const ticks = /^`+/.exec(text.slice(at, at + 20))?.[0] ?? '`';
  const end = text.indexOf(ticks, at + ticks.length);
  if (end < 0) return { node: ticks, end: at + ticks.length };
  const inside = text.slice(at + ticks.length, end).replaceAll('\n', ' ');
  return { node: { kind: 'code', text: inside.length > 2 ? inside.replace(/^ (.*) $/, '$1') : inside }, end: end + ticks.length };
}

function emphasis(text: string, at: number, depth: number): Found | null {
  const mark = text[at] as string;
  // snake_case is a word, not emphasis.
  if (mark === '_' && /\w/.test(text[at - 1] ?? '')) return null;
  const double = mark + mark;
  if (text.startsWith(double, at)) return wrapped(text, at, double, 'strong', depth);
  return wrapped(text, at, mark, 'em', depth);
}

function wrapped(text: string, at: number, mark: string, kind: 'strong' | 'em' | 'del', depth: number): Found | null {
  const start = at + mark.length;
  if (/\s|^$/.test(text[start] ?? '')) return null;
  let end = text.indexOf(mark, start + 1);
  // A single star must not end inside a double one.
  while (mark.length === 1 && end > 0 && text[end + 1] === mark) end = text.indexOf(mark, end + 2);
  if (end < 0 || /\s/.test(text[end - 1] ?? '')) return null;
  if (mark[0] === '_' && /\w/.test(text[end + mark.length] ?? '')) return null;
  return { node: { kind, inside: inlines(text.slice(start, end), depth + 1) }, end: end + mark.length };
}

function link(text: string, at: number, depth: number, image: boolean): Found | null {
  const close = closing(text, at);
  if (close < 0 || text[close + 1] !== '(') return null;
  const end = text.indexOf(')', close + 2);
  if (end < 0 || end - close > 2_000) return null;
  const label = text.slice(at + 1, close);
  const address = text.slice(close + 2, end).trim().split(/\s+["']/)[0] ?? '';
  const href = safeHref(address.replace(/^<|>$/g, ''));
  if (image) return { node: { kind: 'image', href, alt: label }, end: end + 1 };
  const inside = inlines(label, depth + 1);
  if (href === null) return { node: { kind: 'em', inside }, end: end + 1 };
  return { node: { kind: 'link', href, inside }, end: end + 1 };
}

/** The bracket that closes the one at `at`, within a reasonable label. */
function closing(text: string, at: number): number {
  let open = 0;
  for (let i = at; i < Math.min(text.length, at + 1_000); i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '[') open += 1;
    else if (text[i] === ']' && --open === 0) return i;
  }
  return -1;
}

function angled(text: string, at: number): Found | null {
  const end = text.indexOf('>', at);
  if (end < 0 || end - at > 2_000) return null;
  const href = safeHref(text.slice(at + 1, end));
  return href === null ? null : { node: { kind: 'link', href, inside: [{ kind: 'text', text: text.slice(at + 1, end) }] }, end: end + 1 };
}

function bare(text: string, at: number): Found | null {
  if (/\w/.test(text[at - 1] ?? '')) return null;
  const found = /^https?:\/\/[^\s<>()[\]"'`]+/.exec(text.slice(at, at + 2_000))?.[0].replace(/[.,;:!?]+$/, '');
  const href = found === undefined ? null : safeHref(found);
  return found === undefined || href === null
    ? null
    : { node: { kind: 'link', href, inside: [{ kind: 'text', text: found }] }, end: at + found.length };
}
