// The picture in the README: a tree that grows, taken when one branch asks, one failed and two are at work. `npm run portrait` takes it anew.

import path from 'node:path';
import { closeBrowser, openHouse } from './house.mjs';
import { company, RUNS } from './scenes.mjs';

const house = await openHouse(company(new Promise(() => {})));
const page = await house.page({ colorScheme: 'light' });
const { id } = await house.api('POST', '/api/runs', RUNS.find((run) => /greenhouse/.test(run.objective)));
await page.goto(`${house.url}/runs/${id}`);
await page.getByText('5 of 10 nodes ended; 2 executing, 2 waiting, 1 blocked').waitFor({ timeout: 60_000 });
await page.waitForTimeout(4_000);
await page.screenshot({ path: path.resolve(import.meta.dirname, '../../../docs/images/tree.png') });
await house.close();
await closeBrowser();
