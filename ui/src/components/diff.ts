// A line diff of two texts.

export interface Line {
  kind: 'same' | 'added' | 'removed' | 'skipped';
  text: string;
}

/** Longer middles are shown as removed and added as a whole, which is correct but longer. */
const MAX_CELLS = 4_000_000;
const CONTEXT = 3;

export function diff(before: string, after: string): Line[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (text: string): Line => ({ kind: 'same', text });
  return [...a.slice(0, start).map(same), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...a.slice(a.length - end).map(same)];
}

function middle(a: string[], b: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: 'removed', text });
  const added = (text: string): Line => ({ kind: 'added', text });
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const out: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      out.push(removed(a[i]!));
      i += 1;
    } else {
      out.push(added(b[j]!));
      j += 1;
    }
  }
  return out;
}

/** The changed lines with a few lines around them. */
export function shorten(lines: Line[]): Line[] {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.kind !== 'same'));
  const out: Line[] = [];
  let skipped = 0;
  lines.forEach((line, at) => {
    if (near[at]) {
      if (skipped > 0) out.push({ kind: 'skipped', text: `${skipped} unchanged lines` });
      skipped = 0;
      out.push(line);
    } else skipped += 1;
  });
  if (skipped > 0) out.push({ kind: 'skipped', text: `${skipped} unchanged lines` });
  return out;
}
