// The page of the comparison with Cytoscape: it makes a growing run of ?nodes=N. The harness then asks it to draw the run with our canvas or
// with Cytoscape; both get the same events.

import { Run } from '../../src/model/run';
import { grow } from '../../tests/generated-log';
import { mount } from 'svelte';
import { Tree } from '../../src/tree/tree';
import TreeCanvas from '../../src/tree/TreeCanvas.svelte';
import { blank, measure } from '../measure';
import { drawn } from './graph';

const nodes = Number(new URLSearchParams(location.search).get('nodes') ?? 1000);
const all = grow({ nodes: Math.ceil(nodes * 1.15), seed: 7, parallel: 48 });
let made = 0;
const shown = all.findIndex((event) => event.type === 'tree.node_created' && ++made === nodes) + 1;
const run = new Run();
run.applyEvents(all.slice(0, shown));
const target = document.getElementById('stage')!;

Object.assign(window, {
  bench: { run, rest: all.slice(shown) },
  compare: {
    blank,
    measure,
    show: (who: string) => (who === 'ours' ? mount(TreeCanvas, { target, props: { tree: new Tree(run) } }) : drawn(run, target)),
  },
});
