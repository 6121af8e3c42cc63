// One node's own story: its events up to the moment that is shown, and what can be read from them.

import { getNode } from '../../api/runs';
import type { StoredEvent } from '../../model/run';
import type { Session } from './session.svelte';

const PAUSE_MS = 700;

export interface PlanVersion {
  version: number;
  summary: string | null;
  bands: { index: number; goal?: string; steps: { id: string; title: string; reason?: string; success_criteria?: string[] }[] }[];
}

export class NodeStory {
  private all = $state.raw<StoredEvent[]>([]);
  error = $state.raw<unknown>(null);
  loaded = $state(false);
  readonly events = $derived.by(() => this.all.filter((event) => event.seq <= this.session.seen.at));
  private readonly born = $derived(this.last('tree.node_created'));
  readonly reason = $derived<string>(this.born?.payload.reason ?? '');
  readonly criteria = $derived<string[]>(this.born?.payload.successCriteria ?? []);
  readonly result = $derived(this.last('tree.node_result')?.payload.result ?? null);
  readonly aggregated = $derived(this.last('tree.node_aggregated')?.payload ?? null);
  readonly plans = $derived<PlanVersion[]>(this.events.filter((event) => event.type === 'tree.plan_created').map((event) => event.payload as PlanVersion));
  readonly entries = $derived(this.events.filter((event) => event.type === 'tree.scratchpad_updated').map((event) => ({ seq: event.seq, at: event.timestamp, markdown: String(event.payload.markdown ?? event.payload.tailPreview ?? '') })).reverse());

  constructor(private readonly session: Session, private readonly id: string) {
    let first = true;
    $effect(() => {
      // Read again when the node's own log has grown, not whenever the run moves.
      void session.seen.version;
      const known = session.run.eventsOf(id).length;
      if (!first && known <= this.events.length && this.loaded) return;
      const abort = new AbortController();
      const timer = setTimeout(() => void this.read(abort.signal), first ? 0 : PAUSE_MS);
      first = false;
      return () => {
        clearTimeout(timer);
        abort.abort();
      };
    });
  }

  private last(type: string): StoredEvent | undefined {
    return this.events.findLast((event) => event.type === type);
  }

  private async read(signal: AbortSignal): Promise<void> {
    try {
      const found = await getNode<{ timeline: StoredEvent[] }>(this.session.id, this.id, signal);
      this.all = found.timeline;
      this.error = null;
      this.loaded = true;
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
  }
}
