// node tests/record.mjs PLEACH: records logs from the real binary, for tests of the folds: events, the run object at the
// end, what has been replaced by then, and /snapshot?at= of moments on the way. Run it again when the engine's events change.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, execute, page, plan, together } from './browser/answers.mjs';
import { startModel } from './browser/model.mjs';

const binary = process.argv[2];
if (!binary) throw new Error('usage: node tests/record.mjs PLEACH');
const MOMENTS = 24;

const leaf = (title) => ({ title, leaf: true });
const branch = (title) => ({ title, leaf: false });
const search = { tool_calls: [{ tool: 'search_documents', arguments: { query: 'page' }, purpose: 'see what is there' }], artifacts: [] };

function planned(title, nth) {
  if (title === 'Everything' && nth === 1) return plan('all', [branch('A part with parts'), leaf('A page'), branch('A question'), leaf('A failure')], [leaf('A second page'), leaf('A look and a page')], [leaf('Never needed')]);
  if (title === 'Everything') return plan('the rest', [leaf('A page'), leaf('An afterthought'), leaf('A late failure')]);
  if (title === 'A part with parts') return plan('parts', [leaf('Inner one'), branch('Inner two')], [leaf('Inner three')]);
  if (title === 'A question' && nth === 1) return ask('Which currency?', ['EUR', 'USD']);
  if (title === 'In two bands') return plan('first and then', [leaf('Alpha'), branch('Beta')], [leaf('Gamma')]);
  if (title === 'Long') return plan('slow', [leaf('Slow one'), branch('Slow parts')], [leaf('Slow end')]);
  return title === 'Slow parts' ? plan('slower', [leaf('Slow inner'), leaf('Slow other')]) : execute();
}

function executed(title, nth) {
  if (title.endsWith('failure') && nth <= 2) return 'this is no answer';
  if (title === 'A second page' && nth === 1) return { status: 503 };
  return title === 'A look and a page' && nth === 1 ? search : page(title, `# ${title}`);
}

function aggregated(title, nth) {
  const again = title === 'Everything' && nth === 1;
  return { ...together(title, `# ${title}`), next: { should_replan: again, reason: again ? 'one thing is missing' : null } };
}

const ROLES = { tree_planner: planned, tree_executor: executed, tree_aggregator: aggregated };

const folder = mkdtempSync(join(tmpdir(), 'pleach-record-'));
const model = await startModel(({ role, title, nth }) => {
  const answer = ROLES[role](title, nth);
  // Long enough for a person to pause the node meanwhile.
  const slow = role === 'tree_planner' && title === 'Beta' && nth === 1;
  return { wait: slow ? 1_000 : 30, ...(answer.status ? answer : { answer }) };
});
// The person's own configuration: one in the working directory would have to be trusted first.
mkdirSync(join(folder, 'config/pleach'), { recursive: true });
writeFileSync(
  join(folder, 'config/pleach/config.toml'),
  `model = "desk/m"\n[providers.desk]\nkind = "openai"\nbase_url = "${model.url}"\n[providers.desk.models."m"]\ncontext_window = 64000\nmax_output = 4000\ninput_per_mtok = 2.5\noutput_per_mtok = 10.0\n`,
);
const socketPath = join(folder, 'data', 'pleach.sock');
const server = spawn(binary, ['up', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'data')], { cwd: folder, stdio: 'ignore', env: { ...process.env, XDG_CONFIG_HOME: join(folder, 'config') } });

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method, headers: { host: 'localhost', 'content-type': 'application/json' } }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, body: /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : text });
    });
    sent.on('error', reject);
    sent.end(body ? JSON.stringify(body) : undefined);
  });
}

async function until(what, test) {
  for (let turn = 0; turn < 600; turn++) {
    const result = await test().catch(() => null);
    if (result) return result;
    await wait(100);
  }
  throw new Error(`waited in vain for ${what}`);
}

const runOf = async (id) => (await call('GET', `/api/runs/${id}`)).body;
const ended = (id) => until(`the end of ${id}`, async () => ['completed', 'failed', 'stopped', 'canceled'].includes((await runOf(id)).status) && runOf(id));
const start = async (body) => {
  const { status, body: run } = await call('POST', '/api/runs', body);
  if (status !== 201) throw new Error(JSON.stringify(run));
  return run.id;
};
const snapshotOf = async (id, at = '') => (await call('GET', `/api/runs/${id}/snapshot${at && `?at=${at}`}`)).body;
const nodeNamed = (id, title) =>
  until(`the node ${title}`, async () => {
    const { nodes } = await snapshotOf(id);
    const at = nodes.title.indexOf(title);
    return at >= 0 && nodes.id[at];
  });
