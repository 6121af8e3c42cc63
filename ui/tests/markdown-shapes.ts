// Texts that are expensive to parse, in any length, for the `x10_` tests and the fuzzer.

const grown = (piece: string, before = '', after = '') => (length: number): string => before + piece.repeat(Math.ceil(length / piece.length)) + after;

/** Pieces that made this parser or others slow. */
const PIECES = [
  ' ', '\t', '\n', '\r', '\r\n', '\u00a0', '#', '# ', '# a\n', '*', '**', '***', '*a', '**a', '*a **b ', '*a_ ', 'a**b', '_', '__', '_a', '_a*b', 'a_b_', '~~', '~~a', '~~~', '*~~_',
  '[', ']', '[]', '[](', '[a](', '[a](b', '[a](<b', '[a](b "', "[a](b 'c", '[a](b (c', '[a](\\(', '[a][', '[a][b', '[a]', '![', '![a](', '![[', '[![', '[a](b)', '![a](b)', '[[a](b)', '[a]: b\n', '[^a]', '[^a]: b\n', '[^a][a]',
  '`', '``', '` `` ', '`a``', '\\`', '```', '```\n', '~~~\n', '```a`\n', '<', '<h', '<a ', '<https://', '<https://a', '<br', '<br>', '<!--', '<![CDATA[', '<?', '&', '&a', '&amp', '&amp;', '&#', '&#1;', '&#x', ';',
  '|', '||', '| ', '|-', '|-|', '| a ', 'a|b\n', '|a|\n|-|\n', '|a|b|\n|-|-|\n', ':-|', '-|-\n', '\\|', '>', '> ', '>> ', '> a\n', '> - ', '- ', '- - ', '- a\n', '-\n', ' -', '  - a\n', '* ', '+ ', '1. ', '1) a\n', '1', '- [ ] ', '- [x] a\n', '- a\n\n', '> a\n\n',
  '\\', '\\\\', '\\*', '(', ')', '((', '!', '"', "'", '=', '=\n', 'a\n=\n', '-\n-\n', 'a\n---\n', '---\n', '***\n', '* * ', 'h', 'http', 'https://', 'https://a ', 'https://a.', 'https://a)', 'https://a(', 'x', 'é', '\u{1f600}', '\ud800', '\0', '\u200b', '\u202e',
];

/** The shapes that were seen to freeze a page, and those that take two different halves. */
export const WORST: [string, (length: number) => string][] = [
  ['a heading, spaces and a word', grown(' ', '# a', 'x')],
  ['a heading, marks and a word', grown('#', '# a ', 'x')],
  ['a heading of marks and spaces', grown(' #', '# a', 'x')],
  ['a table rule that ends badly', grown('|-', 'a|b\n', 'x\n')],
  ['a table rule of colons', grown(':-:|', '|a|\n|', 'x')],
  ['a table rule of spaces', grown(' ', 'a|b\n|-', '|x')],
  ['a rule that ends badly', grown('- ', '', 'x')],
  ['brackets open, then close', (length) => '['.repeat(length / 2) + ']'.repeat(length / 2)],
  ['brackets open, then links', (length) => '['.repeat(length / 2) + '[a](b)'.repeat(length / 12)],
  ['images open, then links', (length) => '!['.repeat(length / 4) + '[a](b)'.repeat(length / 12)],
  ['images within images', (length) => '!['.repeat(length / 8) + 'a' + '](b)'.repeat(length / 8)],
  ['stars open, then underscores', (length) => '*a '.repeat(length / 6) + 'a_ '.repeat(length / 6)],
  ['stars open, then close', (length) => '*a '.repeat(length / 6) + 'a* '.repeat(length / 6)],
  ['stars and underscores in turn', (length) => '*a_ '.repeat(length / 8) + 'a** '.repeat(length / 8)],
  ['runs of ticks, each longer', (length) => Array.from({ length: Math.floor(Math.sqrt(2 * length)) }, (_, at) => '`'.repeat(at + 1)).join(' ')],
  ['a definition used often', (length) => `[a]: https://example.org/${'b'.repeat(1_900)}\n\n${'[a] '.repeat(length / 4)}`],
  ['many definitions', (length) => Array.from({ length: length / 12 }, (_, at) => `[a${at}]: b${at}\n`).join('')],
  ['many definitions of one name', grown('[a]: b\n', '', '[a]')],
  ['notes within notes', (length) => Array.from({ length: length / 24 }, (_, at) => `[^n${at}]: see [^n${at + 1}]\n`).join('')],
  ['an address in angle brackets that never ends', grown('h', '<https://')],
  ['angle brackets that end late', (length) => `${'<h'.repeat(900)}>`.repeat(Math.ceil(length / 1_801))],
  ['a destination of spaces', grown(' ', '[a](', 'x')],
  ['a title that never ends', grown('"a', '[a](b ')],
  ['a quotation deeper on each line', (length) => Array.from({ length: Math.floor(Math.sqrt(length)) }, (_, at) => '>'.repeat(at + 1)).join('\n')],
  ['a list deeper on each line', (length) => Array.from({ length: Math.floor(Math.sqrt(length)) }, (_, at) => `${' '.repeat(2 * (at % 200))}- a`).join('\n')],
  ['a list of quotations of lists', grown('> - ', '', 'a')],
  ['a table of many rows', (length) => `|a|b|\n|-|-|\n${'|1|2|\n'.repeat(length / 6)}`],
  ['a table of many columns', (length) => `${'|a'.repeat(length / 4)}\n${'|-'.repeat(length / 4)}`],
  ['one address', grown('(a)', 'https://example.org/')],
  ['trailing stops', grown('.', 'https://example.org')],
  ['an escape before every mark', grown('\\[', '', '](b)')],
  ['spaces before line ends', grown('a          \n')],
];

export const SHAPES: [string, (length: number) => string][] = [...WORST, ...PIECES.map((piece): [string, (length: number) => string] => [`${JSON.stringify(piece)} again and again`, grown(piece)])];

/** Pseudo-random numbers from a seed. */
export function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A random text of pieces, most of them short, so that marks are close together. */
export function random(seed: number): string {
  const roll = dice(seed);
  const most = roll(20) === 0 ? 400 : 24;
  let text = '';
  for (let parts = 1 + roll(most); parts > 0; parts -= 1) {
    const piece = PIECES[roll(PIECES.length)] as string;
    text += roll(12) === 0 ? piece.repeat(1 + roll(200)) : piece;
    if (roll(3) === 0) text += 'javascript:a\n';
  }
  return text;
}
