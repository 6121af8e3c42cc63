// What a retry or another plan replaced, and what rests on it: how the page folds it, and what it says.

import { describe, expect, test } from 'vitest';
import type { EventPayloads } from '../src/api/events';
import { nodeLook, statusLook } from '../src/components/format';
import { NONE } from '../src/model/nodes';
import { Run, type StoredEvent } from '../src/model/run';
import { isTerminal, NO_OP, NODE_STATUSES, toneOf } from '../src/model/statuses';
import { inBands } from '../src/pages/run/plan-text';
import { foldedParts, SIGN, signOf, statusParts, WORD, wholeWord } from '../src/tree/labels';
import { recorded } from './recorded-logs';
import { snapshotOf } from './snapshot-of';

const trees = recorded.filter((log) => log.row.kind === 'tree');
const { events, row } = recorded.find((log) => log.name === 'retried-tree')!;

/** Two bands, of which Beta of the first was retried, and then retried with what rested on it. */
function retried(until = events.length): Run {
  const run = new Run();
  run.applyEvents(events.slice(0, until));
  return run;
}

const seqOf = (type: StoredEvent['type'], nth = 1): number => events.filter((event) => event.type === type)[nth - 1].seq;
const STALE_AT = seqOf('tree.node_stale');
const AGAIN_AT = seqOf('tree.node_reopened', 2);
const titled = (run: Run, title: string): number[] => [...run.state.nodes.subtree(0)].filter((node) => run.state.nodes.title.get(node) === title);
const said = (run: Run, title: string): string[] => titled(run, title).map((node) => wholeWord(run.state, node));
const add = <Type extends keyof EventPayloads>(run: Run, node: number, type: Type, payload: EventPayloads[Type]): void => {
  const nodeId = run.state.nodes.id.get(node);
  expect(run.applyEvent({ ...events[0], seq: run.head + 1, nodeId, type, payload } as unknown as StoredEvent)).toBe('applied');
};

describe.each(trees)('the log $name', ({ events, nodes, artifacts }) => {
  const run = new Run();
  run.applyEvents(events);

  test('t13 t2 has the nodes that the server calls stale, current and partial', () => {
    expect(nodes.length).toBe(run.state.nodes.count);
    for (const { id, stale, current, shortfall } of nodes) {
      const shown = run.node(id)!;
      expect({ id, stale: shown.stale, current: shown.current, shortfall: shown.shortfall }).toEqual({ id, stale, current, shortfall });
    }
  });

  test('t13 t17 has the artifacts that the server calls stale and current, and their titles', () => {
    const shown = nodes.flatMap(({ id }) => run.artifacts(id));
    expect(shown.length).toBe(artifacts.length);
    for (const { id, title, stale, current } of artifacts) {
      const found = shown.find((artifact) => artifact.artifact_id === id)!;
      // The title of a document is in the document.
      expect({ id, title: found.document_id === null ? found.title : null, stale: found.stale, current: found.current }).toEqual({ id, title, stale, current });
    }
  });
});

