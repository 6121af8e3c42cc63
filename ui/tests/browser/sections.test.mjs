// The pages beside the run page: login, inbox, documents, projects, webhooks; and messages to a run.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { openPage, pausedRun } from './setup.mjs';
import { ask, execute, page as written } from './answers.mjs';

const quiet = () => ({ status: 500 });

test('a visitor without a login is asked for a token in place of the page, and sees that page afterwards', async () => {
  const { server, page } = await openPage(quiet);
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
});

test('h10 the inbox holds the open question, takes the answer, and marks what was read', async () => {
  const { server, page } = await openPage(({ role, title, prompt }) => (role === 'tree_planner' ? (prompt.includes('"the red one"') ? execute() : ask('Which colour?', ['the red one', 'the blue one'])) : written(title, 'done')));
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Paint the door' });
  await page.goto(`${server.url}/questions`);
  await page.getByText('Which colour?').first().waitFor();
  await page.getByRole('button', { name: 'the red one' }).click();
  await page.getByText('No open questions').waitFor();
  await page.getByText('the run completed').waitFor();
  assert.equal((await server.api('GET', `/api/runs/${id}`)).questions[0].answer, 'the red one');
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByRole('button', { name: 'Mark all as read' }).waitFor({ state: 'detached' });
});

test('b11 a document shows each of its versions and what changed, and is found by its words', async () => {
  const { server, page } = await openPage(quiet);
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
});

test('b11 a project is made, and its tasks are added and moved', async () => {
  const { server, page } = await openPage(quiet);
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
});

test('a webhook is made, its secret is shown once, a test reaches it, and it is removed', async () => {
  const got = [];
  const receiver = http.createServer((request, response) => { got.push(request.headers['webhook-signature']); response.writeHead(204).end(); });
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { server, page } = await openPage(quiet, { PLEACH_WEBHOOKS_PRIVATE: 'true' });
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
  receiver.close();
});

test('a message to a paused run reaches the model after the run is resumed', async () => {
  const { server, page, release } = await pausedRun();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('“Prefer primary sources”').waitFor();
  release();
  await page.getByRole('button', { name: 'Resume' }).first().click();
  // The run itself: its first step is completed before any call can carry the message.
  await page.locator('.top .badge', { hasText: 'completed' }).waitFor();
  assert.ok(server.model.calls.some((call) => call.prompt.includes('Prefer primary sources')), 'no call carried the message');
});

test('h9 a run that repeats itself names the repeated action', async () => {
  const again = { tool: 'search_documents', arguments: { query: 'pricing page' }, purpose: 'find it' };
  const { server, page } = await openPage(({ nth }) => ({
    wait: nth > 4 ? new Promise(() => {}) : 0,
    answer: { progress_summary: 'looking', plan: { steps: [{ id: 's1', title: 'Look', status: 'doing', owner: 'planner' }] }, tool_calls: [again], executor_tasks: [], remaining_work: ['look again'], completion_evidence: [], exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'low' },
  }));
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Find the page', budgets: { no_progress_limit: 9, repeat_limit: 9 } });
  await page.goto(`${server.url}/runs/${id}`);
  await page.getByText(/No progress for \d+ iterations/).waitFor();
  await page.getByRole('status').getByText('search_documents {"query":"pricing page"}').waitFor();
});

test('sec_s91 a file that was altered on its way is not run, and the page says so', async () => {
  const { server, page } = await openPage(() => ({}));
  await page.route(/\/assets\/Settings-.*\.js$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, headers: { ...answer.headers(), 'cache-control': 'no-store' }, body: `document.documentElement.dataset.altered = 'yes';${await answer.text()}` });
  });
  await page.goto(`${server.url}/settings`);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.altered), undefined);
  assert.ok(server.errors.some((text) => text.includes('digest')), server.errors.join('\n'));
  // The unaltered file is accepted.
  server.errors.length = 0;
  await page.unroute(/\/assets\/Settings-.*\.js$/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
});
