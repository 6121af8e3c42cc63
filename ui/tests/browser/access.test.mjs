// Access: what each person is shown and offered, approvals, and that no text can freeze the page.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openPage, pausedRun } from './setup.mjs';
import { assertAccessible, assertNoOverflow } from './checks.mjs';
import { ask, execute, page as written } from './answers.mjs';

const quiet = () => ({ status: 500 });

test('x10_a_document_that_froze_the_page_is_shown_at_once', async () => {
  const { server, page } = await openPage(quiet);
  const project = await server.api('POST', '/api/projects', { title: 'Hostile' });
  const froze = [`# a${' '.repeat(8_000)}x`, `a|b\n${'|-'.repeat(4_000)}x`, '*a '.repeat(4_000), '['.repeat(8_000)].join('\n\n');
  const { id } = await server.api('POST', '/api/documents', { project_id: project.id, title: 'Slow', content: froze });
  await page.goto(`${server.url}/documents/${id}`);
  await page.getByRole('heading', { name: 'Slow' }).waitFor({ timeout: 10_000 });
  // A frame comes only after everything that blocks the page.
  const frame = await page.evaluate(() => new Promise((resolve) => { const from = performance.now(); requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - from))); }));
  assert.ok(frame < 2_000, `the page was busy for ${frame} ms`);
});

test('x10_a_document_that_is_too_long_says_up_to_where_it_is_shown_and_has_the_rest', async () => {
  const { server, page } = await openPage(quiet);
  const project = await server.api('POST', '/api/projects', { title: 'Long' });
  const { id } = await server.api('POST', '/api/documents', { project_id: project.id, title: 'Long', content: `${'A line of words.\n\n'.repeat(20_000)}The very end.` });
  await page.goto(`${server.url}/documents/${id}`);
  await page.getByText(/Shown up to character [\d,]+ of 360,013\./).waitFor();
  assert.equal(await page.getByText('The very end.').count(), 0);
  await page.getByRole('button', { name: 'Show the rest as plain text' }).click();
  await page.getByText('The very end.').waitFor();
});

test('r11_a_message_is_shown_as_said_when_it_is_stored_and_resuming_waits_for_it', async () => {
  const { server, page, id, release } = await pausedRun();
  let pass;
  const gate = new Promise((resolve) => (pass = resolve));
  const order = [];
  await page.route(/\/messages$/, async (route) => { await gate; order.push('message'); await route.continue(); });
  await page.route(/\/resume$/, async (route) => { order.push('resume'); await route.continue(); });

  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('sending… not said yet').waitFor();
  await page.getByRole('button', { name: 'Resume' }).first().click();
  await page.getByRole('button', { name: 'Waits for your message…' }).waitFor();
  // While the message is held, nothing is stored, resumed or shown as said.
  assert.deepEqual(order, []);
  assert.equal((await server.api('GET', `/api/runs/${id}`)).status, 'paused');
  assert.equal(await page.getByText('“Prefer primary sources”').count(), 0);
  assert.equal(await page.getByLabel('Message to the run').inputValue(), 'Prefer primary sources');

  pass();
  release();
  await page.locator('.top .badge', { hasText: 'completed' }).waitFor();
  assert.deepEqual(order, ['message', 'resume']);
  const events = (await server.api('GET', `/api/runs/${id}/events?limit=1000`)).items.map((event) => event.type);
  assert.ok(events.indexOf('run.message_queued') < events.lastIndexOf('run.resumed'), events.join(' '));
  assert.ok(server.model.calls.some((call) => call.prompt.includes('Prefer primary sources')), 'no call carried the message');
});

test('r11_a_message_that_was_not_stored_keeps_its_words_and_the_run_stays_paused', async () => {
  const { server, page, id, release } = await pausedRun();
  const keys = [];
  let refuse = true;
  await page.route(/\/messages$/, async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    // The first request arrives, but its response is lost.
    if (!refuse) return route.continue();
    await route.fetch();
    return route.abort();
  });
  let fail;
  await page.route(/\/resume$/, (route) => { fail = 'it was resumed'; return route.continue(); });

  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Not sent. Your text is kept.').waitFor();
  assert.equal(await page.getByLabel('Message to the run').inputValue(), 'Prefer primary sources');
  assert.equal(fail, undefined);
  assert.equal((await server.api('GET', `/api/runs/${id}`)).status, 'paused');

  refuse = false;
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByLabel('Message to the run').waitFor({ state: 'detached' });
  assert.equal(keys[0], keys[1], 'the same message was sent as another one');
  const events = (await server.api('GET', `/api/runs/${id}/events?limit=1000`)).items;
  assert.equal(events.filter((event) => event.type === 'run.message_queued').length, 1, 'it was stored twice');
  release();
});