describe('a retry', () => {
  test('t13 marks what rested on the old result, and tells two nodes of one title apart', () => {
    const before = retried(STALE_AT - 1);
    expect(said(before, 'Gamma')).toEqual(['done']);
    const run = retried(AGAIN_AT - 1);
    expect(said(run, 'Gamma')).toEqual(['done, stale']);
    expect(said(run, 'Beta')).toEqual(['done, replaced', 'done, retry']);
    const [gamma] = titled(run, 'Gamma');
    expect(run.state.nodes.tone(gamma)).toBe('partial');
    expect(signOf(run.state, gamma)).toBe('▲');
    const [old, fresh] = titled(run, 'Beta');
    expect([run.state.nodes.tone(old), run.state.nodes.tone(fresh)]).toEqual(['canceled', 'done']);
    expect(run.node(run.state.nodes.id.get(old))!.replaced_by).toBe(run.state.nodes.id.get(fresh));
    expect(statusParts(run.state, gamma, 0).slice(0, 2)).toEqual(['✓ done', '▲ stale']);
    expect(foldedParts(run.state, 0, 0)[1]).toBe('▲1 stale');
  });

  test('t13 with what rested on it leaves nothing stale that counts', () => {
    const run = retried();
    expect(said(run, 'Gamma')).toEqual(['done, replaced', 'done, retry']);
    expect(said(run, 'Beta')).toEqual(['done, replaced', 'done, replaced, retry', 'done, retry']);
    expect(run.state.nodes.staleIn(0)).toBe(0);
    expect(run.steps(row.root_node_id!).map((step) => step.stale)).toEqual([false, false, false]);
  });

  test('t13 says which nodes it would do again, and that a step is about to be', () => {
    const run = retried(AGAIN_AT - 1);
    const id = (title: string) => run.state.nodes.id.get(titled(run, title).at(-1)!);
    expect([run.restedOn(id('Beta')), run.restedOn(id('Gamma')), run.again(id('Gamma'))]).toEqual([1, 0, false]);
    const [pending] = events.filter((event) => event.type === 'tree.step_status' && event.seq > AGAIN_AT && event.payload.status === 'pending');
    run.applyEvents(events.slice(AGAIN_AT - 1, pending.seq));
    expect(run.again(id('Gamma'))).toBe(true);
  });

  test('t13 is undone and redone in replay, and known from a snapshot', () => {
    const run = retried();
    for (const [seq, words] of [
      [STALE_AT, ['done, stale']],
      [STALE_AT - 1, ['done']],
      [AGAIN_AT, ['done, stale']],
      [seqOf('tree.plan_created'), []],
    ] as const) {
      run.rewind(seq);
      expect(said(run, 'Gamma')).toEqual(words);
    }
    run.rewind(AGAIN_AT);
    const opened = new Run(snapshotOf(run)!);
    expect([...said(opened, 'Gamma'), ...said(opened, 'Beta')]).toEqual(['done, stale', 'done, replaced', 'done, retry']);
    run.toLive();
    expect(said(run, 'Gamma')).toEqual(['done, replaced', 'done, retry']);
  });

  test.each([
    ['tree.node_reopened', { generation: 2, causedBy: 'x' }],
    ['tree.replan_requested', { reason: 'more' }],
  ] as const)('t13 a node that begins again by %s is stale no more, and what it made before is replaced', (type, payload) => {
    const run = retried(AGAIN_AT - 1);
    const [gamma] = titled(run, 'Gamma');
    const id = run.state.nodes.id.get(gamma);
    expect(run.artifacts(id).map(({ current, stale }) => [current, stale])).toEqual([[true, true]]);
    add(run, gamma, type, payload as never);
    expect(run.node(id)!.stale).toBe(false);
    expect(run.artifacts(id).map(({ current, stale }) => [current, stale])).toEqual([[false, false]]);
    run.rewind(run.head - 1);
    expect(run.node(id)!.stale).toBe(true);
  });

  test('t13 of a node replaces everything below it, and redraws it', () => {
    const run = new Run();
    const { events } = recorded.find((log) => log.name === 'scripted-tree')!;
    run.applyEvents(events);
    const { nodes } = run.state;
    const [part] = titled(run, 'A part with parts');
    const below = [...nodes.subtree(part)];
    expect(below.length).toBeGreaterThan(3);
    expect(below.every((node) => nodes.isCurrent(node))).toBe(true);
    const restated = new Set<number>();
    run.subscribe((change) => change.restated.forEach((node) => restated.add(node)));
    const made = events.find((event) => event.nodeId === nodes.id.get(part) && event.type === 'tree.node_created')!;
    run.applyEvent({ ...made, seq: run.head + 1, nodeId: 'again', payload: { ...made.payload, retryOf: made.nodeId } } as StoredEvent);
    run.flush();
    expect(below.some((node) => nodes.isCurrent(node))).toBe(false);
    expect(below.every((node) => restated.has(node))).toBe(true);
    expect(nodes.isCurrent(nodes.number('again'))).toBe(true);
  });
});

describe('a run that waits for paused nodes', () => {
  const at = seqOf('run.paused');

  test('t16 names them, and says so from a snapshot too', () => {
    const run = retried(at);
    const beta = run.state.nodes.id.get(titled(run, 'Beta')[0]);
    expect([run.row()!.status, run.row()!.activity, run.row()!.paused_nodes]).toEqual(['paused', 'waiting for paused nodes', [beta]]);
    const opened = new Run(snapshotOf(run)!);
    expect([opened.row()!.activity, opened.row()!.paused_nodes]).toEqual(['waiting for paused nodes', [beta]]);
    opened.applyEvents(events.slice(at));
    expect([opened.row()!.status, opened.row()!.paused_nodes]).toEqual(['completed', undefined]);
  });

  test('t16 is another thing than a run that a person paused', () => {
    const run = retried(at - 1);
    add(run, 0, 'run.paused', {});
    expect([run.row()!.status, run.row()!.activity, run.row()!.paused_nodes]).toEqual(['paused', 'paused', undefined]);
  });
});

