// Classifies characters and lines, looking at each character once. No regular expression runs over untrusted text, because a pattern that
// backtracks can take seconds for a few kilobytes.

/** Replaces every line ending by a newline. A lone carriage return counts, because it does for other markdown parsers. */
export function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
}

export const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\n' || char === '\t' || char === '\v' || char === '\f' || char === '\u00a0';

export const isDigit = (char: string | undefined): boolean => char !== undefined && char >= '0' && char <= '9';

/** A letter, a digit or the underscore, of any script: what makes a word. */
export function isWord(char: string | undefined): boolean {
  if (char === undefined) return false;
  if (char < '\u0080') return (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || isDigit(char) || char === '_';
  return !isSpace(char) && !isPunctuation(char);
}

/** Punctuation and symbols. Half of a surrogate pair counts as a letter. */
export function isPunctuation(char: string | undefined): boolean {
  if (char === undefined) return false;
  if (char < '\u0080') return char > ' ' && char !== '\u007f' && !isLetterOrDigit(char);
  return /[\p{P}\p{S}]/u.test(char);
}

const isLetterOrDigit = (char: string): boolean => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || isDigit(char);

/** The length of the run of this character that begins here. */
export function runOf(text: string, at: number, char: string): number {
  let end = at;
  while (text[end] === char) end += 1;
  return end - at;
}

export const indentOf = (line: string): number => runOf(line, 0, ' ');

export function isBlank(line: string): boolean {
  let at = 0;
  while (isSpace(line[at])) at += 1;
  return at === line.length;
}

/** The same text without spaces at both ends. */
export function stripped(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start])) start += 1;
  while (end > start && isSpace(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

/** Finds the next run of exactly so many backticks. All searches together look at each run once. */
export class Backticks {
  private readonly starts = new Map<number, number[]>();
  private readonly passed = new Map<number, number>();

  constructor(text: string) {
    for (let at = text.indexOf('`'); at >= 0;) {
      const length = runOf(text, at, '`');
      const known = this.starts.get(length);
      if (known) known.push(at);
      else this.starts.set(length, [at]);
      at = text.indexOf('`', at + length);
    }
  }

  /** The position, or -1 if there is none. Calls must come with rising positions. */
  next(length: number, from: number): number {
    const starts = this.starts.get(length);
    if (!starts) return -1;
    let index = this.passed.get(length) ?? 0;
    while (index < starts.length && (starts[index] as number) < from) index += 1;
    this.passed.set(length, index);
    return starts[index] ?? -1;
  }
}
