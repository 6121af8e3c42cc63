// `npm run readme-image` takes the picture in the README: a growing tree with one branch asking, one failed and two working.

import path from 'node:path';
import { closeBrowser, startServer } from './server.mjs';
import { exampleAnswers, RUNS } from './example-runs.mjs';

const server = await startServer(exampleAnswers(new Promise(() => {})));
const page = await server.page({ colorScheme: 'light' });
const { id } = await server.api('POST', '/api/runs', RUNS.find((run) => /greenhouse/.test(run.objective)));
await page.goto(`${server.url}/runs/${id}`);
await page.getByText('5 of 10 nodes ended; 2 executing, 2 waiting, 1 blocked').waitFor({ timeout: 60_000 });
await page.waitForTimeout(4_000);
await page.screenshot({ path: path.resolve(import.meta.dirname, '../../../docs/images/tree.png') });
await server.close();
await closeBrowser();
