// Replay and reconnect: any moment of a run can be shown, and no event is lost when the connection or the server goes away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage, endOf } from './setup.mjs';
import { page as written, plan, together } from './answers.mjs';

const play = ({ role, title }) => {
  if (role === 'tree_planner') return { wait: 100, answer: /^Part/.test(title) ? plan('smaller', ['One', 'Two']) : plan('parts', [{ title: 'Part A', leaf: false }, { title: 'Part B', leaf: false }], ['Sum']) };
  return role === 'tree_executor' ? { wait: 150, answer: written(title, `# ${title}`) } : { wait: 100, answer: together(title, `# ${title}`) };
};

/** What the outline shows, row by row, with everything unfolded. */
const outline = async (page) => {
  await page.getByRole('treeitem').first().waitFor();
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('9');
  return page.getByRole('treeitem').evaluateAll((rows) => rows.map((row) => `${row.getAttribute('aria-level')} ${row.querySelector('.text').textContent} ${row.children[1].textContent.replace(/^\W+/, '').trim()}`));
};

/** The same from a snapshot: nodes in the order of their plans. */
const WORDS = { completed: 'done', aggregating: 'joining' };
const expectedOutline = ({ nodes, run }) => {
  const under = (parent) => [...nodes.id.keys()].filter((at) => nodes.parent[at] === parent).sort((a, b) => nodes.band[a] - nodes.band[b] || nodes.step[a] - nodes.step[b] || a - b);
  // The root of a run that is over says what the whole came to.
  const word = (at) => (at === 0 && run.outcome) || (WORDS[nodes.status[at]] ?? nodes.status[at]);
  const walk = (at) => [`${nodes.depth[at] + 1} ${nodes.title[at]} ${word(at)}`, ...under(at).flatMap(walk)];
  return under(null).flatMap(walk);
};

const slider = (page) => page.getByRole('slider', { name: 'Moment of the run' });

test('t12 the page at any moment shows what the snapshot of that moment says', async () => {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'The whole, by parts' });
  const run = await endOf(server, id);
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  for (const share of [0.15, 0.3, 0.5, 0.7, 0.9, 1]) {
    const seq = Math.round(run.last_seq * share);
    await page.goto(`${server.url}/runs/${id}?view=outline&at=${seq}`);
    const snapshot = await server.api('GET', `/api/runs/${id}/snapshot?at=${seq}`);
    await page.waitForFunction((at) => document.querySelector('[role=slider]')?.getAttribute('aria-valuenow') === String(at), seq);
    assert.deepEqual(await outline(page), expectedOutline(snapshot), `nodes at event ${seq}`);
    const cost = page.getByRole('group', { name: /^Cost:/ });
    assert.match(await cost.getAttribute('aria-label'), new RegExp(`^Cost: \\$${snapshot.run.metrics.cost_usd < 0.01 && snapshot.run.metrics.cost_usd > 0 ? snapshot.run.metrics.cost_usd.toFixed(4) : snapshot.run.metrics.cost_usd.toFixed(2)} `), `cost at event ${seq}`);
  }
});

test('t12 documents and the panel of a node go back in time with the tree', async () => {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'The whole, by parts' });
  await endOf(server, id);
  const events = (await server.api('GET', `/api/runs/${id}/events?limit=1000`)).items;
  const made = events.find((event) => event.type === 'tree.artifact_created');
  const files = page.getByRole('navigation', { name: 'Documents of this run' });
  const results = files.getByText('result of a node');
  await page.goto(`${server.url}/runs/${id}?view=documents&at=${made.seq - 1}`);
  await files.getByText('scratchpad').first().waitFor();
  assert.equal(await results.count(), 0);
  await page.goto(`${server.url}/runs/${id}?view=documents`);
  await results.first().waitFor();
  assert.ok((await results.count()) > 0);
  // The node that made it was at work then, and is done now.
  const panel = page.getByRole('complementary', { name: 'Node' });
  await page.goto(`${server.url}/runs/${id}?node=${made.nodeId}&at=${made.seq - 1}`);
  await panel.getByText('executing', { exact: true }).waitFor();
  assert.equal(await panel.getByRole('tab', { name: /Docs \d/ }).count(), 0);
  await page.goto(`${server.url}/runs/${id}?node=${made.nodeId}`);
  await panel.getByText('completed', { exact: true }).waitFor();
  await panel.getByRole('tab', { name: /Docs 1/ }).waitFor();
});

test('t12 the slider moves by keyboard, one event at a time', async () => {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'The whole, by parts' });
  const run = await endOf(server, id);
  await page.goto(`${server.url}/runs/${id}`);
  await slider(page).waitFor();
  await page.keyboard.press('[');
  await page.keyboard.press('[');
  await page.waitForURL(new RegExp(`at=${run.last_seq - 2}`));
  await page.keyboard.press('.');
  await page.waitForURL((url) => !url.searchParams.has('at'));
});

test('t12 looking back executes nothing and offers no command', async () => {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'The whole, by parts' });
  const run = await endOf(server, id);
  const calls = server.model.calls.length;
  await page.goto(`${server.url}/runs/${id}?at=${Math.round(run.last_seq / 2)}`);
  await page.getByText('it executes nothing').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Pause' }).first().isDisabled(), true);
  await page.getByRole('button', { name: 'Back to live' }).first().click();
  await page.locator('.top .badge', { hasText: 'completed' }).waitFor();
  assert.equal(server.model.calls.length, calls);
});

test('t14 the server is killed and the page resumes without a missing event', async () => {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'The whole, by parts' });
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  await page.getByRole('treeitem', { name: /Part A/ }).waitFor();
  await server.kill();
  await page.getByText('Connection lost').waitFor();
  await server.start();
  const run = await endOf(server, id);
  await page.getByText('Connection lost').waitFor({ state: 'detached' });
  await page.waitForFunction((last) => document.querySelector('[role=slider]')?.getAttribute('aria-valuemax') === String(last), run.last_seq);
  assert.deepEqual(await outline(page), expectedOutline(await server.api('GET', `/api/runs/${id}/snapshot`)));
});
