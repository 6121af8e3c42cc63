// How the page is built and served while it is written. The server that answers its API is named by PLEACH_SERVER: a URL, or the path
// of the unix socket that whoever holds the database listens on.
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

export default defineConfig({
  plugins: [svelte(), packed(1024)],
  // The built page is part of the repository: cargo puts it into the binary and never runs npm.
  build: { outDir: '../crates/server/ui-dist', emptyOutDir: true, target: 'es2023', modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: Object.fromEntries(served.map((path) => [path, upstream()])) },
  // Component tests mount in jsdom: they need the browser's half of the runtime.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  test: {
    include: ['tests/**/*.test.ts', 'src/**/*.test.ts'],
    environment: 'node',
    // A busy machine is slow, not wrong; what must be quick is measured in CPU time.
    testTimeout: 120_000,
  },
});
