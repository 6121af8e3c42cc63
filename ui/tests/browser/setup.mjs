// What browser tests begin with: a server with a logged-in page, which is closed after the test, and runs that have come to some point.

import { after, afterEach } from 'node:test';
import { page as written, plan, together } from './answers.mjs';
import { closeBrowser, startServer } from './server.mjs';

const servers = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
after(closeBrowser);

/** A server whose model answers with `play`, and a page that is logged in there. */
export async function openPage(play, settings, more) {
  const server = await startServer(play, settings, more);
  servers.push(server);
  return { server, page: await server.page() };
}

/** The run, once it has ended. */
export async function endOf(server, id) {
  for (;;) {
    const run = await server.api('GET', `/api/runs/${id}`);
    if (run.ended_at) return run;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A paused run whose first step waits for `release`, and its page with a message that is typed and not sent. */
export async function pausedRun() {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const { server, page } = await openPage(({ role, title, nth }) => {
    if (role === 'tree_planner') return plan('two', ['First'], ['Second']);
    return role === 'tree_executor' ? { wait: title === 'First' && nth === 1 ? held : 0, answer: written(title, title) } : together('All', 'all');
  });
  const { id } = await server.api('POST', '/api/runs', { kind: 'tree', objective: 'Listen on the way' });
  await page.goto(`${server.url}/runs/${id}?view=outline`);
  await page.getByRole('treeitem', { name: /First.*executing/ }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).first().click();
  await page.locator('.top .badge', { hasText: 'paused' }).waitFor();
  await page.getByRole('button', { name: 'Say…' }).click();
  await page.getByLabel('Message to the run').fill('Prefer primary sources');
  return { server, page, id, release };
}
