// Feeds events from the network into a run, in any order. A stream may repeat events after a reconnect, and it may lose
// events while it is disconnected. Missing events are read from the log, which has no gaps.

import { Run, type StoredEvent } from './run';

type ReadEvents = (after: number, limit: number) => Promise<StoredEvent[]>;

type FeedState = 'live' | 'healing' | 'failed';

const PAGE = 1000;
/** Pauses between attempts to read missing events. */
const RETRY_AFTER_MS = [250, 1000, 3000];

export class Feed {
  state: FeedState = 'live';
  onstate: ((state: FeedState) => void) | null = null;
  /** Events that came before their predecessors. */
  private early = new Map<number, StoredEvent>();
  private healing: Promise<void> | null = null;

  constructor(
    private readonly run: Run,
    private readonly read: ReadEvents,
  ) {}

  push(events: StoredEvent | StoredEvent[]): void {
    for (const event of Array.isArray(events) ? events : [events]) {
      if (this.run.applyEvent(event) === 'gap') this.early.set(event.seq, event);
    }
    this.drain();
    if (this.early.size > 0) void this.catchUp();
  }

  /** Reads to the end of the log. A call during a read joins that read. */
  catchUp(): Promise<void> {
    this.healing ??= this.heal().finally(() => (this.healing = null));
    return this.healing;
  }

  private async heal(): Promise<void> {
    this.become('healing');
    for (let failures = 0; ;) {
      try {
        const events = await this.read(this.run.head, PAGE);
        failures = 0;
        this.run.applyEvents(events);
        this.drain();
        if (events.length < PAGE && this.early.size === 0) return this.become('live');
        if (events.length === 0) throw new Error('the log ends before an event that was announced');
      } catch {
        if (failures === RETRY_AFTER_MS.length) return this.become('failed');
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS[failures]));
        failures++;
      }
    }
  }

  private drain(): void {
    for (let next = this.early.get(this.run.head + 1); next; next = this.early.get(this.run.head + 1)) {
      this.early.delete(next.seq);
      this.run.applyEvent(next);
    }
    for (const seq of this.early.keys()) if (seq <= this.run.head) this.early.delete(seq);
  }

  private become(state: FeedState): void {
    if (state === this.state) return;
    this.state = state;
    this.onstate?.(state);
  }
}

/** Makes the time before a snapshot visible: folds the whole log beside the run, then hands over its undo log. */
export async function loadHistory(run: Run, read: ReadEvents, onprogress?: (seq: number, of: number) => void): Promise<void> {
  const whole = new Run();
  while (run.base > 0 && whole.head < run.head) {
    const events = await read(whole.head, PAGE);
    if (whole.applyEvents(events).applied === 0) throw new Error(`the log could not be read after event ${whole.head}`);
    onprogress?.(whole.head, run.head);
  }
  if (run.base > 0) run.adopt(whole);
}
