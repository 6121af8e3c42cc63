// Every page: axe finds nothing serious, nothing overflows, hostile text does nothing, and everything can be done by keyboard.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from './setup.mjs';
import { assertHarmless, HOSTILE, NASTY, assertAccessible, assertNoOverflow, watchRequests } from './checks.mjs';
import { ask, page as written, plan, together, verdicts } from './answers.mjs';

const play = ({ role, title, prompt }) => {
  if (role === 'tree_planner') return prompt.includes('Which') && !prompt.includes('"a"') ? ask('Which one?', ['a', 'b']) : plan('sides', ['Here', 'There']);
  if (role === 'tree_executor') return written(title, `# ${title}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`\ncode\n\`\`\``);
  if (role === 'verifier') return verdicts(prompt, () => ({ verdict: 'met', quote: 'Both are described here.' }));
  return together('Both', '# Both\n\nBoth are described here.');
};

async function filled() {
  const { server, page } = await openPage(play);
  const done = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Here and there', success_criteria: ['both are described'] });
  const asks = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Which of the two, with a rather long objective that has to wrap on a narrow screen and still be readable' });
  const project = await server.api('POST', '/api/projects', { title: 'Garden', description: 'What grows' });
  await page.getByText('completed, verified', { exact: true }).waitFor();
  await page.locator('#main').getByText('waiting on you', { exact: true }).waitFor();
  const { documents } = await server.api('GET', `/api/runs/${done.id}/workspace`);
  const doc = documents.find((item) => item.type_key === 'document.tree_agent.artifact');
  const root = (await server.api('GET', `/api/runs/${done.id}`)).root_node_id;
  const places = ['/', '/questions', '/documents', `/documents/${doc.id}?version=1&quote=described+here`, '/projects', `/projects/${project.id}`, '/webhooks', '/settings', '/nowhere',
    ...['tree', 'outline', 'timeline', 'criteria', 'documents', 'report', 'metrics', 'events'].map((view) => `/runs/${done.id}?view=${view}`), `/runs/${done.id}?node=${root}`, `/runs/${asks.id}`];
  return { server, page, places };
}

test('axe finds nothing serious on any page in either theme, wide or narrow', async () => {
  const { server, page, places } = await filled();
  await assertAccessible(page, server.url, places);
});

test('nothing sticks out at 375, 768 and 1600 pixels', async () => {
  const { server, page, places } = await filled();
  await assertNoOverflow(page, server.url, places);
});

test('e4 hostile text does nothing', async () => {
  const { server, page } = await openPage(({ role, title }) => (role === 'tree_planner' ? plan(HOSTILE, [`Step ${NASTY}`]) : role === 'tree_executor' ? written(`Doc ${NASTY}`, HOSTILE, HOSTILE) : together(`All ${title}`, HOSTILE)));
  const foreign = watchRequests(page, server.url);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: `Beware ${NASTY}` });
  await page.goto(`${server.url}/runs/${id}?view=report`);
  await page.getByText('image not loaded').first().waitFor();
  const { documents } = await server.api('GET', `/api/runs/${id}/workspace`);
  await assertHarmless(page, server.url, [`/runs/${id}`, `/runs/${id}?view=documents`, `/runs/${id}?view=events`, '/', ...documents.map((doc) => `/documents/${doc.id}`)]);
  assert.deepEqual(foreign, []);
});

test('the whole way by keyboard: start, answer, walk the tree, open what was made, come back', async () => {
  const { page } = await openPage(({ role, title, prompt }) => {
    if (role === 'tree_planner') return prompt.includes('"keyboard answer"') ? plan('sides', ['Here', 'There']) : ask('By hand?');
    return role === 'tree_executor' ? written(title, `# ${title}\n\nText of ${title}.`) : together('Both', '# Both');
  });
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await page.getByRole('button', { name: /first run/ }).waitFor();
  await press('c');
  await page.keyboard.type('Work without a mouse');
  await press('Control+Enter');
  await page.waitForURL(/\/runs\//);
  await page.getByLabel('Your answer').waitFor();
  await press('a');
  await page.keyboard.type('keyboard answer');
  await press('Enter');
  await page.locator('.top .badge', { hasText: 'completed' }).waitFor();
  await page.evaluate(() => document.activeElement?.blur());
  await press('g', 'o');
  const tree = page.getByRole('tree');
  await tree.waitFor();
  for (let i = 0; i < 60 && !(await tree.evaluate((element) => element === document.activeElement)); i += 1) await press('Tab');
  await press('Home', '*', 'ArrowRight', 'ArrowDown', 'Enter');
  await page.getByRole('complementary', { name: 'Node' }).getByText('Done when').waitFor();
  await press('Escape');
  await page.getByRole('complementary', { name: 'Node' }).waitFor({ state: 'detached' });
  await page.evaluate(() => document.activeElement?.blur());
  await press('g', 'd');
  await page.getByRole('heading', { name: 'Both' }).first().waitFor();
  await press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});
