// What a run came to: criteria with their evidence, a person's word on them, and that a partial run never looks like success.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, openPage } from './setup.mjs';
import { page as written, plan, together } from './answers.mjs';

const badge = (page, text) => page.locator('.top .badge', { hasText: text }).waitFor({ timeout: 60_000 });
const toneOf = (locator) => locator.evaluate((element) => element.closest('[data-tone]')?.dataset.tone ?? null);

/** The text that is marked on the page, and whether a person sees it without scrolling. */
const marked = (page) =>
  page.evaluate(() => {
    const [range] = CSS.highlights.get('quote') ?? [];
    const box = range?.getBoundingClientRect();
    return range ? { text: range.toString(), seen: box.top >= 0 && box.top < innerHeight } : null;
  });

async function startHomework(page, criterion) {
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Objective').fill('Find out what the archive holds');
  await page.getByText('Homework', { exact: true }).click();
  const check = page.getByLabel('check the criteria when the run wants to end');
  assert.equal(await check.count(), 0, 'without a criterion there is nothing to check');
  await page.getByRole('button', { name: 'Add a criterion' }).click();
  await page.getByLabel('Criterion 1', { exact: true }).fill(criterion);
  assert.equal(await check.isChecked(), true);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/runs\//);
  return new URL(page.url()).pathname;
}

test('b3 a verified criterion leads to the passage that shows it, reads stale once that is gone, and a person has the last word', async () => {
  const { server, page } = await openPage(() => ({ status: 500 }), { PLEACH_MODEL: 'rehearsal/default', PLEACH_REHEARSAL_MS: '0', OPENAI_API_KEY: '' });
  const run = await startHomework(page, 'a table of what was found');
  await badge(page, 'completed, verified');
  assert.match(await page.title(), /completed, verified/);

  // The quote leads to the passage in the document.
  await page.getByRole('tab', { name: 'Criteria' }).click();
  const panel = page.getByRole('region', { name: 'Criteria' });
  await panel.getByText('verified', { exact: true }).waitFor();
  await panel.locator('a.quote').first().click();
  await page.waitForURL(/\/documents\//);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(() => CSS.highlights.has('quote'));
  const passage = await marked(page);
  assert.match(passage.text, /^what\s*what was found\s*how sure/);
  assert.ok(passage.seen, 'the passage is not in view');

  // The passage is taken out of the document by hand.
  await page.getByRole('button', { name: 'Edit' }).click();
  const text = page.getByLabel('Text of the document');
  await text.fill((await text.inputValue()).replaceAll(/^\|.*\n/gm, ''));
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await page.getByText('The quoted passage is not in this text.').waitFor();
  assert.equal(await marked(page), null);
  await page.goto(`${server.url}${run}?view=criteria`);
  await panel.getByText('stale', { exact: true }).waitFor();
  await panel.getByText('What was checked has changed since.').waitFor();
  await badge(page, 'completed, verified');

  // The link still leads to what was checked.
  await panel.locator('a.quote').first().click();
  await page.getByText('The document has changed since').waitFor();
  assert.match((await marked(page)).text, /what was found/);
  await page.goBack();

  // A person rejects it, accepts it, and has it checked again.
  await panel.getByRole('button', { name: 'Reject…' }).click();
  await page.getByLabel('Why it is not met').fill('I took the table out');
  await page.getByRole('button', { name: 'Reject it' }).click();
  await badge(page, 'completed in part');
  await panel.getByText('I took the table out').waitFor();
  await panel.getByRole('button', { name: 'Accept' }).click();
  await badge(page, 'completed, verified');
  await panel.getByText('accepted', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Check again' }).click();
  await panel.getByText('refuted', { exact: true }).waitFor();
  await badge(page, 'completed in part');
  await page.getByRole('tab', { name: 'Report' }).click();
  await page.getByRole('tabpanel').locator('.badge', { hasText: 'completed in part' }).waitFor();
});

test('b3 who may only look sees the criteria, and no buttons', async () => {
  const { server } = await openPage(() => ({ status: 500 }), { PLEACH_MODEL: 'rehearsal/default', PLEACH_REHEARSAL_MS: '0', OPENAI_API_KEY: '' });
  const project = await server.api('POST', '/api/projects', { title: 'Archive', description: '' });
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Find out what the archive holds', success_criteria: ['a table of what was found'], project_ids: [project.id] });
  await endOf(server, id);
  const watcher = await server.person('watcher');
  await server.api('POST', `/api/projects/${project.id}/members`, { actor: 'watcher', role: 'viewer' });
  const [invitation] = (await (await watcher.request.get(`${server.url}/api/invitations`)).json()).items;
  await watcher.request.post(`${server.url}/api/invitations/${invitation.id}/accept`, { headers: { origin: server.url } });
  await watcher.goto(`${server.url}/runs/${id}?view=criteria`);
  const panel = watcher.getByRole('region', { name: 'Criteria' });
  await panel.locator('a.quote').first().waitFor();
  await watcher.locator('.looks').waitFor();
  assert.equal(await panel.getByRole('button').count(), 0);
});

/** Two of the four steps fail for good. */
const half = ({ role, title }) => {
  if (role === 'tree_planner') return plan('four sides', ['North', 'East', 'South', 'West']);
  if (role === 'tree_executor') return ['South', 'West'].includes(title) ? { status: 400, answer: 'no such side' } : written(title, `# ${title}`);
  return together('Two sides of four', '# Two sides of four', ['South and West are missing']);
};

/** The colour of the root's badge on the canvas, beside the colours of the tones. */
const rootColour = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector('.tree canvas');
    const [root] = Object.values(window.__tree.boxes()).sort((a, b) => a.x - b.x);
    const ratio = canvas.width / canvas.clientWidth;
    const zoom = root.height / 46;
    const pixel = canvas.getContext('2d').getImageData((root.x + 17 * zoom) * ratio, (root.y + 10 * zoom) * ratio, 1, 1).data;
    const probe = document.createElement('i');
    document.body.append(probe);
    const colour = (tone) => {
      probe.style.color = `var(--${tone})`;
      return getComputedStyle(probe).color;
    };
    const tones = { partial: colour('partial'), done: colour('done') };
    probe.remove();
    return { root: `rgb(${pixel[0]}, ${pixel[1]}, ${pixel[2]})`, ...tones };
  });

