// A run in the page, on the real binary: start it, watch it grow, answer it, raise its limits, control its parts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from './setup.mjs';
import { ask, execute, page as written, plan, together } from './answers.mjs';

/** The titles on the canvas, as the page drew them. */
const drawn = (page) => page.evaluate(() => Object.keys(window.__tree?.boxes() ?? {}).length);

/** The run itself, not one of its nodes or steps, has ended well. */
const completed = (page) => page.locator('.top .badge', { hasText: 'completed' }).waitFor({ timeout: 60_000 });

async function startFromPage(page, objective, more = async () => {}) {
  await page.getByRole('button', { name: 'New run' }).first().click();
  await page.getByLabel('Objective').fill(objective);
  await more();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/runs\//);
  return new URL(page.url()).pathname.split('/')[2];
}

test('t10 a run started from the page grows within a second of planning', async () => {
  let planned = 0;
  const { page } = await openPage(({ role, title }) => {
    if (role === 'tree_planner') {
      planned = Date.now() + 500;
      return { wait: 500, answer: plan('three sides', ['North', 'East', 'South']) };
    }
    return role === 'tree_executor' ? { wait: 300, answer: written(title, `# ${title}`) } : together(title, `# ${title}`);
  });
  await startFromPage(page, 'Look at it from three sides');
  await page.waitForFunction(() => Object.keys(window.__tree?.boxes() ?? {}).length >= 4, undefined, { polling: 20 });
  assert.ok(Date.now() - planned < 1_000, `the children were drawn ${Date.now() - planned} ms after the plan was there`);
  await completed(page);
  assert.ok((await drawn(page)) >= 1);
});

test('h10 a question is answered in the page and the run goes on', async () => {
  const { server, page } = await openPage(({ role, title, prompt }) => {
    if (role === 'tree_planner') return prompt.includes('the coldest one') ? execute() : ask('Which winter?', ['an average one', 'the coldest one']);
    return written(title, '# The coldest winter');
  });
  const id = await startFromPage(page, 'Size the heater');
  await page.getByRole('button', { name: 'the coldest one' }).waitFor();
  assert.match(await page.title(), /Waiting on you/);
  await page.getByRole('button', { name: 'the coldest one' }).click();
  await completed(page);
  const run = await server.api('GET', `/api/runs/${id}`);
  assert.equal(run.questions[0].answer, 'the coldest one');
});

test('h10 a question is answered from the list, without opening the run', async () => {
  const { server, page } = await openPage(({ role, title, prompt }) => (role === 'tree_planner' ? (prompt.includes('"yes, all of it"') ? execute() : ask('All of it?')) : written(title, 'done')));
  await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Tidy up' });
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByLabel('Your answer').fill('yes, all of it');
  await page.keyboard.press('Enter');
  await page.getByText('completed, claimed', { exact: true }).waitFor();
});

test('h10 a limit is raised and the run continues', async () => {
  const { server, page } = await openPage(({ role, nth }) => {
    if (role === 'homework_report') return { title: 'So far', summary: 'Some pages.', findings: [], not_done: [] };
    return {
      progress_summary: `round ${nth}`, plan: { steps: [{ id: 's1', title: 'Write pages', status: 'doing', owner: 'planner' }] },
      tool_calls: [{ tool: 'create_document', arguments: { title: `Page ${nth}`, content: `text ${nth}` }, purpose: 'write' }], executor_tasks: [], remaining_work: [`page ${nth + 1}`],
      completion_evidence: [], exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'high',
    };
  });
  const id = await startFromPage(page, 'Write pages until told otherwise', async () => {
    await page.getByText('Homework', { exact: true }).click();
    await page.getByText('Each limit').click();
    await page.getByRole('spinbutton', { name: 'Iterations' }).fill('2');
  });
  await page.getByText('Stopped: the iteration limit was reached').waitFor();
  await page.getByRole('button', { name: 'Raise limits and continue' }).click();
  await page.getByLabel(/New limit: Iterations/).fill('4');
  await page.getByRole('button', { name: 'Save and continue' }).click();
  await page.getByRole('heading', { name: 'Iteration 4' }).waitFor();
  await page.getByText('Stopped: the iteration limit was reached').waitFor();
  const run = await server.api('GET', `/api/runs/${id}`);
  assert.deepEqual([run.status, run.iteration, run.budgets.max_iterations], ['stopped', 4, 4]);
});

