// A run as reactive Svelte state: whatever reads it runs again after the run changed, at most once per frame.

import { createSubscriber } from 'svelte/reactivity';
import type { Run } from './run';

/** The same run. Reading any part of it subscribes the reader. */
export function watch(run: Run): Run {
  const subscribe = createSubscriber((update) => run.subscribe(update));
  return new Proxy(run, {
    get(_, name) {
      subscribe();
      const part = Reflect.get(run, name, run);
      return typeof part === 'function' ? part.bind(run) : part;
    },
  });
}
