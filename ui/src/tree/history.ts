// The past, read in one pass over the event index: the status of each node over time, and usage over time. It only reads,
// and nothing after the shown moment.

import { NONE } from '../model/nodes';
import type { Run } from '../model/run';
import { FAILED, isActive, isTerminal, ABSENT } from '../model/statuses';
import type { TimeScale } from './timeline';

/** A node in one state, from one event to another. */
export interface Span {
  status: number;
  from: number;
  to: number;
}

export function spansOf(run: Run): Map<number, Span[]> {
  const { events, undoLog } = run.state;
  const spans = new Map<number, Span[]>();
  for (let step = 1; step <= undoLog.at; step++) {
    const [node, status] = [events.node.get(step), events.status.get(step)];
    if (node === NONE || status === ABSENT) continue;
    const known = spans.get(node);
    const last = known?.at(-1);
    if (last?.status === status) continue;
    if (last) last.to = run.base + step;
    const span = { status, from: run.base + step, to: run.at };
    if (known) known.push(span);
    else spans.set(node, [span]);
  }
  // Final states have no end, so they are left out.
  for (const [node, of] of spans)
    spans.set(
      node,
      of.filter((span) => !isTerminal(span.status)),
    );
  return spans;
}

interface Sample {
  place: number;
  seq: number;
  time: number;
  cost: number;
  tokens: number;
  /** Nodes that work. */
  active: number;
  /** Events per second since the sample before. */
  rate: number;
}

const SHORTEST_S = 0.5;

/** The run at evenly spaced points of its time line, up to the moment that is shown. */
export function samples(run: Run, line: TimeScale, many: number): Sample[] {
  const { events, undoLog, charges } = run.state;
  const found: Sample[] = [];
  const status = new Map<number, number>();
  let [step, charge, cost, tokens, active] = [0, 0, 0, 0, 0];
  const time = (at: number) => events.time.get(Math.max(run.base === 0 ? 1 : 0, at));
  const move = (to: number) => {
    for (; charge < charges.rows && charges.stepOf(charge) <= to; charge++) {
      cost += charges.costOf(charge);
      tokens += charges.tokensOf(charge);
    }
    while (step < to) {
      const node = events.node.get(++step);
      if (node === NONE) continue;
      const [was, is] = [status.get(node) ?? ABSENT, events.status.get(step)];
      active += Number(works(is)) - Number(works(was));
      status.set(node, is);
    }
  };
  for (let at = 0; at <= many; at++) {
    const seq = Math.min(run.at, line.seqAt(at / many));
    const before = found.at(-1);
    const began = step;
    move(seq - run.base);
    // Events within a very short time give no meaningful rate.
    const seconds = before ? Math.max(SHORTEST_S, (time(step) - before.time) / 1000) : 0;
    found.push({ place: at / many, seq, time: time(step), cost: cost / 1e6, tokens, active, rate: seconds > 0 ? (step - began) / seconds : 0 });
    if (seq >= run.at || step >= undoLog.at) break;
  }
  return found;
}

const works = (status: number): boolean => status !== ABSENT && isActive(status);

interface DepthRow {
  depth: number;
  nodes: number;
  failed: number;
  cost: number;
  tokens: number;
  calls: number;
}

/** What each depth of the tree used itself, without what is below it. */
export function byDepth(run: Run): DepthRow[] {
  const { nodes } = run.state;
  const rows: DepthRow[] = [];
  for (let node = 0; node < nodes.count; node++) {
    const depth = nodes.depth.get(node);
    const row = (rows[depth] ??= { depth, nodes: 0, failed: 0, cost: 0, tokens: 0, calls: 0 });
    const own = { cost: nodes.costMicros.get(node) / 1e6, tokens: nodes.tokensIn.get(node) + nodes.tokensOut.get(node), calls: nodes.modelCalls.get(node) };
    for (const child of nodes.children(node)) {
      own.cost -= nodes.costMicros.get(child) / 1e6;
      own.tokens -= nodes.tokensIn.get(child) + nodes.tokensOut.get(child);
      own.calls -= nodes.modelCalls.get(child);
    }
    row.nodes++;
    row.failed += Number(nodes.status.get(node) === FAILED);
    row.cost += own.cost;
    row.tokens += own.tokens;
    row.calls += own.calls;
  }
  return rows;
}
