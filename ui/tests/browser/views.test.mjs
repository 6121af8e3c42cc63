// The timeline, the critical path and the metrics of a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, openPage } from './setup.mjs';
import { page as written, plan, together } from './answers.mjs';

/** Slow takes longest: it, and what waited for it, is the critical path. */
const play = ({ role, title }) => {
  if (role === 'tree_planner') return { wait: 100, answer: plan('two at once, then one', ['Quick', 'Slow'], ['Last']) };
  return role === 'tree_executor' ? { wait: title === 'Slow' ? 900 : 100, answer: written(title, `# ${title}`) } : { wait: 100, answer: together(title, `# ${title}`) };
};

async function finished() {
  const { server, page } = await openPage(play);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Wait for the slow one' });
  return { server, page, run: await endOf(server, id) };
}

const rowOf = (page, title) => page.getByRole('option', { name: new RegExp(`^${title}:`) });
const rows = (page) => page.getByRole('listbox', { name: 'Timeline of nodes' }).getByRole('option');

test('the timeline has a row for each node, and what took longer is longer', async () => {
  const { server, page, run } = await finished();
  await page.goto(`${server.url}/runs/${run.id}?view=timeline`);
  await page.keyboard.press('9');
  await rows(page).nth(3).waitFor();
  assert.equal(await rows(page).count(), 4);
  const width = (title) => rowOf(page, title).locator('i.executing').evaluate((bar) => bar.getBoundingClientRect().width);
  assert.ok((await width('Slow')) > 1.2 * (await width('Quick')), `${await width('Slow')} beside ${await width('Quick')}`);
  await rowOf(page, 'Slow').click();
  await page.getByRole('complementary', { name: 'Node' }).getByRole('heading', { name: 'Slow' }).waitFor();
});

test('dragging over the hours looks at a part of them, a click goes there', async () => {
  const { server, page, run } = await finished();
  await page.goto(`${server.url}/runs/${run.id}?view=timeline`);
  const axis = await page.locator('.axis').boundingBox();
  const point = (share) => [axis.x + axis.width * share, axis.y + axis.height / 2];
  await page.mouse.move(...point(0.2));
  await page.mouse.down();
  await page.mouse.move(...point(0.5), { steps: 4 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'Whole run' }).click();
  await page.mouse.click(...point(0.5));
  await page.getByText('it executes nothing').waitFor();
  const at = Number(new URL(page.url()).searchParams.get('at'));
  assert.ok(at > 1 && at < run.last_seq, `${at} of ${run.last_seq}`);
});

test('the critical path is what the end waited for, and nothing else', async () => {
  const { server, page, run } = await finished();
  await page.goto(`${server.url}/runs/${run.id}?view=timeline`);
  await page.getByRole('button', { name: 'Critical path' }).click();
  await page.locator('.row.back').first().waitFor();
  const back = await page.locator('.row.back .title').allTextContents();
  assert.deepEqual(back, ['Quick']);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  assert.equal(await page.getByRole('button', { name: 'Critical path' }).getAttribute('aria-pressed'), 'true', 'the tree shows the same');
});

test('the figures are those of the run, now and at a moment of the past', async () => {
  const { server, page, run } = await finished();
  const sum = (name) => page.locator('.sums div').filter({ hasText: name }).locator('dd').textContent();
  await page.goto(`${server.url}/runs/${run.id}?view=metrics`);
  await page.getByRole('img', { name: /^Cost: / }).waitFor();
  assert.equal(await sum('Model calls'), String(run.metrics.llm_calls));
  assert.equal(await page.getByRole('row', { name: /openai\/scripted/ }).getByRole('cell').first().textContent(), String(run.metrics.llm_calls));
  const middle = Math.round(run.last_seq / 2);
  const then = await server.api('GET', `/api/runs/${run.id}/snapshot?at=${middle}`);
  await page.goto(`${server.url}/runs/${run.id}?view=metrics&at=${middle}`);
  await page.getByText('it executes nothing').waitFor();
  assert.equal(await sum('Model calls'), String(then.run.metrics.llm_calls));
  assert.ok(then.run.metrics.llm_calls < run.metrics.llm_calls);
});

test('t12 the slider is dragged to a moment, and tree and figures are those of its snapshot', async () => {
  const { server, page, run } = await finished();
  await page.goto(`${server.url}/runs/${run.id}?view=outline`);
  const slider = page.getByRole('slider', { name: 'Moment of the run' });
  const box = await slider.boundingBox();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
  await page.mouse.down();
  for (const share of [0.8, 0.6, 0.4]) await page.mouse.move(box.x + box.width * share, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/at=\d+/);
  const at = Number(new URL(page.url()).searchParams.get('at'));
  const snapshot = await server.api('GET', `/api/runs/${run.id}/snapshot?at=${at}`);
  await page.waitForFunction((seq) => document.querySelector('[role=slider]')?.getAttribute('aria-valuenow') === String(seq), at);
  const titles = await page.getByRole('treeitem').evaluateAll((items) => items.map((item) => item.querySelector('.text').textContent));
  assert.deepEqual(titles.toSorted(), snapshot.nodes.title.toSorted());
  await page.getByRole('button', { name: 'Back to live' }).first().click();
  await page.waitForURL((url) => !url.searchParams.has('at'));
});
