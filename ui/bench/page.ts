// The tree without the rest of the page: for screenshots of a recorded or generated log, and for measuring what a frame costs.
// ?log=URL of a recorded log | ?nodes=N of a generated one; ?part=0.5 shows that much of it; ?view=tree|outline|both|blank.

import { mount } from 'svelte';
import { createRun, type Run, type StoredEvent } from '../src/model/run';
import Outline from '../src/tree/Outline.svelte';
import ReplayBar from '../src/tree/ReplayBar.svelte';
import { createTree, type Tree } from '../src/tree/tree';
import TreeCanvas from '../src/tree/TreeCanvas.svelte';
import { grow } from '../tests/growth';
import { blank, measure, openFinished, rewind } from './measure';

const asked = new URLSearchParams(location.search);
if (asked.has('theme')) document.documentElement.dataset.theme = asked.get('theme')!;

async function events(): Promise<StoredEvent[]> {
  const log = asked.get('log');
  if (log === null) return grow({ nodes: Number(asked.get('nodes') ?? 200), seed: Number(asked.get('seed') ?? 7), parallel: Number(asked.get('parallel') ?? 48) });
  const lines = (await (await fetch(log)).text()).trim().split('\n');
  return lines.map((line) => JSON.parse(line)).filter((line) => line.type);
}

function show(run: Run): Tree {
  const tree = createTree(run);
  const view = asked.get('view') ?? 'tree';
  const target = document.getElementById('stage')!;
  if (view === 'both') target.style.gridTemplateColumns = '3fr 2fr';
  if (view === 'tree' || view === 'both') mount(TreeCanvas, { target, props: { tree } });
  if (view === 'outline' || view === 'both') mount(Outline, { target, props: { tree } });
  if (view === 'replay') {
    target.style.gridTemplateRows = '1fr auto';
    mount(TreeCanvas, { target, props: { tree } });
    mount(ReplayBar, { target, props: { run, tree, at: null, onseek: () => {} } });
  }
  return tree;
}

declare global {
  interface Window {
    bench: { run: Run; tree: Tree; rest: StoredEvent[]; measure: typeof measure; blank: typeof blank; rewind: typeof rewind };
    ready: Promise<unknown>;
  }
}

async function start(): Promise<unknown> {
  if (asked.has('open')) return openFinished(asked.get('open')!, show);
  const all = await events();
  const shown = Math.floor(all.length * Number(asked.get('part') ?? 1));
  const run = createRun();
  run.applyEvents(all.slice(0, shown));
  const tree = show(run);
  window.bench = { run, tree, rest: all.slice(shown), measure, blank, rewind };
  return all.length;
}

window.ready = start();
