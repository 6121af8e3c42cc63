// The time scale of a run: event density, failure marks, and which event is at which point. Time in which nothing
// happened is squeezed, so that a night of waiting does not fill the bar.

import type { Run } from '../model/run';

type MarkKind = 'failed' | 'question' | 'replan';

export interface Mark {
  kind: MarkKind;
  seq: number;
  /** 0 at the left end, 1 at the right. */
  place: number;
}

const MARKS: Record<string, MarkKind> = {
  'tree.node_failed': 'failed',
  'run.failed': 'failed',
  'run.question_asked': 'question',
  'tree.replan_requested': 'replan',
  'homework.replan_forced': 'replan',
};

/** A pause between two events takes at most this part of the whole. */
const LONGEST_PAUSE = 1 / 40;
const SHORTEST_PAUSE_MS = 50;
const TURNS = 8;
const MAX_MARKS = 400;

export class TimeScale {
  readonly bars: Float32Array;
  readonly marks: Mark[] = [];
  readonly first: number;
  readonly last: number;
  /** Squeezed milliseconds up to each event. */
  private readonly elapsed: Float64Array;

  constructor(
    private readonly run: Run,
    bars: number,
  ) {
    const { state } = run;
    this.first = run.base;
    this.last = run.base + state.undoLog.end;
    const count = this.last - this.first;
    this.elapsed = new Float64Array(count + 1);
    this.bars = new Float32Array(bars);
    this.squeeze(count);
    this.fill(count);
  }

  /** The position of an event, from 0 to 1. */
  placeOf(seq: number): number {
    const at = Math.max(0, Math.min(this.last, seq) - this.first);
    const whole = this.elapsed[this.elapsed.length - 1];
    return whole === 0 ? at / Math.max(1, this.last - this.first) : this.elapsed[at] / whole;
  }

  /** The last event before a position. */
  seqAt(place: number): number {
    const whole = this.elapsed[this.elapsed.length - 1];
    if (whole === 0) return this.first + Math.round(place * (this.last - this.first));
    const wanted = place * whole;
    let [low, high] = [0, this.elapsed.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.elapsed[middle] <= wanted) low = middle;
      else high = middle - 1;
    }
    return this.first + low;
  }

  /** The squeezed time of an event; playback advances in it. */
  timeOf(seq: number): number {
    return this.elapsed[Math.max(0, Math.min(this.last, seq) - this.first)];
  }

  seqAfter(time: number): number {
    return this.seqAt(Math.min(1, time / Math.max(1, this.elapsed[this.elapsed.length - 1])));
  }

  get length(): number {
    return this.elapsed[this.elapsed.length - 1];
  }

  private squeeze(count: number): void {
    const { time } = this.run.state.events;
    const start = time.get(this.first === 0 ? 1 : 0);
    const pause = (at: number) => Math.max(0, time.get(at) - (at === 1 ? start : time.get(at - 1)));
    let whole = Math.max(0, time.get(count) - start);
    // Shortening the long pauses shortens the whole, which changes what counts as long. A few rounds converge.
    for (let turn = 0; turn < TURNS; turn++) {
      const cap = Math.max(SHORTEST_PAUSE_MS, whole * LONGEST_PAUSE);
      for (let at = 1; at <= count; at++) this.elapsed[at] = this.elapsed[at - 1] + Math.min(cap, pause(at));
      if (this.elapsed[count] > whole * 0.9) return;
      whole = this.elapsed[count];
    }
  }

  private fill(count: number): void {
    const { events } = this.run.state;
    const kinds = events.types.list.map((type) => MARKS[type]);
    const whole = this.elapsed[count];
    let most = 1;
    for (let at = 1; at <= count; at++) {
      const place = whole === 0 ? at / count : this.elapsed[at] / whole;
      const bar = Math.min(this.bars.length - 1, Math.floor(place * this.bars.length));
      most = Math.max(most, ++this.bars[bar]);
      const kind = kinds[events.type.get(at)];
      if (kind && this.marks.length < MAX_MARKS) this.marks.push({ kind, seq: this.first + at, place });
    }
    for (let bar = 0; bar < this.bars.length; bar++) this.bars[bar] /= most;
  }
}

/** The event before or after `seq` that belongs to a node, or any event if no node is given. */
export function neighbour(run: Run, seq: number, direction: 1 | -1, node: number | null): number {
  const { events, undoLog } = run.state;
  for (let at = seq - run.base + direction; at >= 1 && at <= undoLog.end; at += direction) {
    if (node === null || events.node.get(at) === node) return run.base + at;
  }
  return direction === 1 ? run.head : run.base;
}

export function timeAt(run: Run, seq: number): number {
  return run.state.events.time.get(Math.max(run.base === 0 ? 1 : 0, Math.min(seq - run.base, run.state.undoLog.end)));
}
