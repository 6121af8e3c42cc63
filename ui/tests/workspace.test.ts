// The documents of a run: in the order of the plan, with what has been replaced or is stale.

import { expect, test } from 'vitest';
import { Run } from '../src/model/run';
import { recorded } from './recorded-logs';

const { events } = recorded.find((log) => log.name === 'retried-tree')!;

function at(seq = events.length) {
  const run = new Run();
  run.applyEvents(events.slice(0, seq));
  const { nodes } = run.state;
  const made = (title: string) =>
    Array.from({ length: nodes.count }, (_, node) => node)
      .filter((node) => nodes.title.get(node) === title)
      .flatMap((node) => run.artifacts(nodes.id.get(node)).map((artifact) => run.documents().get(artifact.document_id!) ?? 'current'));
  return { run, made };
}

test('t13 of several syntheses the last is current, and results say what became of them', () => {
  const again = events.filter((event) => event.type === 'tree.node_reopened')[1].seq;
  const before = at(again - 1);
  expect([before.made('In two bands'), before.made('Beta'), before.made('Gamma')]).toEqual([['replaced', 'current'], ['replaced', 'current'], ['stale']]);
  const { made } = at();
  expect([made('In two bands'), made('Beta'), made('Gamma')]).toEqual([
    ['replaced', 'replaced', 'current'],
    ['replaced', 'replaced', 'current'],
    ['replaced', 'current'],
  ]);
});

test('t13 the scratchpad of a replaced node is replaced with it', () => {
  const { run } = at();
  const { nodes } = run.state;
  const pads = Array.from({ length: nodes.count }, (_, node) => [nodes.isCurrent(node), run.documents().get(nodes.scratchpad.get(node)!) ?? 'current']);
  expect(pads.filter(([current]) => !current).length).toBe(3);
  for (const [current, standing] of pads) expect(standing).toBe(current ? 'current' : 'replaced');
});

test('t17 nodes are placed as the plan has them, a retry after what it replaces', () => {
  const { run } = at();
  const ids = run.children(run.state.nodes.id.get(0));
  expect([...ids].reverse().sort((a, b) => run.placeOf(a) - run.placeOf(b))).toEqual(ids);
  expect(ids.map((id) => run.node(id)!.title)).toEqual(['Alpha', 'Beta', 'Beta', 'Beta', 'Gamma', 'Gamma']);
  expect(run.placeOf('nobody')).toBe(Infinity);
});