const act = async (path, body, method = 'POST') => {
  const answer = await call(method, path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
};

async function save(name, id) {
  const events = [];
  for (;;) {
    const { body } = await call('GET', `/api/runs/${id}/events?after=${events.length}&limit=1000`);
    const page = body.items ?? body.events ?? body;
    events.push(...page);
    if (page.length === 0) break;
  }
  const snapshots = [];
  for (let moment = 1; moment <= MOMENTS; moment++) snapshots.push(await snapshotOf(id, Math.max(1, Math.floor((events.length * moment) / MOMENTS))));
  const everyOne = async (what) => {
    const { body } = await call('GET', `/api/runs/${id}/${what}`);
    return body.items ?? body;
  };
  const rows = {
    node_rows: (await everyOne('nodes')).map(({ id, stale, current, shortfall }) => ({ id, stale, current, shortfall })),
    artifact_rows: (await everyOne('artifacts')).map(({ id, title, stale, current }) => ({ id, title, stale, current })),
  };
  // What no page folds would only make the recording long.
  const slim = (event) => (event.payload.tools ? { ...event, payload: { ...event.payload, tools: [] } } : event);
  const lines = [...events.map(slim), await runOf(id), rows, ...snapshots];
  writeFileSync(new URL(`./logs/${name}.jsonl`, import.meta.url), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  console.log(`${name}: ${events.length} events`);
}

try {
  await until('the server', () => call('GET', '/healthz'));

  const everything = await start({ kind: 'tree', objective: 'Everything', budgets: { max_nodes: 40 } });
  const asked = await until('a question', async () => (await runOf(everything)).questions.find((question) => question.answer === null));
  await act(`/api/runs/${everything}/messages`, { text: 'Be short.', lane: 'steer' });
  await wait(500);
  await act(`/api/runs/${everything}/respond`, { answers: [{ question_id: asked.id, text: 'EUR' }] });
  await ended(everything);
  await act(`/api/runs/${everything}/nodes/${await nodeNamed(everything, 'A late failure')}/retry`);
  await wait(300);
  await ended(everything);
  await save('scripted-tree', everything);

  const long = await start({ kind: 'tree', objective: 'Long', budgets: { max_parallel: 1 } });
  const parts = await nodeNamed(long, 'Slow parts');
  await act(`/api/runs/${long}/nodes/${parts}/pause`);
  await wait(200);
  await act(`/api/runs/${long}/nodes/${parts}/resume`);
  const inner = await nodeNamed(long, 'Slow inner');
  await act(`/api/runs/${long}/nodes/${inner}/cancel`).catch((error) => console.error(String(error)));
  await ended(long);
  await save('interrupted-tree', long);

  const bands = await start({ kind: 'tree', objective: 'In two bands' });
  const beta = await nodeNamed(bands, 'Beta');
  await act(`/api/runs/${bands}/nodes/${beta}/pause`);
  await until('a run that waits for its paused node', async () => (await runOf(bands)).paused_nodes?.includes(beta));
  await act(`/api/runs/${bands}/nodes/${beta}/resume`);
  await ended(bands);
  await act(`/api/runs/${bands}/nodes/${beta}/retry`);
  await wait(300);
  await ended(bands);
  const { nodes } = await snapshotOf(bands);
  await act(`/api/runs/${bands}/nodes/${nodes.id[nodes.title.lastIndexOf('Beta')]}/retry`, { dependents: true });
  await wait(300);
  await ended(bands);
  await save('retried-tree', bands);

  const rehearsed = await start({ kind: 'tree', objective: 'Compare three storage engines for an event log and recommend one', success_criteria: ['a table of what was found', 'a poem by someone else'], model: 'rehearsal/default' });
  await until('an end or a question', async () => ['completed', 'waiting_on_user'].includes((await runOf(rehearsed)).status));
  await save('rehearsed-tree', rehearsed);

  const homework = await start({ kind: 'homework', objective: 'Write a short guide to backups', success_criteria: ['a table of what was found'], model: 'rehearsal/default' });
  await until('an end or a question', async () => ['completed', 'waiting_on_user', 'stopped'].includes((await runOf(homework)).status));
  const decide = (decision, note) => act(`/api/runs/${homework}/criteria/c1`, { decision, note }, 'PATCH');
  await decide('reject', 'the table is too short');
  await decide('recheck');
  await until('the check', async () => (await runOf(homework)).success_criteria.every((criterion) => !criterion.checking));
  await decide('accept');
  await save('rehearsed-homework', homework);
} finally {
  server.kill();
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
}
