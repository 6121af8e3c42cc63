// Parses the markdown inside a line into data. It is never turned into HTML text; the page builds elements from it.

import { Delimiter, delimiterAt, emphasised, type Token } from './emphasis';
import { entityAt } from './entities';
import { bareAddressEnd, destinationAt, labelOf, safeHref } from './links';
import { Backticks, isPunctuation, isSpace, isWord, runOf } from './characters';

export { safeHref } from './links';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'strong'; inside: Inline[] }
  | { kind: 'em'; inside: Inline[] }
  | { kind: 'del'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] }
  /** Never loaded, because the address of an image can carry away what the model has read. */
  | { kind: 'image'; href: string | null; alt: string }
  /** A footnote by its number. */
  | { kind: 'note'; number: number };

const BREAKS = ['<br>', '<br/>', '<br />'];

/** The definitions that links and notes refer to, and how many elements may still be made. */
export interface References {
  /** Looks a definition up; its `href` is null when the address may not be followed. */
  link(label: string): { href: string | null } | null;
  noteNumber(label: string): number | null;
  /** Counts an element; false when the limit is reached. */
  countInline(): boolean;
}

const NONE: References = { link: () => null, noteNumber: () => null, countInline: () => true };

export function inlines(text: string, references: References = NONE): Inline[] {
  return new Scanner(text, references).all();
}

/** An open bracket, which becomes a link when its closing bracket is found. */
interface Bracket {
  /** Where its text begins in the text, and among the tokens. */
  start: number;
  token: number;
  image: boolean;
  /** It contains another bracket, so its label cannot name a definition. */
  nested: boolean;
  /** It contains a link, and links do not nest. */
  spent: boolean;
}

