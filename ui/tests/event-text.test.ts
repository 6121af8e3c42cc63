// The page shows the sentences that the terminal shows: logs/sentences.txt is written by the test in event_lines.rs.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventText, hasEventText } from '../src/components/event-text';
import type { StoredEvent } from '../src/model/run';

const read = (path: string): string[] =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
    .trim()
    .split('\n');

test('the page and the terminal show the same sentences', () => {
  const expected = read('ui/tests/logs/sentences.txt');
  const said: string[] = [];
  for (const log of new Set(expected.map((line) => line.split(' ', 1)[0]!))) {
    const types = new Set<string>();
    const nodes = new Map<string, { ordinal: number; title: string }>();
    for (const event of read(`${log}.jsonl`).map((line) => JSON.parse(line) as StoredEvent)) {
      if (!event.type || !hasEventText(event.type)) continue;
      if (event.type === 'tree.node_created' && !nodes.has(event.nodeId!)) nodes.set(event.nodeId!, { ordinal: nodes.size, title: String((event.payload as { title: string }).title) });
      if (types.has(event.type)) continue;
      types.add(event.type);
      said.push(`${log} ${event.seq} ${eventText(event, (id) => nodes.get(id))}`);
    }
  }
  expect(said.length).toBeGreaterThan(60);
  expect(said).toEqual(expected);
});

test('an unknown event is shown by its type, and an empty payload breaks nothing', () => {
  expect(eventText({ type: 'run.unheard_of', payload: {} }, () => null)).toBe('run.unheard_of');
  expect(eventText({ type: 'tree.node_failed', payload: {}, nodeId: 'x' }, () => null)).toBe('✗ node x: ');
});
