// Subagents: create one, start a task, follow its steps, edit its scratchpad.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, openPage } from './setup.mjs';
import { assertHarmless, HOSTILE, NASTY, assertAccessible, assertNoOverflow, watchRequests } from './checks.mjs';
import { act, done, remember, shown, visit } from './answers.mjs';

/** Goes to the project, writes a document there, and is done; adds one sentence to its scratchpad after every task. */
const clerk = (hold = null) => {
  const learned = [];
  return ({ role, objective, nth, prompt }) => {
    if (role === 'agent_reflection') {
      learned.push(`- learned in: ${JSON.parse(objective)}`);
      return remember(`# Notes\n${learned.join('\n')}`);
    }
    const project = shown(prompt, 'projects');
    if (nth === 1) return visit(project, 'Begin with the project.');
    if (nth === 2) return { wait: hold, answer: act(project, 'create_document', { title: 'Opening hours', content: '9 to 17' }, 'Nobody wrote them down yet.') };
    return done('The hours are written down.');
  };
};

/** A shop with a scout that may write there. */
async function shop(play, agent = {}) {
  const { server, page } = await openPage(play);
  const project = await server.api('POST', '/api/projects', { title: 'Shop', description: '' });
  await server.api('POST', '/api/agents', { handle: 'scout', identity: 'You are tidy.', actions: ['create_document'], projects: [project.id], ...agent });
  return { server, page, project };
}

async function send(server, objective) {
  const { id } = await server.api('POST', '/api/runs', { kind: 'task', agent: 'scout', objective });
  return endOf(server, id);
}

const memory = (page) => page.getByRole('region', { name: 'Scratchpad' });
const pad = (server) => server.api('GET', '/api/agents/scout/scratchpad');

test('a6 an agent is made in the page, sent on a task, and its steps are seen as they are taken', async () => {
  let free;
  const { server, page } = await openPage(clerk(new Promise((resolve) => (free = resolve))));
  await server.api('POST', '/api/projects', { title: 'Shop', description: '' });
  await page.goto(`${server.url}/agents`);
  await page.getByText('No agents yet').waitFor();
  await page.getByRole('button', { name: 'New agent' }).first().click();
  await page.getByLabel('Handle').fill('scout');
  await page.getByLabel('Identity').fill('You are tidy.');
  await page.getByRole('checkbox', { name: 'Shop' }).check();
  await page.getByRole('checkbox', { name: 'create document' }).check();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL(/\/agents\/scout$/);
  await page.getByText('No tasks yet.').waitFor();
  await page.getByLabel('Send it on a task').fill('Write the opening hours down');
  await page.getByLabel('Steps at most').fill('7');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/runs\//);
  // The second step is held: the first is there already, while it runs.
  await page.getByRole('link', { name: 'project “Shop”' }).waitFor();
  await page.getByText('Begin with the project.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Opening hours' }).count(), 0);
  await page.getByText('running', { exact: true }).first().waitFor();
  free();
  await page.getByRole('link', { name: 'Opening hours' }).first().waitFor();
  await page.getByText('completed, claimed', { exact: true }).first().waitFor();
  await page.getByRole('group', { name: 'Steps: 2 of 7' }).waitFor();
  // And what it keeps of it leads to the agent, and from there back to the task.
  await page.getByRole('link', { name: /characters, version 1/ }).click();
  await page.waitForURL(/\/agents\/scout$/);
  await memory(page).getByText('learned in: Write the opening hours down').first().waitFor();
  await memory(page).getByRole('link', { name: 'after “Write the opening hours down”' }).click();
  await page.waitForURL(/\/runs\//);
  const agent = await server.api('GET', '/api/agents/scout');
  assert.deepEqual([agent.identity, agent.actions, agent.projects.map((item) => item.title)], ['You are tidy.', ['create_document'], ['Shop']]);
});