test('t11 a node shows its step, its scratchpad and its documents', async () => {
  const { server, page } = await openPage(({ role, title }) => {
    if (role === 'tree_planner') return plan('two sides', ['Left', 'Right']);
    return role === 'tree_executor' ? written(title, `# ${title}\n\nEverything about the ${title} side.`) : together('Both', '# Both sides');
  });
  const id = await startFromPage(page, 'Two sides of a coin');
  await completed(page);
  await page.getByRole('tab', { name: 'Outline' }).click();
  await page.getByRole('treeitem', { name: /Left/ }).click();
  const panel = page.getByRole('complementary', { name: 'Node' });
  await panel.getByText('says what was found').waitFor();
  assert.match(page.url(), /node=/);
  await panel.getByRole('tab', { name: 'Scratchpad' }).click();
  await panel.getByText('Left is written.').first().waitFor();
  await panel.getByRole('tab', { name: /Docs/ }).click();
  await panel.getByText('Everything about the Left side.').waitFor();
  await panel.getByRole('link', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'Left', level: 1 }).waitFor();
  await page.goto(`${server.url}/runs/${id}?view=report`);
  await page.getByRole('heading', { name: 'Both' }).first().waitFor();
});

test('b1 a subtree is canceled and retried while its sibling goes on', async () => {
  let free;
  const held = new Promise((resolve) => (free = resolve));
  const { server, page } = await openPage(({ role, title, nth }) => {
    if (role === 'tree_planner') return plan('two', ['Quick', 'Stuck', 'Slow']);
    if (role === 'tree_executor') return { wait: title === 'Slow' || (title === 'Stuck' && nth === 1) ? held : 50, answer: written(title, title) };
    return together('All', 'all');
  });
  const id = await startFromPage(page, 'One of them hangs');
  await page.getByRole('tab', { name: 'Outline' }).click();
  await page.getByRole('treeitem', { name: /Stuck.*executing/ }).click();
  const panel = page.getByRole('complementary', { name: 'Node' });
  await panel.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Cancel it' }).click();
  await panel.getByText('canceled', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('treeitem', { name: /Stuck.*done/ }).waitFor();
  free();
  await completed(page);
  const events = (await server.api('GET', `/api/runs/${id}/events?limit=1000`)).items;
  assert.equal(events.filter((event) => event.type === 'tree.node_created' && event.payload.retryOf).length, 1);
});

test('e1 the first tree grows on the built-in model: a question, a failure and a new plan, without a key', async () => {
  const { server, page } = await openPage(() => ({ status: 500 }), { PLEACH_MODEL: 'rehearsal/demo', PLEACH_REHEARSAL_MS: '300', OPENAI_API_KEY: '' });
  const id = await startFromPage(page, 'Move a small bakery into a bigger shop without closing for more than two days');
  await page.getByText('rehearsal', { exact: true }).first().waitFor();
  await page.waitForFunction(() => Object.keys(window.__tree?.boxes() ?? {}).length >= 4);
  await page.getByRole('button', { name: 'a thorough one' }).click();
  await completed(page);
  const types = (await server.api('GET', `/api/runs/${id}/events?limit=1000`)).items.map((event) => event.type);
  for (const type of ['tree.node_failed', 'tree.replan_requested', 'run.completed']) assert.ok(types.includes(type), `${type} did not happen`);
  assert.equal(server.model.calls.length, 0);
});
