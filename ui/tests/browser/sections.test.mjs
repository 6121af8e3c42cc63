// The pages beside the run page: login, inbox, documents, projects, webhooks; and messages to a run.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { closeBrowser, startServer } from './server.mjs';
import { ask, execute, page as written, plan, together } from './answers.mjs';

after(closeBrowser);

const quiet = () => ({ status: 500 });

test('a stranger is asked for a token where the page would be, and finds that page afterwards', async () => {
  const server = await startServer(quiet);
  const page = await server.page();
  const { token } = await server.api('POST', '/api/tokens', { name: 'browser' });
  await page.context().clearCookies();
  await page.goto(`${server.url}/settings`);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Token').waitFor();
  await server.close();
});

test('h10 the inbox holds the open question, takes the answer, and marks what was read', async () => {
  const server = await startServer(({ role, title, prompt }) => (role === 'tree_planner' ? (prompt.includes('"the red one"') ? execute() : ask('Which colour?', ['the red one', 'the blue one'])) : written(title, 'done')));
  const page = await server.page();
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Paint the door' });
  await page.goto(`${server.url}/questions`);
  await page.getByText('Which colour?').first().waitFor();
  await page.getByRole('button', { name: 'the red one' }).click();
  await page.getByText('No open questions').waitFor();
  await page.getByText('the run completed').waitFor();
  assert.equal((await server.api('GET', `/api/runs/${id}`)).questions[0].answer, 'the red one');
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByRole('button', { name: 'Mark all as read' }).waitFor({ state: 'detached' });
  await server.close();
});

test('b11 a document shows each of its versions and what changed, and is found by its words', async () => {
  const server = await startServer(quiet);
  const page = await server.page();
  const project = await server.api('POST', '/api/projects', { title: 'Garden', description: '' });
  const guide = await server.api('POST', '/api/documents', { title: 'Winter guide', project_id: project.id, content: '# Winter guide\n\nKeep it above 5 °C.\n' });
  await server.api('PATCH', `/api/documents/${guide.id}`, { content: '# Winter guide\n\nKeep it above 7 °C.\n' }, { 'if-match': `"${guide.version}"` });
  await page.goto(`${server.url}/documents`);
  await page.getByRole('searchbox').fill('above');
  await page.getByText('above', { exact: true }).and(page.locator('mark')).waitFor();
  await page.getByRole('link', { name: 'Winter guide' }).click();
  await page.getByText('Keep it above 7 °C.').waitFor();
  await page.getByLabel('show changes since the previous one').check();
  assert.deepEqual([await page.locator('.diff .removed .text').allTextContents(), await page.locator('.diff .added .text').allTextContents()], [['Keep it above 5 °C.'], ['Keep it above 7 °C.']]);
  await page.getByLabel('Version').selectOption('1');
  await page.getByText('Keep it above 5 °C.').waitFor();
  await server.close();
});

test('b11 a project is made, and its tasks are added and moved', async () => {
  const server = await startServer(quiet);
  const page = await server.page();
  await page.goto(`${server.url}/projects`);
  await page.getByRole('button', { name: 'New project' }).first().click();
  await page.getByLabel('Title').fill('Garden');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL(/\/projects\/.+/);
  await page.getByLabel('New task').fill('Measure the glass');
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByLabel('State of Measure the glass').selectOption('done');
  await page.getByRole('heading', { name: /done 1/ }).waitFor();
  const { items } = await server.api('GET', `/api/tasks?project_id=${new URL(page.url()).pathname.split('/')[2]}`);
  assert.deepEqual(items.map((task) => [task.title, task.state]), [['Measure the glass', 'done']]);
  await server.close();
});

test('a webhook is made, its secret is shown once, a test reaches it, and it is removed', async () => {
  const got = [];
  const receiver = http.createServer((request, response) => { got.push(request.headers['webhook-signature']); response.writeHead(204).end(); });
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const server = await startServer(quiet, { PLEACH_WEBHOOKS_PRIVATE: 'true' });
  const page = await server.page();
  await page.goto(`${server.url}/webhooks`);
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  await page.getByLabel('Address').fill(`http://127.0.0.1:${receiver.address().port}/hook`);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The signing secret, shown once').waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('Test: it answered 204').waitFor();
  assert.match(got[0], /^v1,/);
  await page.getByRole('button', { name: 'Deliveries' }).click();
  await page.getByText('✓ delivered').waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('No webhooks yet').waitFor();
  await server.close();
  receiver.close();
});

test('a run is paused, told something, and goes on; the model reads what it was told', async () => {
  let free;
  const held = new Promise((resolve) => (free = resolve));
  const server = await startServer(({ role, title, nth }) => {
    if (role === 'tree_planner') return plan('two', ['First'], ['Second']);
    return role === 'tree_executor' ? { wait: title === 'First' && nth === 1 ? held : 0, answer: written(title, title) } : together('All', 'all');
  });
  const page = await server.page();
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Listen on the way' });
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  await page.getByRole('treeitem', { name: /First.*executing/ }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).first().click();
  await page.getByText('paused', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Say…' }).click();
  await page.getByLabel('Message to the run').fill('Prefer primary sources');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('“Prefer primary sources”').waitFor();
  free();
  await page.getByRole('button', { name: 'Resume' }).first().click();
  // The run itself: its first step is completed before any call can carry the message.
  await page.locator('.top .badge', { hasText: 'completed' }).waitFor();
  assert.ok(server.model.calls.some((call) => call.prompt.includes('Prefer primary sources')), 'no call carried the message');
  await server.close();
});

test('h9 a run that goes in circles says which action comes back', async () => {
  const again = { tool: 'search_documents', arguments: { query: 'pricing page' }, purpose: 'find it' };
  const server = await startServer(({ nth }) => ({
    wait: nth > 4 ? new Promise(() => {}) : 0,
    answer: { progress_summary: 'looking', plan: { steps: [{ id: 's1', title: 'Look', status: 'doing', owner: 'planner' }] }, tool_calls: [again], executor_tasks: [], remaining_work: ['look again'], completion_evidence: [], exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'low' },
  }));
  const page = await server.page();
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Find the page', budgets: { no_progress_limit: 9, repeat_limit: 9 } });
  await page.goto(`${server.url}/runs/${id}`);
  await page.getByText(/No progress for \d+ iterations/).waitFor();
  await page.getByRole('status').getByText('search_documents {"query":"pricing page"}').waitFor();
  await server.close();
});

test('sec_s91 a file that was altered on its way is not run, and the page says so', async () => {
  const server = await startServer(() => ({}));
  const page = await server.page();
  await page.route(/\/assets\/Settings-.*\.js$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, headers: { ...answer.headers(), 'cache-control': 'no-store' }, body: `document.documentElement.dataset.altered = 'yes';${await answer.text()}` });
  });
  await page.goto(`${server.url}/settings`);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.altered), undefined);
  assert.ok(server.errors.some((text) => text.includes('digest')), server.errors.join('\n'));
  // As it was sent, it is taken.
  server.errors.length = 0;
  await page.unroute(/\/assets\/Settings-.*\.js$/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await server.close();
});