test('a5 each version says which task wrote it and what changed; it is restored and cleared by its owner', async () => {
  const { server, page } = await shop(clerk());
  await send(server, 'First task');
  await send(server, 'Second task');
  const before = await server.api('GET', '/api/agents/scout/scratchpad/versions?limit=10');
  await page.goto(`${server.url}/agents/scout`);
  // What the newest one changed is shown at once.
  await memory(page).getByText('Version 2, what it knows now').waitFor();
  await memory(page).getByText('What version 2 changed').waitFor();
  assert.deepEqual(await memory(page).locator('.diff .added .text').allTextContents(), ['- learned in: Second task']);
  assert.deepEqual(await memory(page).getByRole('link').allTextContents(), ['after “Second task”', 'after “First task”']);
  // An older one is looked at, then restored: a new version with the old text, by hand.
  await memory(page).getByRole('button', { name: 'Version 1', exact: true }).click();
  assert.equal(await memory(page).getByRole('group', { name: 'Version 1' }).getByText('Second task').count(), 0);
  await memory(page).getByRole('button', { name: 'Restore' }).click();
  await memory(page).getByText('Version 3, what it knows now').waitFor();
  await memory(page).getByText('by hand').waitFor();
  assert.equal((await pad(server)).content, before.items[1].content);
  // Clearing asks first, and forgets nothing for good.
  await memory(page).getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click();
  await memory(page).getByText('Empty.').waitFor();
  assert.deepEqual([(await pad(server)).version, (await pad(server)).content], [4, '']);
  await memory(page).getByRole('button', { name: 'Version 3', exact: true }).waitFor();
});

test('a step that was not granted is shown as refused with the reason, and grants change in the page', async () => {
  const { server, page } = await shop(clerk(), { actions: [] });
  const run = await send(server, 'Write without a grant');
  await page.goto(`${server.url}/runs/${run.id}`);
  await page.getByText(/403 Forbidden: create_document was not granted to scout/).waitFor();
  await page.goto(`${server.url}/agents/scout`);
  await page.getByText('read, and keep notes').waitFor();
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByRole('checkbox', { name: 'create document' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('definition').filter({ hasText: 'create document' }).waitFor();
  await send(server, 'Write with a grant');
  await page.getByRole('link', { name: 'Write with a grant' }).first().click();
  await page.getByRole('link', { name: 'Opening hours' }).first().waitFor();
});

test('t12 a task run at an earlier moment shows the steps of that moment and their pages', async () => {
  const { server, page } = await shop(clerk());
  const run = await send(server, 'Write the opening hours down');
  const steps = await server.api('GET', `/api/runs/${run.id}/steps`);
  await page.goto(`${server.url}/runs/${run.id}?at=${steps[1].seq}`);
  await page.getByText('it executes nothing').waitFor();
  await page.getByText('Begin with the project.').waitFor();
  assert.equal(await page.getByText('Nobody wrote them down yet.').count(), 0);
  assert.equal(await page.getByText('looked back').count(), 0);
  await page.getByRole('button', { name: 'Back to live' }).first().click();
  await page.getByText('Nobody wrote them down yet.').waitFor();
  await page.getByRole('button', { name: 'what it was shown' }).nth(1).click();
  await page.getByText('kind: "project"').waitFor();
});

test('axe finds nothing serious on the pages of agents, nothing sticks out, and hostile text does nothing', async () => {
  const play = clerk();
  const { server, page } = await shop((call) => (call.role === 'agent_reflection' ? remember(HOSTILE) : call.nth === 2 ? act(shown(call.prompt, 'projects'), 'create_document', { title: NASTY, content: HOSTILE }, HOSTILE) : call.nth === 3 ? done(NASTY) : play(call)), { identity: HOSTILE });
  const foreign = watchRequests(page, server.url);
  const run = await send(server, `Beware ${NASTY}`);
  await server.api('POST', '/api/agents', { handle: 'newcomer' });
  const places = ['/agents', '/agents/scout', '/agents/newcomer', '/agents/nobody', `/runs/${run.id}`, `/runs/${run.id}?view=report`, `/runs/${run.id}?view=events`, `/runs/${run.id}?view=documents`];
  await page.goto(`${server.url}/agents/scout`);
  await memory(page).getByText('image not loaded').first().waitFor();
  await assertHarmless(page, server.url, places);
  assert.deepEqual(foreign, []);
  await assertNoOverflow(page, server.url, places);
  await assertAccessible(page, server.url, places);
});
