// Small parts that pages rely on: streams cut anywhere, differences, addresses, words.

import { describe, expect, test } from 'vitest';
import { createParser, type Message } from '../src/api/sse';
import { diff, shorten } from '../src/parts/diff';
import { count, duration, headline, money } from '../src/parts/words';

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
    expect(lines.filter((line) => line.kind !== 'added').map((line) => line.text).join('\n')).toBe(before);
    expect(lines.filter((line) => line.kind !== 'removed').map((line) => line.text).join('\n')).toBe(after);
  });

  test('long unchanged parts are skipped', () => {
    const same = Array.from({ length: 50 }, (_, at) => String(at)).join('\n');
    expect(shorten(diff(same, `${same}\nnew`)).map((line) => line.kind)).toEqual(['skipped', 'same', 'same', 'same', 'added']);
  });
});

test('numbers in words', () => {
  expect([money(0), money(0.0012), money(1.5), money(null)]).toEqual(['$0.00', '$0.0012', '$1.50', '–']);
  expect([count(999), count(1_500), count(41_000), count(2_500_000)]).toEqual(['999', '1.5k', '41k', '2.5M']);
  expect([duration(300), duration(61_000), duration(3_700_000)]).toEqual(['300 ms', '1m 01s', '1h 01m']);
  expect(headline('first\nsecond')).toBe('first');
});
