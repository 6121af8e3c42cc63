// Modules that pages rely on: the stream parser, diffs, addresses, formats.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createParser, type Message } from '../src/api/sse';
import type { TaskStep } from '../src/api/shapes';
import { pieces, withoutMarks } from '../src/pages/documents/excerpt';
import { pageLink, refusal, titles } from '../src/pages/run/page-links';
import { diff, shorten } from '../src/components/diff';
import { hasEventText } from '../src/components/event-text';
import { aboutMoney, count, duration, endReason, headline, money, shortIds } from '../src/components/format';

describe('server-sent events', () => {
  const stream = ': beat\n\nid: 7\ndata: {"a":1}\n\nevent: delta\r\ndata: x\r\ndata: y\r\n\r\nretry: 2000\n\n';
  const expected: Message[] = [
    { event: 'message', id: '7', data: '{"a":1}' },
    { event: 'delta', id: null, data: 'x\ny' },
  ];

  test('t14 the same messages, wherever the network cuts them', () => {
    for (let size = 1; size <= stream.length; size += 1) {
      const seen: Message[] = [];
      const parse = createParser((message) => seen.push(message));
      for (let at = 0; at < stream.length; at += size) parse(stream.slice(at, at + size));
      expect(seen).toEqual(expected);
    }
  });
});

describe('differences', () => {
  test('what was added and removed, and nothing else', () => {
    expect(diff('a\nb\nc', 'a\nx\nc\nd').map((line) => line.kind[0] + line.text)).toEqual(['sa', 'rb', 'ax', 'sc', 'ad']);
  });

  test('applying a difference gives the other text', () => {
    const [before, after] = ['1\n2\n3\n4\n5', '0\n2\n4\n4\n6'];
    const lines = diff(before, after);
    expect(
      lines
        .filter((line) => line.kind !== 'added')
        .map((line) => line.text)
        .join('\n'),
    ).toBe(before);
    expect(
      lines
        .filter((line) => line.kind !== 'removed')
        .map((line) => line.text)
        .join('\n'),
    ).toBe(after);
  });

  test('long unchanged parts are skipped', () => {
    const same = Array.from({ length: 50 }, (_, at) => String(at)).join('\n');
    expect(shorten(diff(same, `${same}\nnew`)).map((line) => line.kind)).toEqual(['skipped', 'same', 'same', 'same', 'added']);
  });
});

test('numbers in words', () => {
  expect([money(0), money(0.0012), money(1.5), money(null)]).toEqual(['$0.00', '$0.0012', '$1.50', '–']);
  expect([aboutMoney(0.0412), aboutMoney(1.5)]).toEqual(['about $0.0412', 'about $1.50']);
  expect([count(999), count(1_500), count(41_000), count(2_500_000)]).toEqual(['999', '1.5k', '41k', '2.5M']);
  expect([duration(300), duration(61_000), duration(3_700_000)]).toEqual(['300 ms', '1m 01s', '1h 01m']);
  expect(headline('first\nsecond')).toBe('first');
});

test('why a run ended is said once', () => {
  expect(endReason({ stop_reason: 'max_iterations', stop_detail: 'all 2 iterations are used' })).toBe('the iteration limit was reached: all 2 iterations are used');
  expect(endReason({ stop_reason: 'error', stop_detail: 'no such page' })).toBe('no such page');
  expect(endReason({ stop_reason: 'error', stop_detail: null })).toBe('an error');
  expect(endReason({ stop_reason: 'canceled', stop_detail: null })).toBe('');
});

describe('where a subagent is', () => {
  const id = '01a1e010-cf57-7f60-9001-370222d95fff';
  const step = (more: Partial<TaskStep>): TaskStep => ({ action: 'navigate', ok: true, path: null, summary: null, ...more }) as TaskStep;

  test('pages are called as they were when it opened them', () => {
    const known = titles([step({ path: `/projects/${id}`, summary: 'Shop' }), step({ path: '/tasks/x', summary: '404', ok: false })]);
    expect(pageLink(`/projects/${id}`, known)).toEqual({ label: 'project “Shop”', href: `/projects/${id}` });
    expect(pageLink(`/projects/${id}/actions/create_document`, known).label).toBe('project “Shop”');
    expect(pageLink('/whoami', known)).toEqual({ label: 'its own page', href: null });
    expect(pageLink(`/tasks/${id}`, known)).toEqual({ label: 'task 01a1e010…', href: null });
    expect(pageLink('/somewhere/else', known)).toEqual({ label: '/somewhere/else', href: null });
  });

  test('a refusal is its reason, without the page that came with it', () => {
    expect(refusal('403 Forbidden: not granted.\n\n---\npath: "/whoami"')).toBe('403 Forbidden: not granted.');
    expect(shortIds(`at /projects/${id}: no`)).toBe('at /projects/01a1e010…: no');
  });
});

test('every event of the protocol has a sentence', () => {
  const protocol = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
  const types = [...protocol.matchAll(/^\| `((?:run|effect|homework|task|tree)\.[a-z_]+)`/gm)].map((match) => match[1]!);
  expect(types.length).toBeGreaterThan(50);
  expect(types.filter((type) => !hasEventText(type))).toEqual([]);
});

describe('excerpts', () => {
  test('words without marks', () => {
    expect(withoutMarks('# A *title*\n\n- one\n- two-fold > `x`  ')).toBe('A title one two-fold x');
  });

  test('what was sought is every second piece', () => {
    expect(pieces('Heating the greenhouse, reheat', 'heat HOUSE')).toEqual(['', 'Heating', ' the greenhouse, reheat']);
    expect(pieces('plain', '')).toEqual(['plain']);
    expect(pieces('a (b) [c', '(b) [c')).toEqual(['a ', '(b)', ' ', '[c', '']);
  });
});

test('x10_no_other_words_on_the_page_are_read_by_patterns_that_look_back', () => {
  const before = process.cpuUsage();
  const long = 200_000;
  refusal('\n'.repeat(long));
  headline(`${'\n'.repeat(long)}x${' '.repeat(long)}y`);
  shortIds('a'.repeat(long));
  shortIds('01234567-'.repeat(long / 9));
  withoutMarks('- '.repeat(long / 2));
  pieces('a'.repeat(long), 'a '.repeat(1_000));
  const parse = createParser(() => {});
  for (let at = 0; at < 20_000; at += 1) parse('data: x');
  const used = process.cpuUsage(before);
  expect((used.user + used.system) / 1_000).toBeLessThan(3_000);
});

test('x15_a_lone_carriage_return_ends_a_headline', () => {
  expect(headline('said\rhidden')).toBe('said');
});
