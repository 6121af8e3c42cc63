// npm run cytoscape: the same growing run drawn by our tree and by Cytoscape, in the same browser: CPU time of the main thread per frame,
// as in frames.mjs. Slow ones get fewer frames. The figures go into bench/README.md.

import { readFileSync } from 'node:fs';
import { browser, site } from '../browser.mjs';
import { heap, quantile, traced } from '../trace.mjs';

const RATE = Number(process.env.RATE ?? 2000);
const SIZES = (process.env.NODES ?? '100,1000,10000').split(',').map(Number);
const SECONDS = { empty: 1, ours: 2, cytoscape: 0.5 };

const [served, chromium] = [await site('cytoscape/'), await browser()];
console.log('| nodes | who | p50 ms | p99 ms | frames over 16.7 ms | heap MB | frames |\n|---|---|---|---|---|---|---|');
for (const nodes of SIZES) {
  for (const who of ['empty', 'ours', 'cytoscape']) {
    const page = await chromium.newPage({ viewport: { width: 1600, height: 900 } });
    page.setDefaultTimeout(240_000);
    await page.goto(`${served.url}?nodes=${nodes}`);
    if (who !== 'empty') await page.evaluate((name) => void window.compare.show(name), who);
    await page.waitForTimeout(1000);
    const work = who === 'empty' ? ([seconds]) => window.compare.blank(seconds) : ([seconds, rate]) => window.compare.measure(rate, seconds);
    const frames = await traced(page, () => page.evaluate(work, [SECONDS[who], RATE]));
    const over = (100 * frames.filter((ms) => ms > 16.7).length) / frames.length;
    console.log(`| ${nodes.toLocaleString('en')} | ${who} | ${quantile(frames, 0.5).toFixed(1)} | ${quantile(frames, 0.99).toFixed(1)} | ${over.toFixed(0)} % | ${(await heap(page)).toFixed(1)} | ${frames.length} |`);
    await page.close();
  }
}
console.log(`\n${RATE} events a second, 1600 × 900, ${chromium.version()}, load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`);
await chromium.close();
await served.close();
