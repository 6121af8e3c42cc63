// What a retry leaves stale and how it is done again, what a run of paused nodes waits for, and which subagents a new run may use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertNoOverflow } from './checks.mjs';
import { endOf, openPage } from './setup.mjs';
import { page as written, plan, together } from './answers.mjs';

const badge = (page, text) => page.locator('.top .badge', { hasText: text }).waitFor({ timeout: 60_000 });
const panelOf = (page) => page.getByRole('complementary', { name: 'Node' });
const rowOf = (page, title) => page.getByRole('treeitem', { name: title });

const twoBands = ({ role, title }) => {
  if (role === 'tree_planner') return plan('two parts, then what follows', ['Alpha', 'Beta'], ['Gamma']);
  return role === 'tree_executor' ? written(title, `# ${title}`) : together('All of it', '# All of it');
};

test('t13 after a retry the later band is stale, and one action does it again', async () => {
  const { server, page } = await openPage(twoBands);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Keep it current' });
  await endOf(server, id);
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  const panel = panelOf(page);

  // Retry a node of the first band.
  await rowOf(page, 'Beta').click();
  await panel.getByRole('button', { name: 'Retry', exact: true }).click();
  await rowOf(page, /Beta.*retry/).waitFor();
  await rowOf(page, /Beta.*replaced/).waitFor();
  await panel.getByText('Replaced by').waitFor();
  assert.equal(await panel.getByRole('button', { name: /Retry/ }).count(), 0, 'what is replaced cannot be retried');

  // The second band is stale: in its row, in the sidebar, and in its panel, which says why.
  await rowOf(page, /Gamma.*stale/).click();
  await badge(page, 'completed');
  await panel.getByText('A result it was shown has been replaced.').waitFor();
  await panel.getByRole('button', { name: 'Do it again' }).waitFor();
  await page.getByRole('listitem').filter({ hasText: /Gamma.*stale/ }).first().waitFor();
  await panel.getByRole('tab', { name: /Docs/ }).click();
  await panel.locator('summary', { hasText: 'stale' }).waitFor();
  await page.getByRole('button', { name: /All of it.*replaced/ }).waitFor();
  const stale = new URL(page.url()).searchParams.get('node');
  const places = ['tree', 'outline'].flatMap((view) => [`/runs/${id}?view=${view}`, `/runs/${id}?view=${view}&node=${stale}&tab=files`]);
  await assertAccessible(page, server.url, places);
  await assertNoOverflow(page, server.url, places);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${server.url}/runs/${id}?view=outline`);

  // Retried with what rested on it, nothing that counts is stale.
  await rowOf(page, /Beta.*retry/).click();
  await panel.getByRole('button', { name: 'Retry with what rested on it' }).click();
  await rowOf(page, /Gamma.*retry/).waitFor({ timeout: 60_000 });
  await rowOf(page, /Gamma.*replaced/).click();
  await panel.getByText('Replaced by').waitFor();
  assert.equal(await panel.getByText('A result it was shown has been replaced.').count(), 0);
  await badge(page, 'completed');
  assert.equal(await page.getByText('▲ stale').count(), 0);
  await panel.getByRole('button', { name: 'a later node' }).click();
  await panel.getByText('A retry of').waitFor();
  await panel.getByRole('button', { name: 'Retry', exact: true }).waitFor();
});

/** Two leaves that look around before they write; their first answer waits for `held`. */
const looksFirst = (held) => ({ role, title, nth }) => {
  if (role === 'tree_planner') return plan('three', ['Alpha', 'Held', 'Kept']);
  if (role === 'tree_aggregator') return together('All', 'all');
  if (title === 'Alpha' || nth > 1) return written(title, title);
  return { wait: held, answer: { tool_calls: [{ tool: 'search_documents', arguments: { query: 'page' }, purpose: 'look around' }], artifacts: [] } };
};

test('t16 a run that waits for paused nodes names them in its header and resumes them there', async () => {
  let release;
  const { server, page } = await openPage(looksFirst(new Promise((resolve) => (release = resolve))));
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Wait for a part' });
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  const [panel, top] = [panelOf(page), page.locator('.top')];
  for (const title of ['Held', 'Kept']) {
    await rowOf(page, new RegExp(`${title}.*executing`)).click();
    await panel.getByRole('button', { name: 'Pause' }).click();
    await panel.getByText('Ⅱ paused').waitFor();
  }
  await panel.getByRole('button', { name: 'Close the node' }).click();
  release();

  // Both are named, lead to their panels, and one can be resumed alone.
  await badge(page, 'paused');
  await top.getByText('It waits for 2 paused nodes:').waitFor();
  assert.equal(await top.getByRole('button', { name: 'Resume', exact: true }).count(), 0, 'the run itself cannot be resumed');
  await top.getByRole('button', { name: 'Held', exact: true }).click();
  await panel.getByRole('heading', { name: 'Held' }).waitFor();
  await top.getByRole('button', { name: 'Resume Held' }).click();
  await rowOf(page, /Held.*done/).waitFor();

  // Then it waits for the other, and goes on to the end.
  await top.getByText('It waits for a paused node:').waitFor();
  await top.getByRole('button', { name: 'Resume the node' }).click();
  await badge(page, 'completed');
  assert.equal(await top.getByText('It waits for').count(), 0);
});

test('t17 a new run may be given subagents, and is offered none where there are none', async () => {
  const { server, page } = await openPage(twoBands);
  const open = async () => {
    await page.goto(server.url);
    await page.getByRole('button', { name: 'New run' }).first().click();
    await page.getByLabel('Objective').fill('Share the work');
  };
  await open();
  assert.equal(await page.getByRole('group', { name: 'Subagents' }).count(), 0);
  for (const handle of ['scout', 'writer']) await server.api('POST', '/api/agents', { handle, identity: `You are the ${handle}.` });
  await open();
  const picker = page.getByRole('group', { name: 'Subagents' });
  await picker.getByLabel('scout').check();
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/runs'));
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  assert.deepEqual((await sent).postDataJSON().agents, ['scout']);
  await page.waitForURL(/\/runs\//);
});
