// The real thing: the binary with a data directory of its own, a scripted model, and a browser that is logged in.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { startModel } from './model.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
const binary = process.env.PLEACH_BIN ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'debug/pleach');
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';

let browser;

export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** A house with a model that plays `play`; `settings` are more of its environment. */
export async function openHouse(play, settings = {}) {
  const model = await startModel(play);
  const dir = mkdtempSync(path.join(tmpdir(), 'pleach-browser-'));
  // Prices make money move, so that limits on it can be reached.
  writeFileSync(path.join(dir, 'pleach.toml'), `[providers.openai]\nkind = "openai"\nbase_url = "${model.url}"\n\n[providers.openai.models.scripted]\ncontext_window = 128000\nmax_output = 8192\ninput_per_mtok = 3.0\noutput_per_mtok = 15.0\n`);
  const house = new House(model, dir, settings);
  await house.start();
  return house;
}

class House {
  constructor(model, dir, settings) {
    this.settings = settings;
    this.model = model;
    this.dir = dir;
    this.port = 0;
  }

  /** Starts, or starts again on the same port and data. */
  async start() {
    const env = { ...process.env, NO_COLOR: '1', OPENAI_API_KEY: 'scripted', ...this.settings };
    this.process = spawn(binary, ['up', '--data-dir', this.dir, '--listen', `127.0.0.1:${this.port}`, '--model', this.settings.PLEACH_MODEL ?? 'openai/scripted'], { cwd: this.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    // A test that fails does not close its house; nobody lives there afterwards.
    const { process: server } = this;
    process.once('exit', () => server.kill('SIGKILL'));
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

  /** As a power cut would. */
  async kill() {
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await gone;
  }

  /** A browser page that is logged in; errors of its scripts fail the test that closes the house. */
  async page(options = {}) {
    browser ??= await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
    this.context ??= await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
    const page = await this.context.newPage();
    this.errors ??= [];
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) this.errors.push(message.text());
    });
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
    await this.context?.close();
    await this.kill();
    await this.model.stop();
    rmSync(this.dir, { recursive: true, force: true });
    if (this.errors?.length) throw new Error(`the page had errors:\n${this.errors.join('\n')}`);
  }
}
