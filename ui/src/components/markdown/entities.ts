// HTML entities: the few that people and models use. Any other name stays as text.

const NAMED: Record<string, string> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', ndash: '–', mdash: '—', hellip: '…', bull: '•', middot: '·', times: '×', copy: '©', reg: '®', trade: '™', deg: '°', euro: '€',
  rarr: '→', larr: '←', le: '≤', ge: '≥', ne: '≠', plusmn: '±', laquo: '«', raquo: '»', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”',
};
const MOST = 10;

export function entityAt(text: string, at: number): { text: string; end: number } | null {
  const end = text.slice(at, at + MOST + 2).indexOf(';');
  if (end < 2) return null;
  const name = text.slice(at + 1, at + end);
  const found = name[0] === '#' ? numbered(name.slice(1)) : Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : null;
  return found === null ? null : { text: found, end: at + end + 1 };
}

function numbered(digits: string): string | null {
  const hex = digits[0] === 'x' || digits[0] === 'X';
  const code = hex ? Number(`0x${digits.slice(1)}`) : Number(digits);
  if (!Number.isInteger(code) || code < 0 || code > 0x10ffff || digits.trim() !== digits) return null;
  // Control characters and halves of surrogate pairs are not shown.
  return (code < 32 && code !== 10) || (code >= 127 && code < 160) || (code >= 0xd800 && code < 0xe000) ? '\ufffd' : String.fromCodePoint(code);
}
