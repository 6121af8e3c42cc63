// A run as reactive Svelte state: whatever reads it runs again after the run changed, at most once per frame.

import { createSubscriber } from 'svelte/reactivity';
import type { Stats } from './selectors';
import type { Run, RunRow } from './run';

interface Watched {
  readonly version: number;
  readonly at: number;
  readonly head: number;
  readonly live: boolean;
  readonly row: RunRow | null;
  readonly stats: Stats;
}

export function watch(run: Run): Watched {
  const subscribe = createSubscriber((update) => run.subscribe(update));
  const seen = <T>(of: () => T): T => {
    subscribe();
    return of();
  };
  return {
    get version() {
      return seen(() => run.version);
    },
    get at() {
      return seen(() => run.at);
    },
    get head() {
      return seen(() => run.head);
    },
    get live() {
      return seen(() => run.live);
    },
    get row() {
      return seen(() => run.row());
    },
    get stats() {
      return seen(() => run.stats());
    },
  };
}
