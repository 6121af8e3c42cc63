// The events of one node up to the shown moment, and what the node panel reads from them.

import { nodeEventsAfter } from '../../api/runs';
import type { EventOf, StoredEvent } from '../../model/run';
import type { OpenRun } from './open-run.svelte';

const PAUSE_MS = 700;
const PAGE = 500;

export class NodeLog {
  private all = $state.raw<StoredEvent[]>([]);
  error = $state.raw<unknown>(null);
  loaded = $state(false);
  readonly events = $derived.by(() => this.all.filter((event) => event.seq <= this.openRun.seen.at));
  private readonly created = $derived(this.last('tree.node_created'));
  readonly agent = $derived(this.created?.payload.agent ?? null);
  readonly reason = $derived(this.created?.payload.reason ?? '');
  readonly criteria = $derived(this.created?.payload.successCriteria ?? []);
  readonly result = $derived(this.last('tree.node_result')?.payload.result ?? null);
  readonly shortfall = $derived(this.last('tree.node_completed')?.payload.shortfall ?? null);
  readonly aggregated = $derived(this.last('tree.node_aggregated')?.payload ?? null);
  readonly plans = $derived(this.events.filter((event) => event.type === 'tree.plan_created').map((event) => event.payload));
  readonly entries = $derived(
    this.events
      .filter((event) => event.type === 'tree.scratchpad_updated')
      .map((event) => ({ seq: event.seq, at: event.timestamp, markdown: event.payload.markdown ?? event.payload.tailPreview }))
      .reverse(),
  );

  constructor(
    private readonly openRun: OpenRun,
    private readonly id: string,
  ) {
    // The number of the node's own events: it changes with the node, not with every event of the run.
    const known = $derived(openRun.seen.eventsOf(id).length);
    $effect(() => {
      if (this.loaded && known <= this.events.length) return;
      const timer = setTimeout(() => void this.read(), this.loaded ? PAUSE_MS : 0);
      return () => clearTimeout(timer);
    });
  }

  private last<Type extends StoredEvent['type']>(type: Type): EventOf<Type> | undefined {
    return this.events.findLast((event): event is EventOf<Type> => event.type === type);
  }

  /** Reads the events since the last call; earlier ones never change. */
  private async read(): Promise<void> {
    try {
      for (let full = true; full;) {
        const more = await nodeEventsAfter(this.openRun.id, this.id, this.all.at(-1)?.seq ?? 0, PAGE);
        this.all = [...this.all, ...more];
        full = more.length === PAGE;
      }
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.loaded = true;
  }
}
