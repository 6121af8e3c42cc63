// Search excerpts: markdown to plain text, split at the words that were searched for.

const MARKS = new Set([...'#*`>|']);
/** At most this many search words are marked. The server searches for all of them. */
const MAX_SOUGHT = 20;

const isLetter = (char: string | undefined): boolean => char !== undefined && /\p{L}/u.test(char);

/** The words of a piece of markdown, with single spaces. */
export function withoutMarks(text: string): string {
  let out = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string;
    const dash = char === '-' && (text[at - 1] ?? ' ').trim() === '' && text[at + 1]?.trim() === '';
    if (!dash && !MARKS.has(char) && char.trim() !== '') out += char;
    else if (out !== '' && !out.endsWith(' ')) out += ' ';
  }
  return out.trimEnd();
}

/** Splits a text into pieces; every second piece is a word that begins with a search word. */
export function pieces(text: string, query: string): string[] {
  const sought = query
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '')
    .slice(0, MAX_SOUGHT);
  const low = text.toLowerCase();
  const out: string[] = [];
  let kept = 0;
  // If lower case changes the length, positions would be wrong, so nothing is marked.
  for (let at = 0; low.length === text.length && at < text.length; at += 1) {
    if (isLetter(text[at - 1])) continue;
    const word = sought.find((one) => low.startsWith(one, at));
    if (word === undefined) continue;
    let end = at + word.length;
    while (isLetter(text[end])) end += 1;
    out.push(text.slice(kept, at), text.slice(at, end));
    kept = end;
    at = end - 1;
  }
  out.push(text.slice(kept));
  return out;
}
