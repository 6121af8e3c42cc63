// How the page is built and served while it is written. The server that answers its API is named by PLEACH_SERVER: a URL, or the path
// of the unix socket that whoever holds the database listens on.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin, ProxyOptions } from 'vite';
import { defineConfig } from 'vitest/config';

const server = process.env.PLEACH_SERVER ?? 'http://127.0.0.1:7333';

function upstream(): ProxyOptions {
  if (/^https?:/.test(server)) return { target: server, changeOrigin: true, ws: true };
  return { target: { socketPath: server, host: 'localhost', port: 0 } as NonNullable<ProxyOptions['target']>, ws: true };
}

const served = ['/api', '/login', '/logout', '/whoami', '/realtime', '/mcp', '/openapi.json', '/healthz', '/readyz', '/metrics'];

/** Lays a packed copy beside every file that is worth it: the server hands it out as it is. */
function packed(least: number): Plugin {
  return {
    name: 'packed',
    writeBundle({ dir }, files) {
      for (const name of Object.keys(files)) {
        const path = join(dir!, name);
        const whole = readFileSync(path);
        if (whole.length >= least && name !== 'index.html') writeFileSync(`${path}.gz`, gzipSync(whole, { level: 9 }));
      }
    },
  };
}

/** Tells the browser what is in every file: by an attribute in the page, by its import map for what is loaded later. Neither runs nor paints what was altered on its way. */
function sealed(): Plugin {
  return {
    name: 'sealed',
    writeBundle({ dir }, files) {
      const seal = (path: string) =>
        `sha384-${createHash('sha384')
          .update(readFileSync(join(dir!, path)))
          .digest('base64')}`;
      const scripts = Object.keys(files)
        .filter((name) => name.endsWith('.js'))
        .sort();
      const map = JSON.stringify({ integrity: Object.fromEntries(scripts.map((name) => [`/${name}`, seal(name)])) });
      const page = readFileSync(join(dir!, 'index.html'), 'utf8')
        .replace(/ crossorigin (src|href)="\/([^"]+)"/g, (_, kind, path) => ` crossorigin integrity="${seal(path)}" ${kind}="/${path}"`)
        .replace('<script ', `<script type="importmap">${map}</script>\n    <script `);
      writeFileSync(join(dir!, 'index.html'), page);
    },
  };
}

export default defineConfig({
  plugins: [svelte(), packed(1024), sealed()],
  // The built page is part of the repository: cargo puts it into the binary and never runs npm.
  // One style sheet, so that the page can name it with its seal: what a script asks for later has none.
  build: { outDir: '../crates/server/ui-dist', emptyOutDir: true, cssCodeSplit: false, target: 'es2023', modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { fs: { allow: ['..'] }, proxy: Object.fromEntries(served.map((path) => [path, upstream()])) },
  // Component tests mount in jsdom: they need the browser's half of the runtime.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  test: {
    include: ['tests/**/*.test.ts', 'src/**/*.test.ts'],
    environment: 'node',
    // A busy machine is slow, not wrong; what must be quick is measured in CPU time.
    testTimeout: 120_000,
  },
});
