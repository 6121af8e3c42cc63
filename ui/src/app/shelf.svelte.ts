// The runs this tab knows, kept current by the stream: the list, the rail's counts and the title read from here.

import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { Problem } from '../api/http';
import { getRun, listRuns } from '../api/runs';
import type { Run } from '../api/shapes';
import { ended, openQuestions } from '../parts/words';
import { live } from './live.svelte';
import { rights } from './rights.svelte';

const PAGE = 100;

class Shelf {
  runs = new SvelteMap<string, Run>();
  /** Removed, or no longer to be seen by this person. */
  gone = new SvelteSet<string>();
  loaded = $state(false);
  problem = $state.raw<Problem | null>(null);
  more = $state<string | null>(null);

  /** Sorted by what needs a person first, then what moves, then the newest. */
  sorted = $derived([...this.runs.values()].sort((a, b) => urgency(a) - urgency(b) || (a.created_at < b.created_at ? 1 : -1)));
  /** A question that somebody else has to answer does not wait for this person. */
  needing = $derived(this.sorted.filter((run) => openQuestions(run).length > 0 && rights.steer(run).may !== false));
  moving = $derived(this.sorted.filter((run) => run.status === 'running' || run.status === 'queued'));

  constructor() {
    live.onrun = (run) => this.put(run);
    live.ongone = (id) => {
      this.runs.delete(id);
      this.gone.add(id);
    };
  }

  /** An older answer never overwrites a newer one. */
  put(run: Run): void {
    const known = this.runs.get(run.id);
    this.gone.delete(run.id);
    if (!known || known.last_seq <= run.last_seq) this.runs.set(run.id, run);
  }

  async load(): Promise<void> {
    try {
      const page = await listRuns({ limit: PAGE });
      for (const run of page.items) this.put(run);
      if (!this.loaded) this.more = page.next_cursor;
      this.loaded = true;
      this.problem = null;
    } catch (error) {
      if (error instanceof Problem) this.problem = error;
    }
  }

  async loadMore(): Promise<void> {
    if (this.more === null) return;
    const page = await listRuns({ limit: PAGE, cursor: this.more });
    for (const run of page.items) this.put(run);
    this.more = page.next_cursor;
  }

  async fetch(id: string): Promise<Run> {
    const run = await getRun(id);
    this.put(run);
    return run;
  }
}

export function urgency(run: Run): number {
  // What somebody else has to do is nothing to hurry for.
  const mine = rights.steer(run).may !== false;
  if (mine && openQuestions(run).length > 0) return 0;
  if (mine && !ended(run.status) && run.metrics.no_progress_streak >= 2) return 1;
  if (run.status === 'running') return 2;
  if (run.status === 'queued' || run.status === 'paused') return 3;
  return 4;
}

export const shelf = new Shelf();
