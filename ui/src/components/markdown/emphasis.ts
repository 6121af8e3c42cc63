// Emphasis: which marks belong together, and the elements they make. The method is CommonMark's stack of delimiters: each mark is looked at a
// bounded number of times, because the places where a search found nothing are kept for later searches.

import type { Inline } from './inline';
import { isPunctuation, isSpace } from './characters';

/** Marks that are nested deeper than this stay as text. */
const MAX_NESTING = 8;

type Kind = 'strong' | 'em' | 'del';

interface Pair {
  kind: Kind;
  marks: string;
  literal: boolean;
}

/** A run of the same mark, such as `**`. */
export class Delimiter {
  left: number;
  place = 0;
  readonly opens: Pair[] = [];
  readonly closes: Pair[] = [];
  before: Delimiter | null = null;
  after: Delimiter | null = null;

  constructor(
    readonly mark: string,
    readonly count: number,
    readonly canOpen: boolean,
    readonly canClose: boolean,
  ) {
    this.left = count;
  }
}

export type Token = Inline | Delimiter;

/** Whether a run of marks can open or close emphasis, from the characters on both sides of it. */
export function delimiterAt(text: string, at: number, end: number): Delimiter {
  const mark = text[at] as string;
  const [previous, next] = [text[at - 1], text[end]];
  const spaceBefore = previous === undefined || isSpace(previous);
  const spaceAfter = next === undefined || isSpace(next);
  const left = !spaceAfter && (!isPunctuation(next) || spaceBefore || isPunctuation(previous));
  const right = !spaceBefore && (!isPunctuation(previous) || spaceAfter || isPunctuation(next));
  // snake_case is a word, not emphasis.
  const canOpen = mark === '_' ? left && (!right || isPunctuation(previous)) : left;
  const canClose = mark === '_' ? right && (!left || isPunctuation(next)) : right;
  return new Delimiter(mark, end - at, canOpen, canClose);
}

/** The class of opener that a closer looks for. A failed search of one class is not repeated. */
const classOf = (closer: Delimiter): string => `${closer.mark}${closer.canOpen ? 'o' : ''}${closer.count % 3}`;

function fits(opener: Delimiter, closer: Delimiter): boolean {
  if (opener.mark !== closer.mark || !opener.canOpen) return false;
  const ambiguous = opener.canClose || closer.canOpen;
  return !ambiguous || (opener.count + closer.count) % 3 !== 0 || (opener.count % 3 === 0 && closer.count % 3 === 0);
}

function pair(delimiters: Delimiter[]): void {
  delimiters.forEach((one, at) => {
    one.place = at;
    one.before = delimiters[at - 1] ?? null;
    one.after = delimiters[at + 1] ?? null;
  });
  const searchedUpTo = new Map<string, number>();
  let closer: Delimiter | null = delimiters[0] ?? null;
  while (closer) {
    if (!closer.canClose || closer.left === 0) {
      closer = closer.after;
      continue;
    }
    const bottom = searchedUpTo.get(classOf(closer)) ?? -1;
    let opener: Delimiter | null = closer.before;
    while (opener && opener.place > bottom && !fits(opener, closer)) opener = opener.before;
    if (opener && opener.place > bottom) {
      closer = join(opener, closer);
    } else {
      searchedUpTo.set(classOf(closer), closer.before?.place ?? -1);
      const next: Delimiter | null = closer.after;
      if (!closer.canOpen) unlink(closer);
      closer = next;
    }
  }
}

/** Joins the innermost marks of both and returns the delimiter to look at next. */
function join(opener: Delimiter, closer: Delimiter): Delimiter | null {
  const two = opener.left >= 2 && closer.left >= 2;
  const kind: Kind = closer.mark === '~' ? 'del' : two ? 'strong' : 'em';
  const one: Pair = { kind, marks: closer.mark.repeat(two ? 2 : 1), literal: false };
  opener.opens.push(one);
  closer.closes.push(one);
  opener.left -= one.marks.length;
  closer.left -= one.marks.length;
  // Marks between the two can no longer pair with marks outside.
  opener.after = closer;
  closer.before = opener;
  if (opener.left === 0) unlink(opener);
  if (closer.left > 0) return closer;
  const next = closer.after;
  unlink(closer);
  return next;
}

/** Takes a delimiter out of the chain. Its marks stay as text. */
function unlink(one: Delimiter): void {
  if (one.before) one.before.after = one.after;
  if (one.after) one.after.before = one.before;
}

/** Turns the tokens into elements. */
export function emphasised(tokens: readonly Token[]): Inline[] {
  pair(tokens.filter((token) => token instanceof Delimiter));
  const out: Inline[] = [];
  const open: { pair: Pair; into: Inline[] }[] = [];
  let into = out;
  const text = (words: string): void => {
    const last = into.at(-1);
    if (words === '') return;
    if (last?.kind === 'text') into[into.length - 1] = { kind: 'text', text: last.text + words };
    else into.push({ kind: 'text', text: words });
  };
  const close = (one: Pair): void => {
    if (one.literal) return text(one.marks);
    const inside = into;
    into = (open.pop() as { into: Inline[] }).into;
    into.push({ kind: one.kind, inside });
  };
  const begin = (one: Pair): void => {
    one.literal = open.length >= MAX_NESTING;
    if (one.literal) return text(one.marks);
    open.push({ pair: one, into });
    into = [];
  };
  for (const token of tokens) {
    if (token instanceof Delimiter) {
      token.closes.forEach(close);
      text(token.mark.repeat(token.left));
      token.opens.toReversed().forEach(begin);
    } else if (token.kind === 'text') text(token.text);
    else into.push(token);
  }
  return out;
}
