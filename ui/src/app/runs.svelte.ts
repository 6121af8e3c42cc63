// The runs this tab has loaded, kept current by the event stream. The list, the counts in the navigation and the tab title read from here.

import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { Problem } from '../api/http';
import { getRun, listRuns } from '../api/runs';
import type { Run } from '../api/shapes';
import { ended, openQuestions } from '../components/format';
import { live } from './live.svelte';
import { permissions } from './permissions.svelte';

const PAGE = 100;

class Runs {
  byId = new SvelteMap<string, Run>();
  /** Deleted, or no longer visible to this person. */
  gone = new SvelteSet<string>();
  loaded = $state(false);
  problem = $state.raw<Problem | null>(null);
  nextCursor = $state<string | null>(null);

  /** Runs that need a person first, then active ones, then the newest. */
  sorted = $derived([...this.byId.values()].sort((a, b) => urgency(a) - urgency(b) || (a.created_at < b.created_at ? 1 : -1)));
  /** Runs with a question that this person may answer. */
  asking = $derived(this.sorted.filter((run) => openQuestions(run).length > 0 && permissions.steer(run).may !== false));
  active = $derived(this.sorted.filter((run) => run.status === 'running' || run.status === 'queued'));

  constructor() {
    live.onrun = (run) => this.put(run);
    live.ongone = (id) => {
      this.byId.delete(id);
      this.gone.add(id);
    };
  }

  /** Responses can arrive out of order: an older state never replaces a newer one. */
  put(run: Run): void {
    const known = this.byId.get(run.id);
    this.gone.delete(run.id);
    if (!known || known.last_seq <= run.last_seq) this.byId.set(run.id, run);
  }

  async load(): Promise<void> {
    try {
      const page = await listRuns({ limit: PAGE });
      for (const run of page.items) this.put(run);
      if (!this.loaded) this.nextCursor = page.next_cursor;
      this.loaded = true;
      this.problem = null;
    } catch (error) {
      if (error instanceof Problem) this.problem = error;
    }
  }

  async loadMore(): Promise<void> {
    if (this.nextCursor === null) return;
    const page = await listRuns({ limit: PAGE, cursor: this.nextCursor });
    for (const run of page.items) this.put(run);
    this.nextCursor = page.next_cursor;
  }

  async fetch(id: string): Promise<Run> {
    const run = await getRun(id);
    this.put(run);
    return run;
  }
}

export function urgency(run: Run): number {
  // A run that this person may not steer is never urgent to them.
  const mine = permissions.steer(run).may !== false;
  if (mine && openQuestions(run).length > 0) return 0;
  if (mine && !ended(run.status) && run.metrics.no_progress_streak >= 2) return 1;
  if (run.status === 'running') return 2;
  if (run.status === 'queued' || run.status === 'paused') return 3;
  return 4;
}

export const runs = new Runs();
