// The history that the timeline and the metrics show, read from the event index alone.

import { describe, expect, it } from 'vitest';
import { NONE } from '../src/model/nodes';
import { Run } from '../src/model/run';
import { isTerminal, NODE_STATUSES } from '../src/model/statuses';
import { criticalPath } from '../src/tree/critical-path';
import { byDepth, samples, spansOf } from '../src/tree/history';
import { TimeScale } from '../src/tree/timeline';
import { grow } from './generated-log';
import { recorded } from './recorded-logs';

function played(log: (typeof recorded)[number]): Run {
  const run = new Run();
  run.applyEvents(log.events);
  return run;
}

describe.each(recorded.map((log) => [log.name, log] as const))('%s', (_, log) => {
  it('has spans that follow each other and end with the state of the node', () => {
    const run = played(log);
    for (const share of [0.3, 0.6, 1]) {
      run.rewind(Math.floor(run.head * share));
      const spans = spansOf(run);
      for (let node = 0; node < run.state.nodes.count; node++) {
        const its = spans.get(node) ?? [];
        for (let at = 1; at < its.length; at++) expect(its[at].from).toBeGreaterThanOrEqual(its[at - 1].to);
        for (const { from, to } of its) expect(from <= to && to <= run.at).toBe(true);
        const now = run.state.nodes.status.get(node);
        if (!isTerminal(now)) expect(NODE_STATUSES[its.at(-1)!.status]).toBe(NODE_STATUSES[now]);
      }
      run.toLive();
    }
  });

  it('adds up to what the run says it used, at any moment', () => {
    const run = played(log);
    for (const share of [0.25, 0.5, 1]) {
      run.rewind(Math.floor(run.head * share));
      const last = samples(run, new TimeScale(run, 1), 50).at(-1)!;
      const { metrics } = run.row()!;
      expect(last.seq).toBe(run.at);
      expect(last.cost).toBeCloseTo(metrics.cost_usd, 6);
      expect(last.tokens).toBe(metrics.tokens_in + metrics.tokens_out);
      expect(last.active).toBe(run.stats().active);
      run.toLive();
    }
  });

  it('shares everything out among the depths', () => {
    const run = played(log);
    const rows = byDepth(run);
    expect(rows.reduce((sum, row) => sum + row.nodes, 0)).toBe(run.stats().nodes);
    if (rows.length > 0) expect(rows.reduce((sum, row) => sum + row.cost, 0)).toBeCloseTo(run.state.nodes.costMicros.get(0) / 1e6, 6);
  });
});

describe('the critical path', () => {
  const run = new Run();
  run.applyEvents(grow({ nodes: 300, seed: 3, parallel: 6 }));
  const { nodes } = run.state;
  const path = criticalPath(nodes);

  it('is a tree of its own from the root down', () => {
    expect(path.has(0)).toBe(true);
    for (const node of path) expect(node === 0 || path.has(nodes.parent.get(node))).toBe(true);
  });

  it('holds the child that ended last, and never two children that worked at the same time', () => {
    for (const node of path) {
      const children = [...nodes.children(node)];
      if (children.length === 0) continue;
      const on = children.filter((child) => path.has(child)).sort((a, b) => nodes.ended.get(a) - nodes.ended.get(b));
      const last = children.reduce((best, child) => (nodes.ended.get(child) > nodes.ended.get(best) ? child : best));
      expect(nodes.ended.get(on.at(-1) ?? NONE)).toBe(nodes.ended.get(last));
      for (let at = 1; at < on.length; at++) expect(nodes.created.get(on[at])).toBeGreaterThanOrEqual(nodes.ended.get(on[at - 1]));
    }
  });

  it('leaves most of a wide tree out', () => {
    expect(path.size).toBeLessThan(nodes.count / 2);
  });
});
