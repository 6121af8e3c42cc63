// A real Chromium on the page of bench/, built once: what the measurements and the screenshots have in common.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { build, preview } from 'vite';
import { chromium } from 'playwright-core';

const HERE = new URL('.', import.meta.url).pathname;
const OUT = new URL('./out/site', import.meta.url).pathname;

export const BROWSER = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => path && existsSync(path));

/** The page of bench/, or of a folder in it, served as a visitor would get it, with the recorded logs beside it. */
export async function site(folder = '') {
  const beside = new URL('./out/public/', import.meta.url).pathname;
  mkdirSync(beside, { recursive: true });
  cpSync(new URL('../tests/logs/', import.meta.url).pathname, `${beside}logs`, { recursive: true });
  const [root, out] = [HERE + folder, OUT + folder];
  const shared = { root, configFile: new URL('../vite.config.ts', import.meta.url).pathname, logLevel: 'error' };
  if (!process.env.BENCH_BUILT) await build({ ...shared, publicDir: beside, build: { outDir: out, emptyOutDir: true, target: 'es2023' } });
  const server = await preview({ ...shared, build: { outDir: out }, preview: { port: 0, host: '127.0.0.1', proxy: {} } });
  return { url: server.resolvedUrls.local[0], close: () => new Promise((done) => server.httpServer.close(done)) };
}

const TAG = `--pleach-bench=${process.pid}`;

export async function browser() {
  if (!BROWSER) throw new Error('no Chromium found: install the package chromium, or name one in CHROMIUM');
  const flags = [TAG, '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--enable-precise-memory-info', '--js-flags=--expose-gc'];
  return chromium.launch({ executablePath: BROWSER, headless: true, args: flags });
}

const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** CPU milliseconds that all processes of the browser have used so far, from the scheduler: waiting for a core does not count. */
export function cpuMs() {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parentOf = new Map(processes.map((id) => [id, textOf(`/proc/${id}/stat`).split(') ').at(-1)?.split(' ')[1]]));
  const ours = new Set(processes.filter((id) => textOf(`/proc/${id}/cmdline`).includes(TAG)));
  for (let grew = true; grew; ) {
    const found = processes.filter((id) => !ours.has(id) && ours.has(parentOf.get(id)));
    for (const id of found) ours.add(id);
    grew = found.length > 0;
  }
  let total = 0;
  for (const id of ours) {
    const tasks = existsSync(`/proc/${id}/task`) ? readdirSync(`/proc/${id}/task`) : [];
    for (const task of tasks) total += Number(textOf(`/proc/${id}/task/${task}/schedstat`).split(' ')[0] || 0);
  }
  return total / 1e6;
}
