// Starts the real binary with its own data directory, a scripted model, and a logged-in browser.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { startModel } from './model.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
const binary = process.env.PLEACH_BIN ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'debug/pleach');
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** While the page is worked on: a directory that `vite build --outDir` wrote, shown instead of the page that is in the binary. */
const built = process.env.PLEACH_PAGE;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

let browser;

export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** Starts a server whose model answers with `play`. `settings` is added to its environment, `more` to its configuration file. */
export async function startServer(play, settings = {}, more = '') {
  const model = await startModel(play);
  const dir = mkdtempSync(path.join(tmpdir(), 'pleach-browser-'));
  // The person's own configuration: one in the working directory would have to be trusted first. Prices are set so that cost limits can be reached.
  mkdirSync(path.join(dir, 'config/pleach'), { recursive: true });
  writeFileSync(path.join(dir, 'config/pleach/config.toml'), `[providers.openai]\nkind = "openai"\nbase_url = "${model.url}"\n\n[providers.openai.models.scripted]\ncontext_window = 128000\nmax_output = 8192\ninput_per_mtok = 3.0\noutput_per_mtok = 15.0\n\n${more}`);
  const server = new Server(model, dir, settings);
  await server.start();
  return server;
}

class Server {
  constructor(model, dir, settings) {
    this.settings = settings;
    this.model = model;
    this.dir = dir;
    this.port = 0;
  }

  /** Starts, or starts again on the same port and data. */
  async start() {
    const env = { ...process.env, NO_COLOR: '1', OPENAI_API_KEY: 'scripted', XDG_CONFIG_HOME: path.join(this.dir, 'config'), ...this.settings };
    this.process = spawn(binary, ['up', '--data-dir', this.dir, '--listen', `127.0.0.1:${this.port}`, '--model', this.settings.PLEACH_MODEL ?? 'openai/scripted'], { cwd: this.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    // The server must not outlive the test process, even if that ends without closing it.
    const { process: child } = this;
    process.once('exit', () => child.kill('SIGKILL'));
    let said = '';
    this.process.stderr.on('data', (piece) => (said += piece));
    this.login = await new Promise((resolve, reject) => {
      this.process.stdout.on('data', (piece) => {
        said += piece;
        const link = /http:\/\/\S+\/login\?code=\S+/.exec(said)?.[0];
        if (link) resolve(link);
      });
      this.process.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
    });
    this.url = new URL(this.login).origin;
    this.port = Number(new URL(this.login).port);
  }

  /** Kills the process, like a power cut. */
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await gone;
  }

  /** A browser of its own, in which nobody is logged in. */
  async visitor(options = {}) {
    browser ??= await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
    if (built) await context.route((url) => url.origin === this.url && !url.searchParams.has('code'), (route) => showBuilt(route));
    (this.visitors ??= []).push(context);
    return context;
  }

  async watched(context) {
    const page = await context.newPage();
    this.errors ??= [];
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) this.errors.push(message.text());
    });
    return page;
  }

  /** A new person with a browser of their own; whoever is logged in here must be an admin. */
  async person(handle, scopes = ['run']) {
    await this.api('POST', '/api/actors', { handle });
    const { token } = await this.api('POST', '/api/tokens', { actor: handle, name: handle, scopes });
    const context = await this.visitor();
    const entered = await context.request.post(`${this.url}/login`, { headers: { origin: this.url }, data: { token } });
    if (!entered.ok()) throw new Error(`${handle} cannot log in: ${entered.status()} ${await entered.text()}`);
    const page = await this.watched(context);
    await page.goto(this.url);
    return page;
  }

  /** A browser page that is logged in; errors of its scripts fail the test that closes the server. */
  async page(options = {}) {
    this.context ??= await this.visitor(options);
    const page = await this.watched(this.context);
    if (!this.entered) {
      await page.goto(this.login);
      this.entered = true;
    }
    await page.goto(this.url);
    return page;
  }

  async api(method, route, body, headers = {}) {
    const answer = await this.context.request.fetch(this.url + route, { method, headers: { origin: this.url, ...headers }, ...(body === undefined ? {} : { data: body }) });
    if (!answer.ok()) throw new Error(`${method} ${route}: ${answer.status()} ${await answer.text()}`);
    return answer.json();
  }

  async close() {
    for (const context of this.visitors ?? []) await context.close();
    await this.kill();
    await this.model.stop();
    rmSync(this.dir, { recursive: true, force: true });
    if (this.errors?.length) throw new Error(`the page had errors:\n${this.errors.join('\n')}`);
  }
}

async function showBuilt(route) {
  const { pathname } = new URL(route.request().url());
  const file = path.join(built, pathname);
  const asset = pathname.startsWith('/assets/') && existsSync(file);
  const navigates = route.request().isNavigationRequest() && !pathname.startsWith('/api/') && !/\.(json|md)$/.test(pathname);
  if (!asset && !navigates) return route.fallback();
  const found = asset ? file : path.join(built, 'index.html');
  await route.fulfill({ body: readFileSync(found), contentType: TYPES[path.extname(found)] });
}
