// A run or a tree as reactive Svelte state: whatever reads it runs again after it changed.

import { createSubscriber } from 'svelte/reactivity';

interface Watchable {
  /** Calls the listener after changes. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
}

/** The same object. Reading any part of it subscribes the reader, who runs again at most once in `pauseMs`. */
export function watch<T extends Watchable>(source: T, pauseMs = 0): T {
  const subscribe = createSubscriber((update) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        update();
      }, pauseMs);
    };
    const unsubscribe = source.subscribe(pauseMs === 0 ? update : later);
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  });
  return new Proxy(source, {
    get(_, name) {
      subscribe();
      const part = Reflect.get(source, name, source);
      return typeof part === 'function' ? part.bind(source) : part;
    },
  });
}
