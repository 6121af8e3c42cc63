// The answers that are being written in one run, and whose they are.

import { SvelteMap } from 'svelte/reactivity';
import type { StoredEvent } from '../../model/run';
import { type Delta, withDelta, writerOf, type Writing } from '../../model/writing';

export class Writings {
  private readonly calls = new SvelteMap<string, Writing>();
  /** Attempts that have ended: a delta that was on its way is no longer shown. */
  private readonly ended = new Set<string>();

  take(event: StoredEvent): void {
    if (event.type === 'effect.finished') {
      this.ended.add(`${event.payload.effect}:${event.payload.attempt}`);
      this.calls.delete(event.payload.effect);
    } else if (/^run\.(completed|stopped|failed|canceled)$/.test(event.type)) {
      this.calls.clear();
    }
  }

  delta(delta: Delta): void {
    if (!this.ended.has(`${delta.effect}:${delta.attempt}`)) this.calls.set(delta.effect, withDelta(this.calls.get(delta.effect), delta));
  }

  ofNode(ordinal: number): Writing[] {
    return this.where((effect) => {
      const writer = writerOf(effect);
      return writer.kind === 'node' && writer.node === ordinal;
    });
  }

  ofExecutor(iteration: number, executor: number): Writing[] {
    return this.where((effect) => {
      const writer = writerOf(effect);
      return writer.kind === 'executor' && writer.iteration === iteration && writer.executor === executor;
    });
  }

  /** Of neither a node nor an executor: the planner, a repair, the report, a step of a task. */
  ofOthers(): Writing[] {
    return this.where((effect) => writerOf(effect).kind === 'role');
  }

  private where(fits: (effect: string) => boolean): Writing[] {
    return [...this.calls.values()].filter((writing) => writing.text !== '' && fits(writing.effect));
  }
}
