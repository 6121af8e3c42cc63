// Success criteria and outcomes: how the page folds them, and what it says.

import { describe, expect, test } from 'vitest';
import type { EventPayloads } from '../src/api/events';
import type { Run as RunObject } from '../src/api/shapes';
import { criteriaTally, criterionLook } from '../src/components/criteria';
import { eventText, eventTone } from '../src/components/event-text';
import { completedLook, nodeLook, runStatusLook } from '../src/components/format';
import { Run, type StoredEvent } from '../src/model/run';
import { citedPlace } from '../src/pages/run/cited-place';
import { SIGN, statusWord } from '../src/tree/labels';
import { toneOf } from '../src/model/statuses';
import { recorded } from './recorded-logs';

const ID = '01a1e010-cf57-7f60-9001-370222d95fff';

/** A run with two criteria that has begun, and a function that appends an event. */
function begun() {
  const { events } = recorded.find((log) => log.name === 'rehearsed-homework')!;
  const queued = structuredClone(events[0]!) as StoredEvent & { payload: { successCriteria: unknown } };
  queued.payload.successCriteria = [
    { id: 'c1', text: 'a table' },
    { id: 'c2', text: 'a book' },
  ];
  const run = new Run();
  run.applyEvent(queued);
  const add = <Type extends keyof EventPayloads>(type: Type, payload: EventPayloads[Type]): void => {
    expect(run.applyEvent({ ...queued, seq: run.head + 1, type, payload } as unknown as StoredEvent)).toBe('applied');
  };
  add('homework.run_started', events.find((event) => event.type === 'homework.run_started')!.payload as EventPayloads['homework.run_started']);
  return { run, add };
}

const blob = { hash: 'ab', bytes: 9 };
const text = (version: number) => ({ ref: `doc:${ID}`, title: 'Page', version, text: blob });
const cited = (version: number, quotes: string[] = []) => [{ ref: `doc:${ID}`, version, quotes }];
const citations = ['c1', 'c2'].map((criterion) => ({ criterion, refs: [`doc:${ID}`] }));
const good = { made: true, failed: false, dropped: false };
const states = (run: Run) => run.row()!.success_criteria.map((criterion) => (criterion.checking ? 'being checked' : criterion.state));

describe('criteria', () => {
  test('t1 are being checked until each has its verdict, and the run says so', () => {
    const { run, add } = begun();
    expect(states(run)).toEqual(['open', 'open']);
    add('run.check_started', { check: 1, citations });
    expect([states(run), run.row()!.activity]).toEqual([['being checked', 'being checked'], 'checking the criteria']);
    add('run.evidence_read', { check: 1, evidence: [text(1)] });
    add('run.criterion_checked', { criterion: 'c1', state: 'verified', evidence: cited(1, ['a table']), reason: 'there it is', model: 'm' });
    expect(states(run)).toEqual(['verified', 'being checked']);
    add('run.criterion_checked', { criterion: 'c2', state: 'refuted', evidence: cited(1), reason: 'no book', model: 'm' });
    expect(states(run)).toEqual(['verified', 'refuted']);
    expect(run.row()!.activity).not.toBe('checking the criteria');
    expect(run.row()!.success_criteria[0]).toEqual({ id: 'c1', text: 'a table', state: 'verified', evidence: cited(1, ['a table']), reason: 'there it is', model: 'm', stale: false });
  });

  test('t1 that were judged on the same versions are not checked again, unless a person asks', () => {
    const { run, add } = begun();
    add('run.check_started', { check: 1, citations });
    add('run.evidence_read', { check: 1, evidence: [text(1)] });
    add('run.criterion_checked', { criterion: 'c1', state: 'verified', evidence: cited(1), model: 'm' });
    add('run.criterion_checked', { criterion: 'c2', state: 'refuted', evidence: cited(1), model: 'm' });
    add('run.check_started', { check: 2, citations });
    add('run.evidence_read', { check: 2, evidence: [text(1)] });
    expect(states(run)).toEqual(['verified', 'refuted']);
    add('run.check_started', { check: 3, citations });
    add('run.evidence_read', { check: 3, evidence: [text(2)] });
    expect(states(run)).toEqual(['being checked', 'being checked']);
    add('run.completed', { endState: good });
    expect(states(run)).toEqual(['verified', 'refuted']);
    add('run.check_started', { check: 4, citations: citations.slice(0, 1), forced: true });
    add('run.evidence_read', { check: 4, evidence: [text(1)] });
    expect([states(run), run.row()!.activity]).toEqual([['being checked', 'refuted'], 'checking the criteria']);
  });

  test('t1 a person’s word beats a check, until they want another one', () => {
    const { run, add } = begun();
    add('run.criterion_decided', { criterion: 'c1', decision: 'reject', by: ID, note: 'too short' });
    add('run.criterion_checked', { criterion: 'c1', state: 'verified', evidence: cited(1), model: 'm' });
    expect(run.row()!.success_criteria[0]).toMatchObject({ state: 'rejected', reason: 'too short' });
    add('run.criterion_decided', { criterion: 'c1', decision: 'accept', by: ID });
    expect(run.row()!.success_criteria[0]).toEqual({ id: 'c1', text: 'a table', state: 'accepted', evidence: [], stale: false });
    add('run.criterion_decided', { criterion: 'c1', decision: 'recheck', by: ID });
    expect(states(run)[0]).toBe('open');
  });

  test('t1 each state has a word, and only those that hold are green', () => {
    const looks = (['open', 'claimed', 'verified', 'refuted', 'accepted', 'rejected'] as const).map((state) => criterionLook({ state }));
    expect(looks.map(({ label, tone }) => `${label} ${tone}`)).toEqual(['open waiting', 'claimed neutral', 'verified done', 'refuted failed', 'accepted done', 'rejected failed']);
    expect(criterionLook({ state: 'verified', checking: true })).toMatchObject({ label: 'being checked', tone: 'active' });
  });
});

