// npm run frames: what a frame costs in a real Chromium, as CPU time of the renderer's main thread between two frames (from the trace,
// so that other work on the machine does not count), beside an empty canvas in the same browser. Median of three runs. Fails above the limits.
// NODES, RATE and SECONDS in the environment change the size; ENDING=1 looks at the last seconds of the run instead of its growth.

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { browser, site } from './browser.mjs';
import { heap, median, quantile, traced } from './trace.mjs';

const NODES = Number(process.env.NODES ?? 10000);
const RATE = Number(process.env.RATE ?? 2000);
const SECONDS = Number(process.env.SECONDS ?? 3);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const LIMITS = { p50: 3, p99: 6, heapMb: 25, replayMb: 130, rewindMs: 100 };
const GOAL_MS = 16.7;

const [served, chromium] = [await site(), await browser()];

async function round() {
  const page = await chromium.newPage({ viewport: { width: 1600, height: 900 } });
  page.on('pageerror', (error) => console.error(String(error)));
  // A tree that goes on growing, seen from when it has that many nodes.
  const part = process.env.ENDING ? `nodes=${NODES}&left=${RATE * SECONDS}` : `nodes=${Math.ceil(NODES * 1.15)}&until=${NODES}`;
  await page.goto(`${served.url}?${part}&view=none`);
  await page.evaluate(() => window.ready);
  const blank = () => page.evaluate((seconds) => window.bench.blank(seconds), SECONDS / 2);
  // Half of the empty frames before, half after: both see the machine as it is.
  const before = await traced(page, blank);
  await page.evaluate(() => (window.hide = window.bench.show(window.bench.run, 'tree').hide));
  await page.waitForTimeout(1000);
  const live = await traced(page, () => page.evaluate(([rate, seconds]) => window.bench.measure(rate, seconds), [RATE, SECONDS]));
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
  const heapMb = await heap(page);
  await page.evaluate(() => window.hide());
  const empty = [...before, ...(await traced(page, blank))].sort((a, b) => a - b);
  const [rewindMs] = await traced(page, () => page.evaluate(() => window.bench.rewind()));
  const events = await page.evaluate(() => window.bench.run.head);
  await page.evaluate(() => window.bench.replay());
  const replayMb = await heap(page);
  await page.close();
  const over = live.filter((ms) => ms > GOAL_MS).length / live.length;
  return {
    empty50: quantile(empty, 0.5),
    empty99: quantile(empty, 0.99),
    live50: quantile(live, 0.5),
    live99: quantile(live, 0.99),
    over,
    heapMb,
    replayMb,
    rewindMs: (rewindMs * 100_000) / events,
    frames: live.length,
  };
}

const rounds = [];
for (let at = 0; at < ROUNDS; at++) {
  rounds.push(await round());
  const last = rounds.at(-1);
  console.log(
    `${at + 1}: empty ${last.empty50.toFixed(1)} / ${last.empty99.toFixed(1)} ms, tree ${last.live50.toFixed(1)} / ${last.live99.toFixed(1)} ms (p50 / p99), ` +
      `${(100 * last.over).toFixed(1)} % over ${GOAL_MS} ms, heap ${last.heapMb.toFixed(1)} MB, in replay ${last.replayMb.toFixed(1)} MB, rewind ${last.rewindMs.toFixed(0)} ms, load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`,
  );
}
await chromium.close();
await served.close();

const of = (name) => median(rounds.map((round) => round[name]));
const ratio = { p50: median(rounds.map((round) => round.live50 / round.empty50)), p99: median(rounds.map((round) => round.live99 / round.empty99)) };
const verdicts = [
  ['p50 of a frame', ratio.p50, LIMITS.p50, `× an empty canvas (${of('live50').toFixed(1)} ms)`],
  ['p99 of a frame', ratio.p99, LIMITS.p99, `× an empty canvas (${of('live99').toFixed(1)} ms; the goal is ${GOAL_MS})`],
  ['heap, live', of('heapMb'), LIMITS.heapMb, 'MB'],
  ['heap, in the middle of a replay', of('replayMb'), LIMITS.replayMb, 'MB'],
  ['rewinding 100,000 events', of('rewindMs'), LIMITS.rewindMs, 'ms of CPU'],
];
mkdirSync(new URL('./out/', import.meta.url), { recursive: true });
writeFileSync(new URL('./out/frames.json', import.meta.url), JSON.stringify({ nodes: NODES, rate: RATE, seconds: SECONDS, rounds, ratio }, null, 1));
for (const [what, is, most, unit] of verdicts) console.log(`${is <= most ? 'ok  ' : 'OVER'} ${what}: ${is.toFixed(2)} of at most ${most} ${unit}`);
process.exit(verdicts.every(([, is, most]) => is <= most) ? 0 : 1);