test('r11_a_message_that_no_call_was_shown_is_told_when_the_run_has_ended', async () => {
  const { page, release } = await pausedRun();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('“Prefer primary sources”').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).first().click();
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await page.getByText('A message was never read.').waitFor();
  release();
});

test('u16_a_login_link_that_was_used_says_so_and_names_the_next_command', async () => {
  const { server } = await openPage(quiet);
  const page = await server.watched(await server.visitor());
  await page.goto(server.login);
  await page.getByText('This login link was used before. Each link works once.').waitFor();
  await page.getByText('pleach token link').first().waitFor();
  await page.getByLabel('Token').waitFor();
  await page.goto(`${server.url}/login?code=plc_nothing`);
  await page.getByText('This login link is not known here.').waitFor();
  await assertAccessible(page, server.url, ['/login?problem=expired']);
  await assertNoOverflow(page, server.url, ['/login?problem=expired']);
});

/** A project of the one who is logged in, and somebody who is invited to it. */
async function invited(role, play = quiet) {
  const { server, page } = await openPage(play);
  const bob = await server.person('bob');
  const project = await server.api('POST', '/api/projects', { title: 'Garden', description: 'What grows' });
  await page.goto(`${server.url}/projects/${project.id}`);
  await page.getByLabel('Invite somebody').fill('bob');
  await page.getByLabel('as', { exact: true }).selectOption(role);
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByText(`bob is invited as ${role}. It counts when bob accepts.`).waitFor();
  await page.getByText('invited, not accepted yet').waitFor();
  return { server, page, bob, project };
}

