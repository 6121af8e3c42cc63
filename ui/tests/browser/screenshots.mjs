// `npm run screenshots` writes screenshots of every page in both themes, wide and narrow, to shots/; names after it select some.

import { mkdirSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { startTaskRuns } from './task-runs.mjs';
import { closeBrowser, startServer } from './server.mjs';
import { exampleAnswers, createExamples, RUNS } from './example-runs.mjs';

const out = path.resolve(import.meta.dirname, '../../shots');
mkdirSync(out, { recursive: true });
const only = process.argv.slice(2);
const wanted = (name) => only.length === 0 || only.includes(name);

const receiver = http.createServer((request, response) => response.writeHead(request.url === '/gone' ? 410 : 204).end());
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const hook = `http://127.0.0.1:${receiver.address().port}`;

const server = await startServer(exampleAnswers(new Promise(() => {})), { PLEACH_WEBHOOKS_PRIVATE: 'true' });
const page = await server.page();
const { project, guide } = await createExamples(server, hook);
const tasks = await startTaskRuns(server, project);
const runs = [];
for (const run of RUNS) runs.push(await server.api('POST', '/api/runs', run));
const [tide, stopped, asks, circles, allotment, lighthouse, greenhouse] = runs.map((run) => run.id);
await page.goto(server.url);
await page.getByText('no progress').waitFor({ timeout: 60_000 });
await page.getByText('running, and asks').waitFor();
await page.waitForTimeout(3_000);
const events = (await server.api('GET', `/api/runs/${greenhouse}/events?limit=1000`)).items;
const nodeOf = (title) => events.find((event) => event.type === 'tree.node_created' && event.payload.title === title).nodeId;
const [node, failed] = [nodeOf('Fan heater'), nodeOf('Noise')];
const { documents } = await server.api('GET', `/api/runs/${tide}/workspace`);
const made = (type) => documents.find((item) => item.type_key === type).id;
const at = (id, rest = '') => `/runs/${id}${rest}`;

const PLACES = {
  runs: '/', inbox: '/questions', documents: '/documents', document: `/documents/${made('document.tree_agent.artifact')}`, scratchpad: `/documents/${made('document.tree_agent.scratchpad')}`,
  projects: '/projects', project: `/projects/${project}`, webhooks: '/webhooks', settings: '/settings', 'login-used': '/login?problem=used', not_found: '/nowhere', 'no-run': '/runs/01a1de11-0000-7000-8000-000000000000', 'no-document': '/documents/01a1de11-0000-7000-8000-000000000000',
  'run-tree': at(greenhouse), 'run-outline': at(greenhouse, '?view=outline'), 'run-timeline': at(greenhouse, '?view=timeline'), 'run-metrics': at(greenhouse, '?view=metrics'), 'run-documents': at(greenhouse, '?view=documents'), 'run-events': at(greenhouse, '?view=events'),
  'run-node': at(greenhouse, `?node=${node}`), 'run-failed': at(greenhouse, `?node=${failed}`),
  ...Object.fromEntries(['notes', 'files', 'plan', 'children', 'timeline', 'raw'].map((tab) => [`run-node-${tab}`, at(greenhouse, `?node=${node}&tab=${tab}`)])),
  'run-past': at(greenhouse, '?at=60'), 'run-report': at(tide, '?view=report'), 'run-asks': at(asks), 'run-circles': at(circles), 'run-stopped': at(stopped),
  'run-partial': at(lighthouse), 'run-partial-outline': at(lighthouse, '?view=outline'), 'run-partial-timeline': at(lighthouse, '?view=timeline'), 'run-partial-report': at(lighthouse, '?view=report'), 'run-criteria': at(lighthouse, '?view=criteria'),
  'run-overview': at(allotment), agents: '/agents', agent: '/agents/scout', 'agent-new': '/agents/newcomer', 'no-agent': '/agents/nobody',
  'task-done': at(tasks.vents), 'task-refused': at(tasks.tick), 'task-failed': at(tasks.gas), 'task-live': at(tasks.sorting), 'task-events': at(tasks.tick, '?view=events'), 'task-past': at(tasks.tick, '?at=12'), 'task-report': at(tasks.vents, '?view=report'),
};

/** Things that show only after somebody does something. */
const ACTS = {
  'new-run': () => newRun(),
  'new-run-homework': () => newRun(async () => { await page.getByText('Homework', { exact: true }).click(); await page.getByText('Each limit').click(); await page.getByRole('spinbutton', { name: 'Iterations' }).scrollIntoViewIfNeeded(); }),
  'new-run-scope': () => newRun(async () => { await page.getByText('Scope, tools, model').click(); await page.getByText('only these projects').click(); await page.getByText(/^all \d+ built-in/).click(); await page.getByLabel('Model').scrollIntoViewIfNeeded(); }),
  'new-run-refused': () => newRun(async () => { await page.getByText('Scope, tools, model').click(); await page.getByLabel('Model').fill('nobody/none'); await page.getByLabel('Objective').fill('Ask a model that is not there'); await page.getByRole('button', { name: 'Start', exact: true }).click(); await page.getByRole('alert').scrollIntoViewIfNeeded(); }),
  'new-run-criteria': () => newRun(async () => { await page.getByRole('button', { name: 'Add a criterion' }).click(); await page.getByLabel('Criterion 1', { exact: true }).fill('Every price has a source'); await page.getByLabel('check the criteria').scrollIntoViewIfNeeded(); }),
  'criterion-quote': async () => { await page.goto(server.url + at(lighthouse, '?view=criteria')); await page.locator('a.quote').first().click(); await page.getByRole('heading', { level: 1 }).waitFor(); },
  'criterion-reject': async () => { await page.goto(server.url + at(lighthouse, '?view=criteria')); await page.getByRole('button', { name: 'Reject…' }).first().click(); },
  'document-edit': async () => { await page.goto(`${server.url}/documents/${guide}`); await page.getByRole('button', { name: 'Edit' }).click(); },
  'raise-limits': async () => { await page.goto(server.url + at(stopped)); await page.getByRole('button', { name: 'Raise limits and continue' }).click(); },
  'runs-answering': async () => { await page.goto(server.url); await page.getByRole('button', { name: 'Answer' }).first().click(); },
  'run-critical': async () => { await page.goto(server.url + at(greenhouse, '?view=tree')); await page.getByRole('button', { name: 'Critical path' }).click(); },
  'document-diff': async () => { await page.goto(`${server.url}/documents/${guide}`); await page.getByLabel('show changes since the previous one').check(); },
  'webhooks-deliveries': async () => { await page.goto(`${server.url}/webhooks`); await page.getByRole('button', { name: 'Send a test' }).first().click(); await page.getByRole('button', { name: 'Deliveries' }).first().click(); },
  'new-webhook': async () => { await page.goto(`${server.url}/webhooks`); await page.getByRole('button', { name: 'New webhook' }).click(); },
  search: async () => { await page.goto(`${server.url}/documents`); await page.getByRole('searchbox').first().fill('heat'); },
  'new-agent': async () => { await page.goto(`${server.url}/agents`); await page.getByRole('button', { name: 'New agent' }).first().click(); },
  'agent-version': async () => { await page.goto(`${server.url}/agents/scout`); await page.getByRole('button', { name: 'Version 1', exact: true }).click(); await page.getByRole('button', { name: 'Restore' }).scrollIntoViewIfNeeded(); },
  'agent-diff': async () => { await page.goto(`${server.url}/agents/scout`); await page.getByRole('heading', { name: /changed$/ }).scrollIntoViewIfNeeded(); await page.mouse.wheel(0, 2_000); },
  'agent-change': async () => { await page.goto(`${server.url}/agents/scout`); await page.getByRole('button', { name: 'Change', exact: true }).click(); },
  'agent-clear': async () => { await page.goto(`${server.url}/agents/scout`); await page.getByRole('button', { name: 'Clear', exact: true }).click(); },
  'task-page': async () => { await page.goto(server.url + at(tasks.vents)); await page.getByRole('button', { name: 'what it was shown' }).nth(1).click(); },
  'run-saying': async () => { await page.goto(server.url + at(greenhouse)); await page.getByRole('button', { name: 'Say…' }).first().click(); },
  'run-canceling': async () => { await page.goto(server.url + at(greenhouse)); await page.getByRole('button', { name: 'Cancel' }).first().click(); },
  'search-nothing': async () => { await page.goto(`${server.url}/documents`); await page.getByRole('searchbox').first().fill('zeppelin'); },
  trouble: async () => { await page.route('**/api/documents*', (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"detail":"The database does not answer. It is tried again by itself."}' })); await page.goto(`${server.url}/documents`); await page.getByRole('alert').waitFor(); await page.unroute('**/api/documents*'); },
  keys: async () => { await page.goto(server.url); await page.getByRole('heading').first().waitFor(); await page.keyboard.press('?'); },
};

async function newRun(more = async () => {}) {
  await page.goto(server.url);
  await page.getByRole('button', { name: 'New run' }).and(page.locator(':visible')).first().click();
  await more();
}

async function shoot(name, size, theme, of = page) {
  await of.waitForTimeout(900);
  await of.screenshot({ path: path.join(out, `${name}-${size}-${theme}.png`) });
}

async function everySize(each, of = page) {
  for (const theme of ['light', 'dark']) {
    for (const [size, width, height] of [['wide', 1600, 900], ['narrow', 375, 812]]) {
      await of.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await of.setViewportSize({ width, height });
      await each(size, theme);
    }
  }
}

await everySize(async (size, theme) => {
  for (const [name, place] of Object.entries(PLACES).filter(([name]) => wanted(name))) {
    await page.goto(server.url + place);
    await page.getByRole('heading').first().waitFor();
    await shoot(name, size, theme);
  }
  for (const [name, act] of Object.entries(ACTS).filter(([name]) => wanted(name))) {
    await act();
    await shoot(name, size, theme);
  }
});
// The pages without a connection and without a login.
if (wanted('lost')) {
  await page.goto(server.url + at(greenhouse));
  await page.getByRole('heading').first().waitFor();
  await server.kill();
  await page.getByText('Connection lost').waitFor();
  await everySize((size, theme) => shoot('lost', size, theme));
  await server.start();
}
if (wanted('login')) {
  await page.context().clearCookies();
  await page.goto(server.url);
  await page.getByRole('heading').first().waitFor();
  await everySize((size, theme) => shoot('login', size, theme));
}
await server.close().catch((error) => console.error(error.message));

// The pages of an empty database.
const EMPTY = { 'empty-runs': '/', 'empty-inbox': '/questions', 'empty-documents': '/documents', 'empty-projects': '/projects', 'empty-agents': '/agents', 'empty-webhooks': '/webhooks' };
if (Object.keys(EMPTY).some(wanted)) {
  const empty = await startServer(() => ({ status: 500 }));
  const blank = await empty.page();
  await everySize(async (size, theme) => {
    for (const [name, place] of Object.entries(EMPTY).filter(([name]) => wanted(name))) {
      await blank.goto(empty.url + place);
      await blank.getByRole('heading').first().waitFor();
      await shoot(name, size, theme, blank);
    }
  }, blank);
  await empty.close();
}
receiver.close();
await closeBrowser();
