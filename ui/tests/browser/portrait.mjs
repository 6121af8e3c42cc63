// The picture in the README: a tree that grows on the built-in model, taken when one branch asks. `npm run portrait` takes it anew.

import path from 'node:path';
import { closeBrowser, openHouse } from './house.mjs';

const OBJECTIVE = 'Move a small bakery into a bigger shop without closing for more than two days';

const house = await openHouse(() => ({ status: 500 }), { PLEACH_MODEL: 'rehearsal/demo', PLEACH_REHEARSAL_MS: '900' });
const page = await house.page({ colorScheme: 'light' });
const { id } = await house.api('POST', '/api/runs', { kind: 'tree', objective: OBJECTIVE, success_criteria: ['Each risk has somebody who looks after it'] });
await page.goto(`${house.url}/runs/${id}`);
await page.getByLabel('Your answer').waitFor({ timeout: 60_000 });
await page.waitForTimeout(4_000);
await page.screenshot({ path: path.resolve(import.meta.dirname, '../../../docs/images/tree.png') });
await house.close();
await closeBrowser();
