// npm run shots: pictures of the tree, the outline and the replay bar in both themes, from generated and recorded logs, for someone to look at.

import { mkdirSync } from 'node:fs';
import { browser, site } from './browser.mjs';

const OUT = new URL('./out/shots/', import.meta.url).pathname;
mkdirSync(OUT, { recursive: true });

const SHOTS = [
  ['small', 'nodes=14&seed=3&parallel=4&part=0.6'],
  ['medium', 'nodes=60&seed=5&parallel=5&part=0.55'],
  ['large', 'nodes=2000&part=0.6'],
  ['finished', 'nodes=2000'],
  ['recorded', 'log=logs/rehearsed-tree.jsonl&part=0.7'],
  ['outline', 'nodes=300&part=0.6&view=outline'],
  ['both', 'nodes=60&seed=5&parallel=5&part=0.7&view=both'],
  ['replay', 'nodes=120&view=replay'],
];

const [served, chromium] = [await site(), await browser()];
const wanted = process.argv.slice(2);
for (const theme of ['light', 'dark']) {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 720 } });
  for (const [name, query] of SHOTS.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
    const page = await context.newPage();
    page.on('pageerror', (error) => console.error(name, String(error)));
    page.on('console', (message) => message.type() === 'error' && console.error(name, message.text()));
    await page.goto(`${served.url}?theme=${theme}&${query}`);
    await page.evaluate(() => window.ready);
    await page.waitForTimeout(1200);
    await page.screenshot({ path: `${OUT}${name}-${theme}.png` });
    await page.close();
  }
  await context.close();
}
await chromium.close();
await served.close();
console.log(OUT);
process.exit(0);