test('x2_an_invitation_is_shown_in_the_inbox_and_counts_when_it_is_accepted', async () => {
  const { server, page, bob, project } = await invited('viewer');
  await bob.goto(`${server.url}/projects/${project.id}`);
  await bob.getByRole('heading', { name: 'There is no such project' }).waitFor();
  await bob.goto(`${server.url}/questions`);
  await bob.getByText(/invites you to Garden as viewer/).waitFor();
  await bob.getByRole('button', { name: 'Accept' }).click();
  await bob.getByText('You are a viewer of Garden now.').waitFor();
  await bob.getByRole('link', { name: 'Garden' }).click();
  await bob.getByText('You are a viewer of this project. Editors and owners can change it.').waitFor();
  // A viewer is offered nothing that would be refused.
  assert.equal(await bob.getByLabel('New task').count(), 0);
  assert.equal(await bob.getByLabel('Invite somebody').count(), 0);

  await page.reload();
  await page.getByLabel('Role of bob').selectOption('editor');
  await page.getByText('bob is an editor now.').waitFor();
  await bob.reload();
  await bob.getByLabel('New task').fill('Water it');
  await bob.getByRole('button', { name: 'Add' }).click();
  await bob.getByText('Water it').waitFor();
  await assertAccessible(page, server.url, [`/projects/${project.id}`]);
  await assertNoOverflow(page, server.url, [`/projects/${project.id}`]);

  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${server.url}/projects/${project.id}`);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('bob is no longer a member.').waitFor();
  await bob.goto(`${server.url}/projects/${project.id}`);
  await bob.getByRole('heading', { name: 'There is no such project' }).waitFor();
});

test('x2_an_invitation_is_declined_withdrawn_and_refused_in_words', async () => {
  const { server, page, bob } = await invited('editor');
  await bob.goto(`${server.url}/questions`);
  await bob.getByText(/invites you to Garden as editor/).waitFor();
  await assertAccessible(bob, server.url, ['/questions']);
  await assertNoOverflow(bob, server.url, ['/questions']);
  await bob.goto(`${server.url}/questions`);
  await bob.getByRole('button', { name: 'Decline' }).click();
  await bob.getByText(/invites you to Garden/).first().waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText('invited, not accepted yet').waitFor({ state: 'detached' });

  await page.getByLabel('Invite somebody').fill('bob');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('The invitation of bob is withdrawn.').waitFor();
  await page.getByLabel('Invite somebody').fill('nobody-here');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByRole('alert').waitFor();
  await page.getByText('only owner').waitFor();
});

test('x1_a_viewer_of_a_run_sees_it_and_why_it_cannot_be_steered', async () => {
  const { server, bob, project } = await invited('viewer', ({ role, title, prompt }) => (role === 'tree_planner' ? (prompt.includes('"the coldest"') ? execute() : ask('Which winter?', ['the coldest', 'an average one'])) : written(title, '# Done')));
  await bob.goto(`${server.url}/questions`);
  await bob.getByRole('button', { name: 'Accept' }).click();
  await bob.getByText('You are a viewer of Garden now.').waitFor();
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Size the heater', project_ids: [project.id] });
  await bob.goto(`${server.url}/runs/${id}`);
  await bob.getByText('Which winter?').first().waitFor();
  await bob.getByText('You are a viewer of “Garden”: you see this run; its owner and the editors of its projects steer it.').first().waitFor();
  for (const name of ['Say…', 'Pause', 'Cancel', 'Limits', 'the coldest', 'Answer']) assert.equal(await bob.getByRole('button', { name, exact: true }).count(), 0, name);
  assert.doesNotMatch(await bob.title(), /Waiting on you/);

  // An editor may, without anything being asked again of the owner.
  await server.api('POST', `/api/projects/${project.id}/members`, { actor: 'bob', role: 'editor' });
  await bob.reload();
  await bob.getByRole('button', { name: 'the coldest' }).first().click();
  await bob.locator('.top .badge', { hasText: 'completed' }).waitFor();
  assert.equal((await server.api('GET', `/api/runs/${id}`)).questions[0].answer, 'the coldest');

  // Who is removed is shown no more of it, in an open page neither.
  await server.api('DELETE', `/api/projects/${project.id}/members/bob`);
  await bob.getByRole('heading', { name: 'This run is gone' }).waitFor();
});

test('x12_an_approval_shows_all_that_would_be_sent_in_its_order', async () => {
  const letters = path.join(mkdtempSync(path.join(tmpdir(), 'pleach-letters-')), 'letters');
  const office = path.join(import.meta.dirname, 'mcp-server.mjs');
  const body = `Dear Ann,\n\n${'All is well here. '.repeat(300)}\n\ncc: hidden@example.net`;
  const turn = (calls) => ({ progress_summary: 'writing', plan: { steps: [{ id: 's1', title: 'Write', status: 'doing', owner: 'planner' }] }, tool_calls: calls, executor_tasks: [], remaining_work: ['more'], completion_evidence: [], exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'high' });
  const more = `[mcp.post]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([office, letters])}\napprove = "always"\n`;
  const { server, page } = await openPage(({ role, nth }) => {
    if (role !== 'homework_planner') return { title: 'Letters', summary: 'One letter.', findings: [], not_done: [] };
    return nth === 1 ? turn([{ tool: 'post__send_letter', arguments: { subject: 'News', body, to: 'ann@example.org' }, purpose: 'write' }]) : { wait: new Promise(() => {}), answer: {} };
  }, {}, more);
  const { id } = await server.api('POST', '/api/runs', { kind: 'homework', objective: 'Write to Ann' });
  await page.goto(`${server.url}/runs/${id}`);
  const question = page.locator('.banner.question');
  await question.getByText('May the run call post__send_letter').waitFor();
  await question.getByText('may leave this machine').waitFor();
  const names = await question.locator('dt').allTextContents();
  // A long value is folded to both its ends, and opens to all of it.
  await question.getByText('hidden@example.net').waitFor();
  await question.getByText('One value is folded: all of it would be sent.').waitFor();
  await question.getByRole('button', { name: /Show all [\d,]+ characters/ }).click();
  assert.ok((await question.locator('dd pre').allTextContents()).includes(JSON.stringify(body)));
  assert.equal(existsSync(letters), false, 'nothing left before the answer');
  await page.getByRole('button', { name: 'allow', exact: true }).click();
  await page.getByText('send_letter').first().waitFor();
  for (let turn = 0; turn < 200 && !existsSync(letters); turn += 1) await page.waitForTimeout(50);
  const letter = JSON.parse(readFileSync(letters, 'utf8'));
  assert.deepEqual(letter, { subject: 'News', body, to: 'ann@example.org' });
  assert.deepEqual(names, Object.keys(letter), 'the order in which the tool got it');
});
