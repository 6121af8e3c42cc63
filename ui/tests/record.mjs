// node tests/record.mjs PLEACH: records the logs that the model of a run is compared with, from the real binary: events, the run object at the
// end, and what /snapshot?at= says of moments on the way. Run it again when the engine's events change.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelServer, say } from './model-server.mjs';

const binary = process.argv[2];
if (!binary) throw new Error('usage: node tests/record.mjs PLEACH');
const MOMENTS = 24;

const script = {
  tree_planner: ({ title, nth }) => {
    if (title === 'Everything') {
      return nth === 1
        ? say.plan([
            [['a', 'A part with parts'], ['b', 'A page.'], ['c', 'A question'], ['d', 'A failure.']],
            [['e', 'A second page.'], ['f', 'A look and a page.']],
            [['g', 'Never needed.']],
          ])
        : say.plan([[['b', 'A page.'], ['h', 'An afterthought.'], ['i', 'A late failure.']]]);
    }
    if (title === 'A part with parts') return say.plan([[['a1', 'Inner one.'], ['a2', 'Inner two']], [['a3', 'Inner three.']]]);
    if (title === 'A question' && nth === 1) return say.ask('Which currency?', ['EUR', 'USD']);
    if (title === 'Long') return say.plan([[['l1', 'Slow one.'], ['l2', 'Slow parts']], [['l3', 'Slow end.']]]);
    if (title === 'Slow parts') return say.plan([[['s1', 'Slow inner.'], ['s2', 'Slow other.']]]);
    return say.leaf();
  },
  tree_executor: ({ title, nth }) => {
    if (title.endsWith('failure.') && nth <= 2) return 'this is no answer';
    if (title === 'A second page.' && nth === 1) return { status: 503 };
    if (title === 'A look and a page.' && nth === 1) return say.look('page');
    return say.page(title);
  },
  tree_aggregator: ({ title, nth }) => say.joined(title, title === 'Everything' && nth === 1 ? 'one thing is missing' : undefined),
};

const folder = mkdtempSync(join(tmpdir(), 'pleach-record-'));
const model = await modelServer(script, { latency: 30 });
// The person's own configuration: one in the working directory would have to be trusted first.
mkdirSync(join(folder, 'config/pleach'), { recursive: true });
writeFileSync(
  join(folder, 'config/pleach/config.toml'),
  `model = "desk/m"\n[providers.desk]\nkind = "openai"\nbase_url = "${model.url}"\n[providers.desk.models."m"]\ncontext_window = 64000\nmax_output = 4000\ninput_per_mtok = 2.5\noutput_per_mtok = 10.0\n`,
);
const socketPath = join(folder, 'data', 'pleach.sock');
const server = spawn(binary, ['up', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'data')], { cwd: folder, stdio: 'ignore', env: { ...process.env, XDG_CONFIG_HOME: join(folder, 'config') } });

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, method, headers: { host: 'localhost', 'content-type': 'application/json' } }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, body: /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : text });
    });
    call.on('error', reject);
    call.end(body ? JSON.stringify(body) : undefined);
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

const runOf = async (id) => (await ask('GET', `/api/runs/${id}`)).body;
const ended = (id) => until(`the end of ${id}`, async () => ['completed', 'failed', 'stopped', 'canceled'].includes((await runOf(id)).status) && runOf(id));
const start = async (body) => {
  const { status, body: run } = await ask('POST', '/api/runs', body);
  if (status !== 201) throw new Error(JSON.stringify(run));
  return run.id;
};
const snapshotOf = async (id, at = '') => (await ask('GET', `/api/runs/${id}/snapshot${at && `?at=${at}`}`)).body;
const nodeNamed = (id, title) =>
  until(`the node ${title}`, async () => {
    const { nodes } = await snapshotOf(id);
    const at = nodes.title.indexOf(title);
    return at >= 0 && nodes.id[at];
  });
const act = async (path, body) => {
  const answer = await ask('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
};

async function save(name, id) {
  const events = [];
  for (;;) {
    const { body } = await ask('GET', `/api/runs/${id}/events?after=${events.length}&limit=1000`);
    const page = body.items ?? body.events ?? body;
    events.push(...page);
    if (page.length === 0) break;
  }
  const snapshots = [];
  for (let moment = 1; moment <= MOMENTS; moment++) snapshots.push(await snapshotOf(id, Math.max(1, Math.floor((events.length * moment) / MOMENTS))));
  // What no page folds would only make the recording long.
  const slim = (event) => (event.payload.tools ? { ...event, payload: { ...event.payload, tools: [] } } : event);
  const lines = [...events.map(slim), await runOf(id), ...snapshots];
  writeFileSync(new URL(`./logs/${name}.jsonl`, import.meta.url), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  console.log(`${name}: ${events.length} events`);
}

try {
  await until('the server', () => ask('GET', '/healthz'));

  const everything = await start({ kind: 'tree', objective: 'Everything', budgets: { max_nodes: 40 } });
  const asked = await until('a question', async () => (await runOf(everything)).questions.find((question) => question.answer === null));
  await act(`/api/runs/${everything}/messages`, { text: 'Be short.', lane: 'steer' });
  await wait(500);
  await act(`/api/runs/${everything}/respond`, { answers: [{ question_id: asked.id, text: 'EUR' }] });
  await ended(everything);
  await act(`/api/runs/${everything}/nodes/${await nodeNamed(everything, 'A late failure.')}/retry`);
  await wait(300);
  await ended(everything);
  await save('scripted-tree', everything);

  const long = await start({ kind: 'tree', objective: 'Long', budgets: { max_parallel: 1 } });
  const parts = await nodeNamed(long, 'Slow parts');
  await act(`/api/runs/${long}/nodes/${parts}/pause`);
  await wait(200);
  await act(`/api/runs/${long}/nodes/${parts}/resume`);
  const inner = await nodeNamed(long, 'Slow inner.');
  await act(`/api/runs/${long}/nodes/${inner}/cancel`).catch((error) => console.error(String(error)));
  await ended(long);
  await save('interrupted-tree', long);

  const rehearsed = await start({ kind: 'tree', objective: 'Compare three storage engines for an event log and recommend one', model: 'rehearsal/default' });
  await until('an end or a question', async () => ['completed', 'waiting_on_user'].includes((await runOf(rehearsed)).status));
  await save('rehearsed-tree', rehearsed);

  const homework = await start({ kind: 'homework', objective: 'Write a short guide to backups', model: 'rehearsal/default' });
  await until('an end or a question', async () => ['completed', 'waiting_on_user', 'stopped'].includes((await runOf(homework)).status));
  await save('rehearsed-homework', homework);
} finally {
  server.kill();
  model.close();
  rmSync(folder, { recursive: true, force: true });
}
