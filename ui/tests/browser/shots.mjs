// Pictures of every page in both themes, wide and narrow: `npm run pictures` writes them to shots/; names after it make only those.

import { mkdirSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { closeBrowser, openHouse } from './house.mjs';
import { company, furnish, RUNS } from './scenes.mjs';

const out = path.resolve(import.meta.dirname, '../../shots');
mkdirSync(out, { recursive: true });
const only = process.argv.slice(2);
const wanted = (name) => only.length === 0 || only.includes(name);

const receiver = http.createServer((request, response) => response.writeHead(request.url === '/gone' ? 410 : 204).end());
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const hook = `http://127.0.0.1:${receiver.address().port}`;

const house = await openHouse(company(new Promise(() => {})), { PLEACH_WEBHOOKS_PRIVATE: 'true' });
const page = await house.page();
const { project, guide } = await furnish(house, hook);
const runs = [];
for (const run of RUNS) runs.push(await house.api('POST', '/api/runs', run));
const [tide, stopped, asks, circles, greenhouse] = runs.map((run) => run.id);
await page.goto(house.url);
await page.getByText('no progress').waitFor({ timeout: 60_000 });
await page.getByText('asks, and goes on').waitFor();
await page.waitForTimeout(3_000);
const events = (await house.api('GET', `/api/runs/${greenhouse}/events?limit=1000`)).items;
const nodeOf = (title) => events.find((event) => event.type === 'tree.node_created' && event.payload.title === title).nodeId;
const [node, failed] = [nodeOf('Fan heater'), nodeOf('Noise')];
const { documents } = await house.api('GET', `/api/runs/${tide}/workspace`);
const made = (type) => documents.find((item) => item.type_key === type).id;
const at = (id, rest = '') => `/runs/${id}${rest}`;

const PLACES = {
  runs: '/', inbox: '/questions', documents: '/documents', document: `/documents/${made('document.tree_agent.artifact')}`, scratchpad: `/documents/${made('document.tree_agent.scratchpad')}`,
  projects: '/projects', project: `/projects/${project}`, webhooks: '/webhooks', settings: '/settings', nowhere: '/nowhere', 'no-run': '/runs/01a1de11-0000-7000-8000-000000000000', 'no-document': '/documents/01a1de11-0000-7000-8000-000000000000',
  'run-tree': at(greenhouse), 'run-outline': at(greenhouse, '?view=outline'), 'run-timeline': at(greenhouse, '?view=timeline'), 'run-metrics': at(greenhouse, '?view=metrics'), 'run-documents': at(greenhouse, '?view=documents'), 'run-events': at(greenhouse, '?view=events'),
  'run-node': at(greenhouse, `?node=${node}`), 'run-failed': at(greenhouse, `?node=${failed}`),
  ...Object.fromEntries(['notes', 'files', 'plan', 'children', 'timeline', 'raw'].map((tab) => [`run-node-${tab}`, at(greenhouse, `?node=${node}&tab=${tab}`)])),
  'run-past': at(greenhouse, '?at=60'), 'run-report': at(tide, '?view=report'), 'run-asks': at(asks), 'run-circles': at(circles), 'run-stopped': at(stopped),
};

/** Things that show only after somebody does something. */
const ACTS = {
  'new-run': async () => { await page.goto(house.url); await page.getByRole('button', { name: 'New run' }).and(page.locator(':visible')).first().click(); await page.getByText('Tools', { exact: true }).first().click({ timeout: 500 }).catch(() => {}); },
  'raise-limits': async () => { await page.goto(house.url + at(stopped)); await page.getByRole('button', { name: 'Raise limits and continue' }).click(); },
  'runs-answering': async () => { await page.goto(house.url); await page.getByRole('button', { name: 'Answer' }).first().click(); },
  'run-critical': async () => { await page.goto(house.url + at(greenhouse, '?view=tree')); await page.getByRole('button', { name: 'Critical path' }).click(); },
  'document-diff': async () => { await page.goto(`${house.url}/documents/${guide}`); await page.getByLabel('what changed since the one before').check(); },
  'webhooks-deliveries': async () => { await page.goto(`${house.url}/webhooks`); await page.getByRole('button', { name: 'Send a test' }).first().click(); await page.getByRole('button', { name: 'Deliveries' }).first().click(); },
  'new-webhook': async () => { await page.goto(`${house.url}/webhooks`); await page.getByRole('button', { name: 'New webhook' }).click(); },
  search: async () => { await page.goto(`${house.url}/documents`); await page.getByRole('searchbox').first().fill('heat'); },
  keys: async () => { await page.goto(house.url); await page.getByRole('heading').first().waitFor(); await page.keyboard.press('?'); },
};

async function shoot(name, size, theme) {
  await page.waitForTimeout(900);
  await page.screenshot({ path: path.join(out, `${name}-${size}-${theme}.png`) });
}

async function everySize(each) {
  for (const theme of ['light', 'dark']) {
    for (const [size, width, height] of [['wide', 1440, 900], ['narrow', 375, 812]]) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height });
      await each(size, theme);
    }
  }
}

await everySize(async (size, theme) => {
  for (const [name, place] of Object.entries(PLACES).filter(([name]) => wanted(name))) {
    await page.goto(house.url + place);
    await page.getByRole('heading').first().waitFor();
    await shoot(name, size, theme);
  }
  for (const [name, act] of Object.entries(ACTS).filter(([name]) => wanted(name))) {
    await act();
    await shoot(name, size, theme);
  }
});
// Last of all what there is without a server, and without a name.
if (wanted('lost')) {
  await page.goto(house.url + at(greenhouse));
  await page.getByRole('heading').first().waitFor();
  await house.kill();
  await page.getByText('Connection lost').waitFor();
  await everySize((size, theme) => shoot('lost', size, theme));
  await house.start();
}
if (wanted('login')) {
  await page.context().clearCookies();
  await page.goto(house.url);
  await page.getByRole('heading').first().waitFor();
  await everySize((size, theme) => shoot('login', size, theme));
}
await house.close().catch((error) => console.error(error.message));
receiver.close();
await closeBrowser();
