import { describe, expect, it } from 'vitest';
import type { NodeColumns } from '../src/api/shapes';
import { Run, type RunRow, type StoredEvent } from '../src/model/run';
import { recorded } from './recorded-logs';
import { snapshotOf } from './snapshot-of';

const folded = (events: StoredEvent[]) => {
  const run = new Run();
  expect(run.applyEvents(events)).toEqual({ applied: events.length, gap: false });
  return run;
};
/** What the server says of a run and the page does not fold. The plan of a tree it has as the steps of the root. */
const asFolded = ({ head: _, ...row }: RunRow & { head?: string }): RunRow => {
  const { outside_iterations: __, wrap_up: ___, ...metrics } = row.metrics;
  return { ...row, metrics, plan: row.kind === 'tree' ? null : row.plan };
};
const columnsAsFolded = ({ documents: _, tokens_presumed: __, ...columns }: NodeColumns) => columns;
/** A snapshot of the server names no paused nodes: it has them in its columns. */
const withoutPausedNodes = ({ paused_nodes: _, ...row }: RunRow): RunRow => row;

describe.each(recorded)('the log $name', ({ events, row, snapshots }) => {
  it('folds to the run object the server ends with', () => {
    expect(folded(events).row()).toEqual(asFolded(row));
  });

  it('shows at every recorded moment what the server showed then', () => {
    const run = folded(events);
    for (const snapshot of snapshots) {
      run.rewind(snapshot.seq);
      const shown = snapshotOf(run)!;
      expect({ ...shown, run: withoutPausedNodes(shown.run) }).toEqual({
        ...snapshot,
        last_seq: events.length,
        run: asFolded(snapshot.run),
        nodes: snapshot.nodes && columnsAsFolded(snapshot.nodes),
      });
    }
  });

  it('rewinds to any moment as if nothing had come after it, and forward again', () => {
    const run = folded(events);
    const end = snapshotOf(run);
    const step = Math.max(1, Math.floor(events.length / 40));
    for (let seq = events.length; seq > 0; seq -= step) {
      run.rewind(seq);
      const fresh = snapshotOf(folded(events.slice(0, seq)));
      expect(snapshotOf(run)).toEqual({ ...fresh, last_seq: events.length });
    }
    run.rewind(0);
    expect(run.row()?.status).toBe('queued');
    expect(run.stats().nodes).toBe(0);
    run.toLive();
    expect(snapshotOf(run)).toEqual(end);
  });

  it('continues from a snapshot of any moment as if it had seen everything before', () => {
    const whole = folded(events);
    const end = snapshotOf(whole);
    for (let seq = 1; seq <= events.length; seq += 7) {
      whole.rewind(seq);
      const from = snapshotOf(whole)!;
      const run = new Run(from);
      expect(snapshotOf(run)).toEqual({ ...from, last_seq: seq });
      run.applyEvents(events.slice(seq));
      expect(snapshotOf(run)?.nodes).toEqual(end?.nodes);
      expect(run.row()?.metrics.cost_usd).toBe(end?.run.metrics.cost_usd);
    }
  });
});

describe('a run', () => {
  const { events } = recorded.find((log) => log.name.includes('tree'))!;

  it('ignores what it has, names a gap, and passes over types it does not know', () => {
    const run = new Run();
    expect(run.applyEvent(events[0])).toBe('applied');
    expect(run.applyEvent(events[0])).toBe('known');
    expect(run.applyEvent(events[2])).toBe('gap');
    const before = snapshotOf(run);
    expect(run.applyEvent({ ...events[1], type: 'tree.invented_tomorrow', payload: { a: [1] } } as unknown as StoredEvent)).toBe('applied');
    expect(run.head).toBe(2);
    expect(snapshotOf(run)?.nodes).toEqual(before?.nodes);
  });

  it('loses nothing that arrives while an earlier moment is shown', () => {
    const run = folded(events.slice(0, 40));
    run.rewind(10);
    run.applyEvents(events.slice(40, 60));
    expect([run.at, run.head, run.live]).toEqual([10, 60, false]);
    run.rewind(50);
    expect(snapshotOf(run)?.nodes).toEqual(snapshotOf(folded(events.slice(0, 50)))?.nodes);
    run.applyEvents(events.slice(60));
    run.toLive();
    expect(snapshotOf(run)).toEqual(snapshotOf(folded(events)));
  });

  it('tells who begins to listen only of what comes: what was there, they have', () => {
    const run = folded(events);
    const told: number[] = [];
    run.subscribe((change) => told.push(Number(change.moved), change.restructured.size, change.restated.size));
    run.flush();
    expect(told).toEqual([0, 0, 0]);
  });

  it('tells listeners once for many events', async () => {
    const run = new Run();
    let told = 0;
    run.subscribe(() => told++);
    run.applyEvents(events);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(told).toBe(1);
  });
});
