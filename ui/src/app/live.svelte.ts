// The one event stream of this tab. Each follower of a run says how far it has read, so a new connection resumes at the next event.

import { Problem, sendRequest } from '../api/http';
import type { Notification, Run } from '../api/shapes';
import { readStream, type Message } from '../api/sse';
import type { Delta } from '../model/writing';

export interface Follower {
  run: string;
  /** The last event it has. */
  head: () => number;
  take: (event: unknown) => void;
  delta?: (delta: Delta) => void;
}

/** The server sends a heartbeat every 15 s. After two missed ones the connection counts as dead. */
const SILENCE_MS = 32_000;
const SLOWEST_RETRY_MS = 10_000;

class Live {
  state = $state<'connecting' | 'live' | 'lost'>('connecting');
  /** When the stream last delivered anything: the page is at least this new. */
  asOf = $state(Date.now());
  onrun: (run: Run) => void = () => {};
  ongone: (id: string) => void = () => {};
  onnotice: (notice: Notification) => void = () => {};
  /** Called after every connection, to read again what has no cursor of its own. */
  onconnect: () => void = () => {};

  private followers = new Set<Follower>();
  private abort: AbortController | null = null;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private wanted = false;

  constructor() {
    addEventListener('online', () => this.reconnect());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && this.state === 'lost') this.reconnect();
    });
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    this.reconnect();
  }

  stop(): void {
    this.wanted = false;
    this.abort?.abort();
    clearTimeout(this.retry);
  }

  /** Follow a run until the returned function is called. */
  follow(follower: Follower): () => void {
    this.followers.add(follower);
    this.reconnect();
    return () => {
      this.followers.delete(follower);
      this.reconnect();
    };
  }

  reconnect(): void {
    clearTimeout(this.retry);
    this.abort?.abort();
    if (this.wanted) void this.connect();
  }

  private address(): string {
    const runs = [...this.followers].map((follower) => `run:${follower.run}@${follower.head()}`);
    return `/api/stream?topics=${['runs', 'notifications', ...runs].map(encodeURIComponent).join(',')}`;
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const beat = (): void => {
      this.asOf = Date.now();
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort('silence'), SILENCE_MS);
    };
    try {
      // Followers that come and go in the same turn cause one connection, not several.
      await Promise.resolve();
      if (abort.signal.aborted) return;
      const response = await sendRequest('GET', this.address(), { headers: { accept: 'text/event-stream' }, signal: abort.signal });
      this.failures = 0;
      this.state = 'live';
      beat();
      this.onconnect();
      await readStream(response, (message) => this.dispatch(message), beat);
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return;
    } finally {
      clearTimeout(watchdog);
    }
    if (this.abort === abort && this.wanted) this.again();
  }

  private again(): void {
    this.state = 'lost';
    const pause = Math.min(SLOWEST_RETRY_MS, 400 * 2 ** this.failures) * (0.7 + Math.random() * 0.6);
    this.failures += 1;
    this.retry = setTimeout(() => this.reconnect(), pause);
  }

  private dispatch(message: Message): void {
    const data = JSON.parse(message.data) as Record<string, unknown>;
    switch (message.event) {
      case 'run':
        return this.onrun(data as unknown as Run);
      case 'run_gone':
        return this.ongone(String(data.id));
      case 'notification':
        return this.onnotice(data as unknown as Notification);
      case 'delta':
        for (const follower of this.followers) if (follower.run === data.run_id) follower.delta?.(data as unknown as Delta);
        return;
      case 'message':
        for (const follower of this.followers) if (follower.run === data.runId) follower.take(data);
        return;
    }
  }
}

export const live = new Live();
