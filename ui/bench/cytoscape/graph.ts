// The same run drawn by Cytoscape: told once per frame what changed, as our own tree is, and moved at most four times a second, which
// is what it can bear. Nothing is folded: it has no notion of it.

import cytoscape from 'cytoscape';
import { NONE, type Nodes } from '../../src/model/nodes';
import type { Change, Run } from '../../src/model/run';
import { isTentative, toneOf } from '../../src/model/statuses';
import { readPalette } from '../../src/tree/palette';

const [WIDTH, HEIGHT, COLUMN, LINE] = [236, 46, 292, 56];
const MOVE_EVERY_MS = 250;

export function drawn(run: Run, container: HTMLElement): () => void {
  const { nodes } = run.state;
  const palette = readPalette(container);
  const cy = cytoscape({
    container,
    minZoom: 1e-4,
    style: [
      { selector: 'node', style: { shape: 'round-rectangle', width: WIDTH, height: HEIGHT, label: 'data(title)', 'font-size': 12, 'text-valign': 'center', 'text-wrap': 'ellipsis', 'text-max-width': '200px', 'min-zoomed-font-size': 5, 'border-width': 1.5, 'border-color': 'data(line)', 'background-color': 'data(fill)', color: palette.ink } },
      { selector: '.tentative', style: { 'border-style': 'dashed' } },
      { selector: 'edge', style: { width: 1.25, 'line-color': palette.branch, 'curve-style': 'bezier' } },
    ],
  });
  const look = (node: number) => {
    const tone = toneOf(nodes.status.get(node));
    return { line: palette.tone[tone], fill: palette.soft[tone] };
  };
  const place = (node: number, ys: Float64Array) => ({ x: nodes.depth.get(node) * COLUMN, y: ys[node] });
  const elements = (node: number, ys: Float64Array): cytoscape.ElementDefinition[] => {
    const card = { group: 'nodes' as const, data: { id: String(node), title: nodes.title.get(node), ...look(node) }, position: place(node, ys) };
    const parent = nodes.parent.get(node);
    return parent === NONE ? [card] : [card, { group: 'edges', data: { id: `e${node}`, source: String(parent), target: String(node) } }];
  };
  let ys = heights(nodes);
  let known = nodes.count;
  cy.add(Array.from({ length: known }, (_, node) => elements(node, ys)).flat());
  const centre = (node: number) => cy.viewport({ zoom: 1, pan: { x: 800 - nodes.depth.get(node) * COLUMN, y: 450 - ys[node] } });
  centre(known - 1);
  let moved = performance.now();
  return run.subscribe((change: Change) => {
    cy.startBatch();
    for (; known < nodes.count; known++) cy.add(elements(known, ys.length > known ? ys : (ys = heights(nodes))));
    for (const node of change.restated) {
      const card = cy.getElementById(String(node));
      card.data(look(node));
      card.toggleClass('tentative', isTentative(nodes.status.get(node)));
    }
    if (change.restructured.size > 0 && performance.now() - moved > MOVE_EVERY_MS) {
      ys = heights(nodes);
      for (let node = 0; node < known; node++) cy.getElementById(String(node)).position(place(node, ys));
      moved = performance.now();
      centre(known - 1);
    }
    cy.endBatch();
  });
}

/** Leaves one below the other, parents in the middle of their children. */
function heights(nodes: Nodes): Float64Array {
  const ys = new Float64Array(nodes.count);
  let next = 0;
  const visit = (node: number): number => {
    const children = [...nodes.children(node)].map(visit);
    ys[node] = children.length === 0 ? LINE * next++ : (children[0] + children[children.length - 1]) / 2;
    return ys[node];
  };
  if (nodes.count > 0) visit(0);
  return ys;
}
