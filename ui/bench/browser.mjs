// A real Chromium on the page of bench/, built once: what the measurements and the screenshots have in common.

import { existsSync } from 'node:fs';
import { preview } from 'vite';
import { build } from 'vite';
import { chromium } from 'playwright-core';

const HERE = new URL('.', import.meta.url).pathname;
const OUT = new URL('./out/site', import.meta.url).pathname;

export const BROWSER = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => path && existsSync(path));

/** The page of bench/, served as a visitor would get it. */
export async function site() {
  const shared = { root: HERE, configFile: new URL('../vite.config.ts', import.meta.url).pathname, logLevel: 'error' };
  if (!process.env.BENCH_BUILT) await build({ ...shared, publicDir: new URL('./out/public', import.meta.url).pathname, build: { outDir: OUT, emptyOutDir: true, target: 'es2023' } });
  const server = await preview({ ...shared, build: { outDir: OUT }, preview: { port: 0, host: '127.0.0.1', proxy: {} } });
  return { url: server.resolvedUrls.local[0], close: () => new Promise((done) => server.httpServer.close(done)) };
}

export async function browser() {
  if (!BROWSER) throw new Error('no Chromium found: install the package chromium, or name one in CHROMIUM');
  const flags = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--enable-precise-memory-info', '--js-flags=--expose-gc'];
  return chromium.launch({ executablePath: BROWSER, headless: true, args: flags });
}
