// One open run: folds its events, follows the tab's stream, and can show any earlier moment.

import { Problem } from '../../api/http';
import { eventsAfter, getRun, snapshot } from '../../api/runs';
import type { Run as RunObject } from '../../api/shapes';
import { live } from '../../app/live.svelte';
import { runs } from '../../app/runs.svelte';
import { Feed, loadHistory } from '../../model/feed';
import { Run, type StoredEvent } from '../../model/run';
import { watch } from '../../model/watch.svelte';
import { Tree } from '../../tree/tree';
import { Figures } from './figures.svelte';
import { Writings } from './writings.svelte';

/** A log this long is opened from a snapshot. Its past is read when somebody looks at it. */
const WHOLE_LOG = 4_000;

export class OpenRun {
  readonly run = new Run();
  /** The run, for what has to follow its changes. */
  readonly seen = watch(this.run);
  readonly tree = new Tree(this.run);
  readonly feed = new Feed(this.run, (after, limit) => eventsAfter(this.id, after, limit));
  problem = $state.raw<Problem | null>(null);
  opened = $state(false);
  loadingPast = $state(false);
  /** What calls in flight are writing. */
  readonly writings = new Writings();
  readonly figures: Figures;
  /** The run as shown: folded here, or from the list until that is done. */
  readonly row = $derived.by(() => {
    const [folded, known] = [this.opened ? (this.seen.row() as RunObject | null) : null, runs.byId.get(this.id) ?? null];
    if (folded === null || folded.last_seq !== known?.last_seq) return folded ?? known;
    // Only the server knows whether what was checked has changed since.
    return { ...folded, outcome: known.outcome, success_criteria: known.success_criteria };
  });
  private unfollow: (() => void) | null = null;
  private closed = false;

  constructor(readonly id: string) {
    this.figures = new Figures(this);
    void this.open();
  }

  async open(): Promise<void> {
    this.problem = null;
    try {
      const row = await getRun(this.id);
      runs.put(row);
      if (row.last_seq > WHOLE_LOG) this.run.startFrom(await snapshot(this.id));
      else await this.feed.catchUp();
    } catch (error) {
      this.problem = error instanceof Problem ? error : new Problem(0, String(error));
      return;
    }
    this.opened = true;
    if (this.closed) return;
    this.unfollow = live.follow({
      run: this.id,
      head: () => this.run.head,
      take: (event) => this.take(event as StoredEvent),
      delta: (delta) => this.writings.delta(delta),
    });
  }

  close(): void {
    this.closed = true;
    this.unfollow?.();
    this.tree.destroy();
  }

  async loadPast(): Promise<void> {
    if (this.loadingPast || this.run.base === 0) return;
    this.loadingPast = true;
    try {
      await loadHistory(this.run, (after, limit) => eventsAfter(this.id, after, limit));
    } finally {
      this.loadingPast = false;
    }
  }

  private take(event: StoredEvent): void {
    this.writings.take(event);
    this.feed.push(event);
  }
}