class Scanner {
  private readonly tokens: Token[] = [];
  private readonly brackets: Bracket[] = [];
  private readonly ticks: Backticks;
  /** Where the plain text that is not yet a token begins. */
  private plain = 0;
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly references: References,
  ) {
    this.ticks = new Backticks(text);
  }

  all(): Inline[] {
    while (this.at < this.text.length) if (!this.special(this.text[this.at] as string)) this.at += 1;
    this.flush(this.at);
    return emphasised(this.tokens);
  }

  private special(char: string): boolean {
    switch (char) {
      case '\\':
        return this.escaped();
      case '`':
        return this.code();
      case '*':
      case '_':
      case '~':
        return this.marks(char);
      case '!':
        return this.text[this.at + 1] === '[' && this.open(true);
      case '[':
        return this.open(false);
      case ']':
        return this.close();
      case '<':
        return this.angled();
      case '&':
        return this.entity();
      case 'h':
        return this.bare();
      case '\n':
        return this.newline();
      default:
        return false;
    }
  }

  /** Makes a token of the plain text up to here. */
  private flush(end: number): void {
    if (end > this.plain) this.tokens.push({ kind: 'text', text: this.text.slice(this.plain, end) });
  }

  private put(token: Token, end: number): boolean {
    if (!(token instanceof Delimiter) && token.kind !== 'text' && !this.references.countInline()) return this.skip(end);
    this.flush(this.at);
    this.tokens.push(token);
    this.at = this.plain = end;
    return true;
  }

  /** Takes the characters up to there as plain text. */
  private skip(end: number): boolean {
    this.at = end;
    return true;
  }

  private escaped(): boolean {
    const next = this.text[this.at + 1];
    if (next === '\n') return this.put({ kind: 'break' }, this.at + 2);
    return next !== undefined && next < '\u0080' && isPunctuation(next) && this.put({ kind: 'text', text: next }, this.at + 2);
  }

  private newline(): boolean {
    let start = this.at;
    while (start > this.plain && this.text[start - 1] === ' ') start -= 1;
    const hard = this.at - start >= 2;
    this.flush(start);
    this.plain = this.at;
    return this.put(hard ? { kind: 'break' } : { kind: 'text', text: ' ' }, this.at + 1);
  }

  private code(): boolean {
    const length = runOf(this.text, this.at, '`');
    const end = this.ticks.next(length, this.at + length);
    if (end < 0) return this.skip(this.at + length);
    const inside = this.text.slice(this.at + length, end).replaceAll('\n', ' ');
    const padded = inside.length > 2 && inside.startsWith(' ') && inside.endsWith(' ');
    return this.put({ kind: 'code', text: padded ? inside.slice(1, -1) : inside }, end + length);
  }

  private marks(mark: string): boolean {
    const end = this.at + runOf(this.text, this.at, mark);
    if (mark === '~' && end - this.at !== 2) return this.skip(end);
    return this.references.countInline() ? this.put(delimiterAt(this.text, this.at, end), end) : this.skip(end);
  }

  private open(image: boolean): boolean {
    const end = this.at + (image ? 2 : 1);
    this.flush(this.at);
    const outer = this.brackets.at(-1);
    if (outer) outer.nested = true;
    this.brackets.push({ start: end, token: this.tokens.length, image, nested: false, spent: false });
    // It stays text unless its closing bracket makes it a link.
    this.tokens.push({ kind: 'text', text: image ? '![' : '[' });
    this.at = this.plain = end;
    return true;
  }

  private close(): boolean {
    const bracket = this.brackets.pop();
    if (!bracket || (bracket.spent && !bracket.image)) return false;
    const label = this.text.slice(bracket.start, this.at);
    const number = this.noteOf(bracket, label);
    if (number !== null) return this.replace(bracket, { kind: 'note', number }, this.at + 1);
    const target = this.target(bracket, label);
    if (!target || !this.references.countInline()) return false;
    const { href, end } = target;
    if (bracket.image) return this.replace(bracket, { kind: 'image', href, alt: label }, end);
    this.flush(this.at);
    // An address inside the text of a link is only text.
    const inside = emphasised(this.tokens.slice(bracket.token + 1).flatMap((token): Token[] => (!(token instanceof Delimiter) && token.kind === 'link' ? token.inside : [token])));
    this.spend();
    return this.replace(bracket, href === null ? { kind: 'em', inside } : { kind: 'link', href, inside }, end);
  }

  /** Marks the open brackets around a link: they can no longer become links. Below a marked one, all are marked already. */
  private spend(): void {
    for (let at = this.brackets.length - 1; at >= 0; at -= 1) {
      const bracket = this.brackets[at] as Bracket;
      if (bracket.spent) return;
      bracket.spent = true;
    }
  }

  private replace(bracket: Bracket, by: Inline, end: number): boolean {
    this.tokens.length = bracket.token;
    this.tokens.push(by);
    this.at = this.plain = end;
    return true;
  }

  private noteOf(bracket: Bracket, label: string): number | null {
    const name = !bracket.nested && !bracket.image && label[0] === '^' ? labelOf(label.slice(1)) : null;
    return name === null ? null : this.references.noteNumber(name);
  }

  /** The address of a bracket's link: in parentheses after it, or by the name of a definition. */
  private target(bracket: Bracket, label: string): { href: string | null; end: number } | null {
    const after = this.at + 1;
    const direct = this.text[after] === '(' ? destinationAt(this.text, after) : null;
    if (direct) return { href: safeHref(direct.address), end: direct.end };
    const second = this.text[after] === '[' ? this.secondLabel(after) : null;
    const named = second !== null && second.label !== '' ? second.label : bracket.nested ? null : label;
    const name = named === null ? null : labelOf(named);
    const found = name === null ? null : this.references.link(name);
    return found === null ? null : { href: found.href, end: second?.end ?? after };
  }

  private secondLabel(at: number): { label: string; end: number } | null {
    for (let end = at + 1; end < Math.min(this.text.length, at + 200); end += 1) {
      if (this.text[end] === ']') return { label: this.text.slice(at + 1, end), end: end + 1 };
      if (this.text[end] === '[') return null;
    }
    return null;
  }

  private angled(): boolean {
    const line = BREAKS.find((one) => this.text.startsWith(one, this.at));
    if (line !== undefined) return this.put({ kind: 'break' }, this.at + line.length);
    const end = angledEnd(this.text, this.at);
    const address = this.text.slice(this.at + 1, end);
    const href = end < 0 ? null : safeHref(address);
    return href !== null && this.put({ kind: 'link', href, inside: [{ kind: 'text', text: address }] }, end + 1);
  }

  private entity(): boolean {
    const found = entityAt(this.text, this.at);
    return found !== null && this.put({ kind: 'text', text: found.text }, found.end);
  }

  private bare(): boolean {
    if (isWord(this.text[this.at - 1])) return false;
    const { end, past } = bareAddressEnd(this.text, this.at);
    if (past === this.at) return false;
    const address = this.text.slice(this.at, end);
    const href = end > this.at ? safeHref(address) : null;
    return href === null ? this.skip(end > this.at ? end : past) : this.put({ kind: 'link', href, inside: [{ kind: 'text', text: address }] }, end);
  }
}

/** The closing bracket of an address in angle brackets, or -1. Such an address contains neither spaces nor another opening bracket. */
function angledEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && text[end] !== '>') {
    if (text[end] === '<' || isSpace(text[end])) return -1;
    end += 1;
  }
  return end < text.length ? end : -1;
}