describe('the outcome', () => {
  const ending = (first: 'verified' | 'claimed' | 'refuted', end = good) => {
    const { run, add } = begun();
    add('run.criterion_checked', { criterion: 'c1', state: first, evidence: cited(1), model: 'm' });
    add('run.criterion_checked', { criterion: 'c2', state: 'verified', evidence: cited(1), model: 'm' });
    expect(run.row()!.outcome).toBe(null);
    add('run.completed', { endState: end });
    return { run, add };
  };

  test('t2 is the first that fits: partial, verified, claimed', () => {
    expect(ending('verified').run.row()!.outcome).toBe('verified');
    expect(ending('claimed').run.row()!.outcome).toBe('claimed');
    expect(ending('refuted').run.row()!.outcome).toBe('partial');
    expect(ending('verified', { ...good, failed: true }).run.row()!.outcome).toBe('partial');
    const { run, add } = begun();
    add('run.stopped', { stopReason: 'no_progress', detail: '', endState: { ...good, made: false } });
    expect(run.row()!.outcome).toBe('none');
  });

  test('t2 a person’s word on an ended run changes its outcome and never its status', () => {
    const { run, add } = ending('refuted');
    const said = (decision: 'accept' | 'reject') => {
      add('run.criterion_decided', { criterion: 'c1', decision, by: ID });
      return [run.row()!.status, run.row()!.outcome];
    };
    expect(said('accept')).toEqual(['completed', 'verified']);
    expect(said('reject')).toEqual(['completed', 'partial']);
    run.rewind(run.head - 2);
    expect(run.row()!.outcome).toBe('partial');
  });

  test('t2 of a run that an earlier version ended is claimed', () => {
    const { run, add } = begun();
    add('run.completed', {});
    expect(run.row()!.outcome).toBe('claimed');
  });

  test('t2 is in the words and in the colour of a completed run: only verified is green', () => {
    const looks = (['verified', 'claimed', 'partial', 'none', null] as const).map(completedLook);
    expect(looks.map(({ label, tone, mark }) => `${mark} ${label} ${tone}`)).toEqual([
      '✓ completed, verified done',
      '◇ completed, claimed neutral',
      '◐ completed in part partial',
      '◐ completed, nothing made partial',
      '◇ completed neutral',
    ]);
    expect(runStatusLook({ status: 'completed', outcome: 'partial' } as RunObject).tone).toBe('partial');
  });

  test('u24 lists say how many criteria hold, and that some are stale', () => {
    const { run } = ending('refuted');
    expect(criteriaTally(run.row()!)).toBe('1 of 2 criteria verified');
    const stale = run.row()!.success_criteria.map((criterion) => ({ ...criterion, stale: true }));
    expect(criteriaTally({ status: 'completed', success_criteria: stale.slice(0, 1) })).toBe('0 of 1 criterion verified, 1 stale');
    expect(criteriaTally({ status: 'running', success_criteria: stale })).toBe('');
  });

  test('t2 events of an end are green only for success', () => {
    const tone = (type: string, payload: object) => eventTone({ type, payload });
    expect([tone('run.completed', { outcome: 'verified' }), tone('run.completed', { outcome: 'claimed' }), tone('run.completed', { outcome: 'partial' }), tone('run.completed', {})]).toEqual([
      'done',
      null,
      'partial',
      null,
    ]);
    expect([tone('tree.node_completed', { outcome: 'success' }), tone('tree.node_completed', { outcome: 'partial' }), tone('tree.node_completed', { outcome: 'no_op' })]).toEqual([
      'done',
      'partial',
      null,
    ]);
    expect(eventText({ type: 'run.completed', payload: { outcome: 'partial' } }, () => null)).toBe('completed in part');
    expect(eventText({ type: 'tree.node_completed', payload: { outcome: 'no_op' }, nodeId: 'x' }, () => ({ ordinal: 2, title: 'Look' }))).toBe('– n2 Look: nothing to do');
  });
});

