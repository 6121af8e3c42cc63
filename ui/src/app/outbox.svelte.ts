// Messages to runs that the server has not stored yet. Their text stays in its form until then, and
// commands that make the run continue wait for them, so that the run sees the message first.

import { Problem } from '../api/http';
import { say } from '../api/runs';
import { runs } from './runs.svelte';

class Draft {
  text = $state('');
  lane = $state<'steer' | 'queue'>('steer');
  state = $state<'writing' | 'sending' | 'failed'>('writing');
  error = $state.raw<unknown>(null);
  /** Resolves to true when the server has stored the message. */
  flight: Promise<boolean> | null = null;
  /** The idempotency key of what was sent: sending the same text again after a lost response does not store it twice. */
  private sent = { key: '', text: '', lane: '' };

  constructor(
    readonly run: string,
    readonly node: string | undefined,
  ) {}

  send(): Promise<boolean> {
    this.flight ??= this.deliver().finally(() => (this.flight = null));
    return this.flight;
  }

  private async deliver(): Promise<boolean> {
    const text = this.text.trim();
    if (text === '') return true;
    if (this.sent.text !== text || this.sent.lane !== this.lane) this.sent = { key: crypto.randomUUID(), text, lane: this.lane };
    this.state = 'sending';
    this.error = null;
    try {
      runs.put(await say(this.run, text, this.lane, this.node, this.sent.key));
    } catch (problem) {
      this.error = problem;
      this.state = 'failed';
      return false;
    }
    this.sent = { key: '', text: '', lane: '' };
    this.text = '';
    this.state = 'writing';
    return true;
  }
}

class Outbox {
  private drafts = new Map<string, Draft>();

  /** The draft to this run or node. It is kept when its form is closed. */
  draft(run: string, node?: string): Draft {
    const key = `${run} ${node ?? ''}`;
    const draft = this.drafts.get(key) ?? new Draft(run, node);
    this.drafts.set(key, draft);
    return draft;
  }

  /** Runs a command that makes the run continue, once every message to the run is stored. */
  async before<T>(run: string, command: () => Promise<T>): Promise<T> {
    const flights = [...this.drafts.values()].filter((draft) => draft.run === run).map((draft) => draft.flight);
    const stored = await Promise.all(flights);
    if (stored.includes(false)) throw new Problem(0, 'Your message was not stored, so the run was not told to go on. Send the message again first, or clear it.');
    return command();
  }
}

export const outbox = new Outbox();
