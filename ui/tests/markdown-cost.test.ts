// x10: the cost of every text is linear in its length, and the page says when it does not show all of it.

import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_CHARACTERS, parse, type Block } from '../src/components/markdown/blocks';
import type { Inline } from '../src/components/markdown/inline';
import { SHAPES, WORST } from './markdown-shapes';

const LENGTH = 10_000;

/** How often the parts of the reader's code ran: the same on every machine, however busy it is. */
class Steps {
  private readonly session = new Session();

  async start(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  async of(text: string): Promise<number> {
    await this.session.post('Profiler.takePreciseCoverage');
    parse(text);
    const { result } = await this.session.post('Profiler.takePreciseCoverage');
    const ranges = result.filter((script) => script.url.includes('/components/markdown/')).flatMap((script) => script.functions.flatMap((one) => one.ranges));
    return ranges.reduce((sum, range) => sum + range.count, 0);
  }

  stop(): void {
    this.session.disconnect();
  }
}

describe('x10_twice_the_text_costs_at_most_two_and_a_half_times', () => {
  const steps = new Steps();
  beforeAll(() => steps.start());
  afterAll(() => steps.stop());

  test('steps are counted', async () => {
    expect(await steps.of('a *b* c'.repeat(100))).toBeGreaterThan(700);
  });

  test.each(SHAPES)('%s', async (_, shape) => {
    const once = await steps.of(shape(LENGTH));
    const double = await steps.of(shape(2 * LENGTH));
    expect(double, `${once} steps, then ${double}`).toBeLessThanOrEqual(2.5 * once);
    expect(double / (2 * LENGTH), 'steps for each character').toBeLessThan(150);
  });
});

test('x10_the_reader_matches_no_patterns_but_single_characters', () => {
  const folder = new URL('../src/components/markdown/', import.meta.url);
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'));
  const patterns = lines.filter((line) => /RegExp|\.(match|matchAll|exec|search)\(|\.(test|replace|replaceAll|split)\(\/|\/[a-z]*\.(test|exec)\(/.test(line));
  expect(patterns.map((line) => line.trim())).toEqual(['return /[\\p{P}\\p{S}]/u.test(char);']);
});

/** What the machine does itself, such as copying text, is not among the steps. */
test('x10_the_longest_text_of_the_worst_shapes_is_read_within_a_second', () => {
  for (const [name, shape] of WORST) {
    const text = shape(MAX_CHARACTERS);
    const before = process.cpuUsage();
    parse(text);
    const used = process.cpuUsage(before);
    expect((used.user + used.system) / 1_000, name).toBeLessThan(1_000);
  }
});

test('x10_the_text_that_froze_a_browser_is_a_heading', () => {
  expect(parse(`# a${' '.repeat(8_000)}x`).blocks).toEqual([{ kind: 'heading', level: 1, inside: [{ kind: 'text', text: `a${' '.repeat(8_000)}x` }] }]);
});

function depth(part: Block | Inline): number {
  const inside: (Block | Inline)[] = 'inside' in part ? part.inside : 'items' in part ? part.items.flatMap((item) => item.inside) : 'rows' in part ? [...part.head, ...part.rows.flat()].flat() : [];
  return 1 + inside.reduce((most, one) => Math.max(most, depth(one)), 0);
}

test('x10_nothing_is_nested_deeper_than_a_page_can_show', () => {
  for (const [name, shape] of SHAPES) {
    const deepest = parse(shape(LENGTH)).blocks.reduce((most, block) => Math.max(most, depth(block)), 0);
    expect(deepest, name).toBeLessThanOrEqual(28);
  }
});

const elements = (parts: (Block | Inline)[]): number => JSON.stringify(parts).split('"kind"').length - 1;

describe('x10_a_text_that_is_too_large_is_shown_up_to_a_place_that_is_told', () => {
  test('by its length, at the end of a line', () => {
    const line = `${'word '.repeat(20)}\n`;
    const text = line.repeat(3_000);
    const parsed = parse(text);
    expect(parsed.of).toBe(text.length);
    expect(parsed.shown).toBeLessThanOrEqual(MAX_CHARACTERS);
    expect(parsed.shown).toBeGreaterThan(MAX_CHARACTERS - line.length);
    expect(text.slice(parsed.shown).startsWith('word')).toBe(true);
  });

  test('never within a character', () => {
    const text = `a${'\u{1f600}'.repeat(MAX_CHARACTERS)}`;
    const { shown } = parse(text);
    expect(text.slice(shown).codePointAt(0)).toBe(0x1f600);
  });

  test.each([
    ['items', '- a\n'],
    ['paragraphs', 'a\n\n'],
    ['quoted paragraphs', '> a\n>\n'],
    ['rows', '|a|b|\n'],
    ['nested items', '- a\n  - b\n'],
  ])('by the number of its %s', (_, piece) => {
    const text = (piece.startsWith('|') ? '|a|b|\n|-|-|\n' : '# Beginning\n\n') + piece.repeat(30_000);
    const parsed = parse(text);
    expect(elements(parsed.blocks)).toBeLessThan(60_000);
    expect(parsed.shown).toBeLessThan(text.length);
    // Where a single block is too large, what is told to be missing begins with it.
    expect(text[parsed.shown - 1] ?? '\n').toBe('\n');
  });

  test('a short text is shown whole, whatever its line ends', () => {
    for (const text of ['', 'a', 'a\n', 'a\r\nb\r\n', '\n\n', 'a\rb']) expect(parse(text)).toMatchObject({ shown: text.length, of: text.length });
  });

  test('marks beyond the limit stay as they were written', () => {
    const text = '*a* '.repeat(45_000);
    const [block] = parse(text).blocks;
    const words = JSON.stringify(block);
    expect(words).toContain('"em"');
    expect(words).toContain('*a* *a* *a*');
  });
});