describe('the order of the plan', () => {
  const step = (id: string, band_index: number, step_index: number) => ({ id, band_index, step_index });

  test('t17 is by band, then by step, whatever an earlier version had finished first', () => {
    const bands = inBands([step('kept', 2, 0), step('c', 0, 1), step('a', 0, 0), step('b', 1, 0)]);
    expect(bands.map((band) => band.map(({ id }) => id))).toEqual([['a', 'c'], ['b'], ['kept']]);
  });

  test.each(trees)('t17 of $name is the one that the server gives', ({ events, row }) => {
    const run = new Run();
    run.applyEvents(events);
    const planned = new Set(row.plan?.steps.map(({ id }) => id));
    const shown = inBands(run.steps(row.root_node_id!)).flat();
    expect(shown.filter(({ id }) => planned.has(id)).map(({ id, title }) => [id, title])).toEqual(row.plan?.steps.map(({ id, title }) => [id, title]) ?? []);
  });

  test('t17 is that of the nodes at work', () => {
    const run = new Run();
    run.applyEvents(recorded.find((log) => log.name === 'scripted-tree')!.events);
    for (let seq = 20; seq < run.head; seq += 9) {
      run.rewind(seq);
      const order = [...run.state.nodes.subtree(0)].map((node) => run.state.nodes.id.get(node));
      expect(run.active()).toEqual(order.filter((id) => run.active().includes(id)));
    }
  });
});

describe('every end', () => {
  test('t17 superseded nodes and those with nothing to do have a mark, a word and a colour of their own', () => {
    expect(statusLook('superseded')).toEqual({ tone: 'canceled', mark: '↷', label: 'superseded' });
    expect(nodeLook({ status: 'completed', outcome: 'no_op' })).toEqual({ tone: 'neutral', mark: '–', label: 'nothing to do' });
    expect([SIGN[NO_OP], WORD[NO_OP], toneOf(NO_OP)]).toEqual(['–', 'nothing to do', 'neutral']);
  });

  test('t17 cards and panels have the same marks', () => {
    const ends = NODE_STATUSES.map((name, status) => ({ name, status })).filter(({ status }) => isTerminal(status));
    for (const { name, status } of ends) expect([name, SIGN[status], toneOf(status)]).toEqual([name, statusLook(name).mark, statusLook(name).tone]);
  });

  test('t17 a superseded node says so once, and what was below it is replaced', () => {
    const run = new Run();
    run.applyEvents(recorded.find((log) => log.name === 'scripted-tree')!.events);
    const [failure] = titled(run, 'A failure');
    expect(wholeWord(run.state, failure)).toBe('superseded');
    expect([run.state.nodes.tone(failure), signOf(run.state, failure)]).toEqual(['canceled', '↷']);
    const [part] = titled(run, 'A part with parts');
    add(run, part, 'tree.node_status', { status: 'superseded', role: 'planner' });
    const [first] = [...run.state.nodes.children(part)];
    expect(first).not.toBe(NONE);
    expect(wholeWord(run.state, first)).toBe('done, replaced');
  });

  test('t2 a partial node keeps why, until it begins again', () => {
    const run = retried();
    const [gamma] = titled(run, 'Gamma');
    const why = () => run.node(run.state.nodes.id.get(gamma))!.shortfall;
    add(run, gamma, 'tree.node_completed', { outcome: 'partial', shortfall: 'one page is missing', evidence: 'doc:1' });
    expect(why()).toBe('one page is missing');
    add(run, gamma, 'tree.node_reopened', { generation: 2, causedBy: 'x' });
    expect(why()).toBe(null);
    // Earlier versions wrote it where the evidence belongs.
    add(run, gamma, 'tree.node_completed', { outcome: 'partial', evidence: 'a step failed' });
    expect(why()).toBe('a step failed');
    add(run, gamma, 'tree.node_completed', { outcome: 'success', evidence: 'doc:1' });
    expect(why()).toBe(null);
  });
});
