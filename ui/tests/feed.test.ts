import { describe, expect, it } from 'vitest';
import { Feed, loadHistory } from '../src/model/feed';
import { Run } from '../src/model/run';
import { recorded } from './recorded-logs';
import { snapshotOf } from './snapshot-of';

const { events } = recorded.find((log) => log.name.includes('tree'))!;
const log =
  (reads: number[] = []) =>
  async (after: number, limit: number) => {
    reads.push(after);
    return events.slice(after, after + limit);
  };
const whole = () => {
  const run = new Run();
  run.applyEvents(events);
  return snapshotOf(run);
};

describe('a feed', () => {
  it('puts shuffled and repeated events in order without reading anything twice', async () => {
    const run = new Run();
    const reads: number[] = [];
    const feed = new Feed(run, log(reads));
    feed.push([events[0], events[1], events[1], events[3], events[2], events[4]]);
    await feed.catchUp();
    expect(snapshotOf(run)).toEqual(whole());
  });

  it('heals a gap by reading what is missing from the log', async () => {
    const run = new Run();
    const feed = new Feed(run, log());
    feed.push(events.slice(0, 10));
    feed.push(events.slice(30, 50));
    expect(run.head).toBe(10);
    expect(feed.state).toBe('healing');
    await feed.catchUp();
    expect(feed.state).toBe('live');
    expect(snapshotOf(run)).toEqual(whole());
  });

  it('tries again when reading fails, and says so when it keeps failing', async () => {
    const run = new Run();
    let attempts = 0;
    const feed = new Feed(run, async (after, limit) => {
      if (attempts++ === 0) throw new Error('the server is restarting');
      return log()(after, limit);
    });
    feed.push(events[20]);
    await feed.catchUp();
    expect(run.head).toBe(events.length);
    expect(attempts).toBe(2);
  });
});

describe('history', () => {
  it('makes the time before a snapshot visible, and keeps the moment that is shown', async () => {
    const past = new Run();
    past.applyEvents(events.slice(0, 60));
    const run = new Run(snapshotOf(past)!);
    run.applyEvents(events.slice(60));
    expect(run.base).toBe(60);
    await loadHistory(run, log());
    expect([run.base, run.at, run.head]).toEqual([0, events.length, events.length]);
    run.rewind(5);
    expect(run.stats().nodes).toBe(1);
  });
});
