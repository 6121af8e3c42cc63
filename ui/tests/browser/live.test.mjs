// Live means live: what is being written, and time and cost, move while a call runs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, openPage } from './setup.mjs';
import { ask, execute, page as written, plan, together } from './answers.mjs';

const HOSTILE = '<img src=x onerror="window.stolen=1"> **not bold** ';
const LONG = `${HOSTILE}${'Heat pumps move heat instead of making it. '.repeat(80)}`;

function held() {
  let release;
  const until = new Promise((resolve) => (release = resolve));
  return { until, release };
}

/** A homework planner's answer. */
const planned = (more) => ({
  progress_summary: 'Two sides are looked at.', plan: { steps: [{ id: 's1', title: 'Look', status: 'doing', owner: 'executor' }] }, tool_calls: [], executor_tasks: [], remaining_work: ['the rest'], completion_evidence: [],
  exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'high', branch_rollup: null, ...more,
});

const number = (text) => Number(/[\d.]+/.exec(text)[0]);

test('t4 a node shows the text it is writing, as text, also to one who comes late', async () => {
  const { until, release } = held();
  const { server, page } = await openPage(({ role, title }) => {
    if (role === 'tree_planner') return plan('two sides', ['Left', 'Right']);
    if (role === 'tree_executor') return title === 'Left' ? { pause: until, answer: { ...written(title, LONG), result: { ...written(title, '').result, summary: 'The left side is written.' } } } : written(title, 'right');
    return together('Both', 'both');
  });
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Two sides' });
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  await page.getByRole('treeitem', { name: /Left/ }).click();
  const panel = page.getByRole('complementary', { name: 'Node' });
  const growing = panel.getByRole('group', { name: 'What it is writing' });
  await growing.getByText('Heat pumps move heat instead').waitFor();
  // A page that is opened now has missed everything that was sent
  await page.reload();
  await growing.getByText('Heat pumps move heat instead').waitFor();
  const shown = await growing.innerText();
  assert.ok(!shown.includes('"markdown"') && !shown.includes('{'), shown);
  assert.equal(await growing.locator('img, strong').count(), 0);
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  // The sibling writes nothing, and the text is gone when the node has ended
  release();
  await endOf(server, id);
  await panel.getByText('The left side is written.').first().waitFor();
  assert.equal(await growing.count(), 0);
});

test('t4 the centre of homework shows what the planner and each executor are writing', async () => {
  const [planning, working] = [held(), held()];
  const task = (branch) => ({ branch_id: branch, step_id: 's1', title: `Side ${branch}`, objective: `Look at ${branch}`, tools: [] });
  const { server, page } = await openPage(({ role, nth, prompt }) => {
    if (role === 'homework_planner') return nth === 1 ? { pause: planning.until, answer: planned({ progress_summary: LONG, executor_tasks: [task('east'), task('west')] }) } : planned({ needs_user_input: true, blocking_questions: ['Go on?'] });
    const side = prompt.includes('Look at east') ? 'The eastern wall is cold. ' : 'The western wall is warm. ';
    return { pause: working.until, answer: { thought: side.repeat(80), tool_calls: [], done: true, summary: 'Looked.', result_snippet: 'Looked.', completed_step_ids: [] } };
  });
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Look at the walls' });
  await page.goto(`${server.url}/runs/${id}`);
  const centre = page.getByRole('tabpanel');
  await centre.getByRole('group', { name: 'What is being written: The planner' }).getByText('Heat pumps move heat').waitFor();
  planning.release();
  await centre.getByRole('group', { name: 'What Side east is writing' }).getByText('The eastern wall is cold.').waitFor();
  await centre.getByRole('group', { name: 'What Side west is writing' }).getByText('The western wall is warm.').waitFor();
  working.release();
  await page.getByText('Go on?').first().waitFor();
  assert.equal(await centre.getByRole('group').count(), 0);
});

test('h8 the clock and the cost of a run and its iteration go on while a call runs, and the cost says that it is an estimate', async () => {
  const { until, release } = held();
  const { server, page } = await openPage(() => ({ pause: until, answer: planned({ progress_summary: LONG, needs_user_input: true, blocking_questions: ['Which house?'] }) }));
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Heat a house' });
  await page.goto(`${server.url}/runs/${id}`);
  const cost = page.locator('.top').getByRole('group', { name: /^Cost: about/ });
  const time = page.locator('.top').getByRole('group', { name: /^Time: [2-9] s/ });
  await cost.waitFor();
  const first = number(await cost.innerText());
  await time.waitFor();
  const earlier = number((await time.innerText()).replace(/^Time/, ''));
  await page.waitForFunction(([cost, seconds]) => {
    const shown = (name) => Number(/[\d.]+/.exec([...document.querySelectorAll('.top .meter')].find((meter) => meter.innerText.startsWith(name)).innerText)[0]);
    return shown('Cost') > cost && shown('Time') > seconds;
  }, [first, earlier]);
  // The iteration that is going on has its own time and cost
  const iteration = page.locator('article', { hasText: 'Iteration 1' }).locator('header');
  assert.match(await iteration.innerText(), /\d+ s\s+about \$0\.\d+/);
  release();
  // When the call has ended, what it cost is known
  await page.getByText('Which house?').first().waitFor();
  await page.locator('.top').getByRole('group', { name: /^Cost: \$/ }).waitFor();
  const run = await server.api('GET', `/api/runs/${id}`);
  assert.equal(run.running, undefined);
});

test('t5 the sidebar of a tree says what its root is about to do', async () => {
  const [thinking, doing] = [held(), held()];
  const { server, page } = await openPage(({ role, title, prompt }) => {
    if (role === 'tree_planner') return prompt.includes('the big one') ? execute() : { wait: thinking.until, answer: ask('Which one?') };
    return { wait: doing.until, answer: written(title, 'done') };
  });
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Choose' });
  await page.goto(`${server.url}/runs/${id}`);
  const side = page.getByRole('complementary', { name: 'Plan and notes' });
  await side.getByText('The root is planning.').waitFor();
  thinking.release();
  await side.getByText('The root waits for an answer before it plans.').waitFor();
  await page.getByLabel('Your answer').fill('the big one');
  await page.keyboard.press('Enter');
  await side.getByText('The root does it without a plan.').waitFor();
  doing.release();
  await endOf(server, id);
  await side.getByText('The root did it without a plan.').waitFor();
});

test('t7 t10 events name their node by number and title, and a scratchpad its writer', async () => {
  const { server, page } = await openPage(({ role, title }) => {
    if (role === 'tree_planner') return plan('two sides', ['Left side', 'Right side']);
    return role === 'tree_executor' ? written(title, title) : together('Both', 'both');
  });
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Two sides' });
  await endOf(server, id);
  await page.goto(`${server.url}/runs/${id}?view=events`);
  await page.getByText('n1 Left side: tree_executor called').waitFor();
  await page.getByText('n0 Two sides read what another node made').first().waitFor();
  await server.api('POST', '/api/agents', { handle: 'scout', identity: 'You are tidy.' });
  const { token } = await server.api('POST', '/api/tokens', { actor: 'scout', name: 'scout', scopes: ['run'] });
  const kept = await fetch(`${server.url}/whoami/actions/update_scratchpad`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify({ content: 'Mine.' }) });
  assert.equal(kept.status, 200);
  await page.goto(`${server.url}/agents/scout`);
  await page.getByText('by itself, outside a task').waitFor();
  assert.equal(await page.getByText('by hand').count(), 0);
});
