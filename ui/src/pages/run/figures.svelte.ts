// The clock and the cost of a run between two of its events. The server computes them when it is asked; here they are asked for every
// other second while the run works, and the clock goes on in between.

import { getRun, iterationsAfter } from '../../api/runs';
import type { Iteration, Run } from '../../api/shapes';
import { clock } from '../../app/clock.svelte';
import { ended } from '../../components/format';
import type { OpenRun } from './open-run.svelte';

const ASK_MS = 2_000;

export class Figures {
  private asked = $state.raw<{ run: Run; iteration: Iteration | null; at: number } | null>(null);
  private readonly working = $derived.by(() => this.openRun.opened && this.openRun.seen.live && this.openRun.row?.status === 'running');
  /** A run that rests needs nothing but its events. */
  private readonly now = $derived(this.working ? this.asked : null);
  private readonly since = $derived(this.now?.run.running ? Math.max(0, clock.now - this.now.at) : 0);

  constructor(private readonly openRun: OpenRun) {
    $effect(() => {
      if (this.working) return this.keepAsking();
      this.asked = null;
    });
  }

  /** The run as it is now: with the time up to this second. */
  of(run: Run): Run {
    const known = this.now?.run.metrics.running_ms ?? 0;
    return { ...run, metrics: { ...run.metrics, running_ms: Math.max(run.metrics.running_ms, known + this.since) } };
  }

  /** What the run has cost by now, while a call is in flight; null when all of it is settled. */
  cost(run: Run): number | null {
    const estimate = this.now?.run.running?.estimated_cost_usd ?? 0;
    return run.metrics.cost_known && estimate > run.metrics.cost_usd ? estimate : null;
  }

  /** The iteration that is going on, with what it has used by now. */
  iteration(item: Iteration): Iteration {
    const known = this.now?.iteration;
    if (item.metrics !== null || known?.metrics == null || known.iteration !== item.iteration) return item;
    const metrics = { ...known.metrics, running_ms: known.metrics.running_ms + this.since };
    return { ...item, metrics, ...(known.running ? { running: known.running } : {}) };
  }

  private keepAsking(): () => void {
    let stopped = false;
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') return;
      try {
        const run = await getRun(this.openRun.id);
        const [iteration = null] = run.kind === 'homework' && !ended(run.status) ? await iterationsAfter(run.id, run.iteration - 1) : [];
        if (!stopped) this.asked = { run, iteration, at: Date.now() };
      } catch {
        // The stream says when the server is away; the clock stands still until it is back.
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), ASK_MS);
    return () => {
      stopped = true;
      clearInterval(timer);
    };
  }
}
