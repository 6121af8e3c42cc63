// The tree without the rest of the page: for screenshots of a recorded or generated log, and for measuring what a frame costs.
// ?log=URL of a recorded log | ?nodes=N of a generated one; ?part=0.5 shows that much of it, ?until=N so many nodes, ?left=N all but so many events;
// ?view=tree|outline|both|replay, or none until the harness asks for one.

import { mount, unmount } from 'svelte';
import { Run, type StoredEvent } from '../src/model/run';
import Outline from '../src/tree/Outline.svelte';
import ReplayBar from '../src/tree/ReplayBar.svelte';
import { Tree } from '../src/tree/tree';
import TreeCanvas from '../src/tree/TreeCanvas.svelte';
import { grow } from '../tests/generated-log';
import { snapshotOf } from '../tests/snapshot-of';
import * as measures from './measure';

const asked = new URLSearchParams(location.search);
if (asked.has('theme')) document.documentElement.dataset.theme = asked.get('theme')!;

async function events(): Promise<StoredEvent[]> {
  const log = asked.get('log');
  if (log === null) return grow({ nodes: Number(asked.get('nodes') ?? 200), seed: Number(asked.get('seed') ?? 7), parallel: Number(asked.get('parallel') ?? 48) });
  const lines = (await (await fetch(log)).text()).trim().split('\n');
  return lines.map((line) => JSON.parse(line)).filter((line) => line.type);
}

const target = document.getElementById('stage')!;

function show(run: Run, view: string): { tree: Tree; hide: () => void } {
  const tree = new Tree(run);
  const parts: Record<string, unknown>[] = [];
  if (view === 'both') target.style.gridTemplateColumns = '3fr 2fr';
  if (view === 'replay') target.style.gridTemplateRows = '1fr auto';
  if (view !== 'outline') parts.push(mount(TreeCanvas, { target, props: { tree } }));
  if (view === 'outline' || view === 'both') parts.push(mount(Outline, { target, props: { tree } }));
  if (view === 'replay') parts.push(mount(ReplayBar, { target, props: { run, tree, at: null, onseek: () => {} } }));
  const hide = () => {
    for (const part of parts) void unmount(part);
    tree.destroy();
  };
  return { tree, hide };
}

declare global {
  interface Window {
    bench: { run: Run; rest: StoredEvent[]; tree?: Tree; show: typeof show; snapshotOf: typeof snapshotOf } & typeof measures;
    ready: Promise<unknown>;
  }
}

/** How much of the log is there before anything is viewed at. */
function shownOf(all: StoredEvent[]): number {
  const [until, left] = [asked.get('until'), asked.get('left')];
  if (left !== null) return Math.max(0, all.length - Number(left));
  if (until === null) return Math.floor(all.length * Number(asked.get('part') ?? 1));
  let nodes = 0;
  return all.findIndex((event) => event.type === 'tree.node_created' && ++nodes === Number(until)) + 1;
}

async function start(): Promise<unknown> {
  const view = asked.get('view') ?? 'tree';
  if (asked.has('open')) return measures.openFinished(asked.get('open')!, (run) => show(run, view).tree);
  const all = await events();
  const shown = shownOf(all);
  const run = new Run();
  run.applyEvents(all.slice(0, shown));
  window.bench = { run, rest: all.slice(shown), show, snapshotOf, ...measures };
  if (view !== 'none') window.bench.tree = show(run, view).tree;
  return all.length;
}

window.ready = start();