describe('a node', () => {
  test('t2 that is partial has its own mark, word and tone wherever it is shown, and is not counted as completed', () => {
    const { events } = recorded.find((log) => log.name === 'interrupted-tree')!;
    const run = new Run();
    run.applyEvents(events);
    const at = Array.from({ length: run.stats().nodes }, (_, node) => node).find((node) => run.state.nodes.outcome.get(node) === 'partial')!;
    const look = run.state.nodes.look(at);
    expect([SIGN[look], statusWord(run.state, at), toneOf(look)]).toEqual(['◐', 'partial', 'partial']);
    expect(nodeLook(run.node(run.state.nodes.id.get(at))!)).toEqual({ tone: 'partial', mark: '◐', label: 'partial' });
    const partial = () => run.stats().partial;
    const counted = () => Array.from({ length: run.stats().nodes }, (_, at) => run.state.nodes.outcome.get(at)).filter((outcome) => outcome === 'partial').length;
    expect(partial()).toBeGreaterThan(0);
    for (const seq of [run.head, 1, 40, 80, run.head]) {
      run.rewind(seq);
      expect(partial()).toBe(counted());
    }
  });

  test('t2 that is the root says what the whole run came to', () => {
    const shown = (name: string) => {
      const run = new Run();
      run.applyEvents(recorded.find((log) => log.name === name)!.events);
      const look = run.state.nodes.look(0);
      return [run.node(run.row()!.root_node_id!)!.outcome, statusWord(run.state, 0), toneOf(look), SIGN[look]];
    };
    expect(shown('rehearsed-tree')).toEqual(['success', 'verified', 'done', '✓']);
    expect(shown('scripted-tree')).toEqual(['success', 'claimed', 'neutral', '◇']);
    expect(shown('interrupted-tree')).toEqual(['success', 'partial', 'partial', '◐']);
  });

  test('t2 that had nothing to do says so', () => {
    expect(nodeLook({ status: 'completed', outcome: 'no_op' })).toMatchObject({ label: 'nothing to do', tone: 'neutral' });
    expect(nodeLook({ status: 'completed', outcome: 'success' }).tone).toBe('done');
  });
});

test('t1 what is cited leads to where it is shown', () => {
  const names = { titleOf: () => 'Prices', nodeOfArtifact: (id: string) => (id === 'a1' ? 'n1' : undefined) };
  const place = (ref: string, quote?: string) => citedPlace('r1', { ref, version: 2, quotes: [] }, names, quote);
  expect(place(`doc:${ID}`, 'a & b\n<c>')).toEqual({ label: 'Prices', href: `/documents/${ID}?version=2&quote=a+%26+b%0A%3Cc%3E` });
  expect(place(`task:${ID}`).href).toBe(`/runs/r1?view=documents&doc=${ID}`);
  expect(place('event:12')).toEqual({ label: 'event 12', href: '/runs/r1?view=events&event=12' });
  expect([place('artifact:a1').href, place('artifact:a2').href, place('elsewhere').href]).toEqual(['/runs/r1?node=n1&tab=files', null, null]);
});
