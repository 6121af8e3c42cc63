// npm run sizes: what a visitor downloads, compressed. First load: the page, its styles, and every script it needs before anything is opened.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const KIB = 1024;
const LIMITS = { first: 60 * KIB, all: 250 * KIB };
const dist = process.argv[2] ?? new URL('../../crates/server/ui-dist', import.meta.url).pathname;

const files = readdirSync(dist, { recursive: true })
  .map((name) => join(dist, name))
  .filter((path) => statSync(path).isFile() && !/\.(gz|br)$/.test(path));
const sizes = new Map(files.map((path) => [relative(dist, path), gzipSync(readFileSync(path), { level: 9 }).length]));

/** The page, what it names, and what those scripts import before they run. */
function firstLoad() {
  const seen = new Set(['index.html']);
  const queue = ['index.html'];
  while (queue.length > 0) {
    const name = queue.pop();
    const text = readFileSync(join(dist, name), 'utf8');
    const named = name.endsWith('.html') ? text.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+)"/g) : text.matchAll(/(?:^|[;}\n])\s*(?:import|export)[^;("']*from\s*["']\.\/([^"']+)["']|^import\s*["']\.\/([^"']+)["']/g);
    for (const [, one, other] of named) {
      const found = name.endsWith('.html') ? one : `assets/${one ?? other}`;
      if (!sizes.has(found) || seen.has(found)) continue;
      seen.add(found);
      if (found.endsWith('.js')) queue.push(found);
    }
  }
  return [...seen].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
}

const all = [...sizes.values()].reduce((sum, size) => sum + size, 0);
const first = firstLoad();
for (const [name, size] of [...sizes].sort((a, b) => b[1] - a[1]).slice(0, 12)) console.log(`${(size / KIB).toFixed(1).padStart(7)} KiB  ${name}`);
const verdicts = [
  ['first load', first, LIMITS.first],
  ['everything', all, LIMITS.all],
];
for (const [what, is, most] of verdicts) console.log(`${is <= most ? 'ok  ' : 'OVER'} ${what}: ${(is / KIB).toFixed(1)} of at most ${most / KIB} KiB gzip`);
process.exit(verdicts.every(([, is, most]) => is <= most) ? 0 : 1);
