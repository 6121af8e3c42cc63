// x10: random texts: a few thousand in every test run, a million with `npm run fuzz`, which prints the seed of a failure.

import { expect, test } from 'vitest';
import { parse } from '../src/components/markdown/blocks';
import { random } from './markdown-shapes';

const INPUTS = Number(process.env.FUZZ_INPUTS ?? 5_000);
const FIRST = Number(process.env.FUZZ_SEED ?? 1);
const KINDS = new Set(['heading', 'paragraph', 'code', 'quote', 'list', 'table', 'rule', 'notes', 'text', 'strong', 'em', 'del', 'link', 'image', 'break', 'note']);
/** CPU time, generously: a text of a few thousand characters is read in well under a millisecond. */
const MAX_MS = 250;

/** Everything in it that is an element, its text, and how deep it lies. */
function* walk(value: unknown, depth = 0): Generator<[Record<string, unknown>, number]> {
  if (Array.isArray(value)) for (const one of value) yield* walk(one, depth);
  else if (value !== null && typeof value === 'object') {
    const record = value as Record<string, unknown>;
    if (typeof record.kind === 'string') yield [record, depth];
    for (const one of Object.values(record)) yield* walk(one, depth + 1);
  }
}

function wrong(text: string): string | null {
  const before = process.cpuUsage();
  const parsed = parse(text);
  const used = process.cpuUsage(before);
  if ((used.user + used.system) / 1_000 > MAX_MS) return `took ${(used.user + used.system) / 1_000} ms`;
  for (const [part, depth] of walk(parsed.blocks)) {
    if (!KINDS.has(String(part.kind))) return `an element of kind ${String(part.kind)}`;
    if (depth > 80) return `nested ${depth} deep`;
    const href = part.href;
    if (href !== undefined && href !== null && !/^(https?:\/\/|mailto:)/.test(String(href))) return `an address ${String(href)}`;
    if (part.kind === 'link' && JSON.stringify(part.inside).includes('"kind":"link"')) return 'a link within a link';
  }
  return parsed.of === text.length && parsed.shown <= parsed.of ? null : 'a wrong length';
}

test(`x10_fuzz_no_text_of_${INPUTS}_breaks_the_reader`, { timeout: 3_600_000 }, () => {
  for (let seed = FIRST; seed < FIRST + INPUTS; seed += 1) {
    const text = random(seed);
    const found = wrong(text);
    if (found !== null) expect.fail(`seed ${seed}: ${found}\n${JSON.stringify(text)}`);
  }
});

test('x10_fuzz_marks_are_never_lost_outside_of_elements', () => {
  // Words that are no marks come out as they went in, in their order.
  for (let seed = FIRST; seed < FIRST + Math.min(INPUTS, 5_000); seed += 1) {
    const text = random(seed).replaceAll(/[`[\]<>&|\\~]/g, ' ');
    const words = [...text.matchAll(/[a-z]+/g)].map((match) => match[0]).join('');
    const shown = [...walk(parse(text).blocks)].map(([part]) => (typeof part.text === 'string' ? part.text : typeof part.alt === 'string' ? part.alt : '')).join('');
    expect([...shown.matchAll(/[a-z]+/g)].map((match) => match[0]).join(''), `seed ${seed}: ${JSON.stringify(text)}`).toBe(words);
  }
});