test('t2 a tree of which half failed shows success nowhere', async () => {
  const { server, page } = await openPage(half);
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Look at it from four sides' });
  const run = await endOf(server, id);
  assert.deepEqual([run.status, run.outcome], ['completed', 'partial']);
  const at = (query) => page.goto(`${server.url}/runs/${id}${query}`);

  // Header, browser tab and the root on the canvas.
  await at('?view=tree');
  await badge(page, 'completed in part');
  assert.equal(await toneOf(page.locator('.top .badge').first()), 'partial');
  assert.match(await page.title(), /^completed in part: /);
  await page.waitForFunction(() => Object.keys(window.__tree?.boxes() ?? {}).length === 5);
  await page.waitForTimeout(500);
  const colours = await rootColour(page);
  assert.equal(colours.root, colours.partial, JSON.stringify(colours));

  // Outline, timeline and panel.
  await at('?view=outline');
  const root = page.getByRole('treeitem').first();
  await root.waitFor();
  assert.match(await root.textContent(), /◐ partial/);
  assert.equal(await toneOf(root), 'partial');
  await at(`?view=timeline&node=${run.root_node_id}`);
  await page.getByRole('option', { name: /now partial$/ }).waitFor();
  await page.locator('.legend').getByText('partial').waitFor();
  const panel = page.getByRole('complementary', { name: 'Node' });
  await panel.locator('.badge', { hasText: 'completed in part' }).waitFor();
  assert.equal(await toneOf(panel.locator('header .badge')), 'partial');
  await panel.getByText('Partial: 2 of its steps came to nothing').waitFor();

  // Report, events, list of runs and inbox.
  await at('?view=report');
  const report = page.getByRole('tabpanel');
  await report.locator('.badge', { hasText: 'completed in part' }).waitFor();
  assert.equal(await report.locator('.badge[data-tone=done]').count(), 0);
  await at('?view=events');
  assert.equal(await toneOf(page.getByText('completed in part', { exact: true }).last()), 'partial');
  await page.goto(server.url);
  const row = page.getByRole('listitem').filter({ hasText: 'Look at it from four sides' });
  await row.getByText('completed in part', { exact: true }).waitFor();
  assert.equal(await row.locator('[data-tone=done]').count(), 0);
  await page.goto(`${server.url}/questions`);
  const notice = page.getByRole('listitem').filter({ hasText: 'Look at it from four sides' });
  await notice.getByText('the run completed in part').waitFor();
  assert.equal(await toneOf(notice.locator('.mark')), 'partial');
});
