import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../src/model/run';
import { Run } from '../src/model/run';
import { Folding } from '../src/tree/folding';
import { Layout } from '../src/tree/layout';
import { CARD_HEIGHT, STUB_HEIGHT } from '../src/tree/dimensions';
import { Tree } from '../src/tree/tree';
import { grow, random } from './generated-log';

interface Card {
  key: string;
  column: number;
  y: number;
  height: number;
  order: number[];
}

/** Every card that is shown, with its absolute position, in reading order. */
function cards(tree: Tree): Card[] {
  const found: Card[] = [];
  const visit = (node: number, y: number, order: number[]) => {
    found.push({ key: `n${node}`, column: tree.nodes.depth.get(node), y, height: CARD_HEIGHT, order });
    tree.folding.entries(node).forEach((entry, at) => {
      if (typeof entry === 'number') return visit(entry, y + tree.layout.off.get(entry), [...order, at]);
      const key = `${entry.kind} ${node} ${entry.band} ${entry.step}`;
      const height = entry.kind === 'stub' ? STUB_HEIGHT : CARD_HEIGHT;
      found.push({ key, column: tree.nodes.depth.get(node) + 1, y: y + entry.off, height, order: [...order, at] });
    });
  };
  if (tree.nodes.count > 0) visit(0, 0, []);
  return found;
}

function columnsOf(all: Card[]): Card[][] {
  const columns: Card[][] = [];
  for (const card of all) (columns[card.column] ??= []).push(card);
  return columns.map((column) => column.sort((a, b) => a.y - b.y));
}

const comesBefore = (a: number[], b: number[]) => {
  const at = a.findIndex((place, depth) => place !== b[depth]);
  return at >= 0 && a[at] < b[at];
};

function expectTidy(tree: Tree): void {
  const wrong: string[] = [];
  for (const column of columnsOf(cards(tree))) {
    column?.slice(1).forEach((card, at) => {
      const above = column[at];
      if (card.y - card.height / 2 - (above.y + above.height / 2) < 9.999) wrong.push(`${above.key} touches ${card.key}`);
      if (!comesBefore(above.order, card.order)) wrong.push(`${above.key} should come after ${card.key}`);
    });
  }
  expect(wrong).toEqual([]);
}

/** The same cards in a new layout. */
function fromScratch(tree: Tree): Layout {
  const layout = new Layout(tree.run.state, tree.folding);
  layout.touchAll();
  layout.update();
  return layout;
}

function expectSameAsFull(tree: Tree): void {
  const before = cards(tree).map((card) => [card.key, card.y]);
  const full = { nodes: tree.nodes, folding: tree.folding, layout: fromScratch(tree) } as unknown as Tree;
  expect(cards(full).map((card) => [card.key, card.y])).toEqual(before);
}

describe.each([1, 2, 3, 4, 5])('a tree that grows from seed %i', (seed) => {
  const events = grow({ nodes: 60 + seed * 60, seed, parallel: 3 * seed });

  it('never overlaps, keeps its order, and is laid out alike step by step and at once', () => {
    const run: Run = new Run();
    const tree = new Tree(run);
    const chance = random(seed);
    for (let at = 0; at < events.length;) {
      const batch = 1 + ((chance() * 60) | 0);
      run.applyEvents(events.slice(at, at + batch));
      at += batch;
      run.flush();
      for (const node of tree.folding.foldDue(performance.now() + chance() * 3000)) tree.layout.touch(node);
      tree.layout.update();
      if (chance() < 0.2 && tree.nodes.count > 3) tree.fold((chance() * tree.nodes.count) | 0, chance() < 0.5);
      if (chance() < 0.1) tree.select(tree.nodes.id.get((chance() * tree.nodes.count) | 0), { reveal: true });
      if (chance() < 0.4) continue;
      expectTidy(tree);
      expectSameAsFull(tree);
    }
    expectTidy(tree);
    tree.destroy();
  });

  it('shows the same after a journey through time', () => {
    const run = new Run();
    run.applyEvents(events);
    const tree = new Tree(run);
    const before = cards(tree).map((card) => [card.key, card.y]);
    for (const part of [0.5, 0.1, 0.9]) {
      run.rewind(Math.floor(events.length * part));
      run.flush();
      expectTidy(tree);
    }
    run.toLive();
    run.flush();
    expect(cards(tree).map((card) => [card.key, card.y])).toEqual(before);
    tree.destroy();
  });
});

describe('folding', () => {
  const events = grow({ nodes: 400, seed: 9, parallel: 8 });
  const half = () => {
    const run = new Run();
    run.applyEvents(events.slice(0, Math.floor(events.length / 2)));
    return new Tree(run);
  };

  it('keeps everything that is worked on, waits for a person or failed under a working parent on the screen', () => {
    const tree = half();
    const shown = new Set(cards(tree).map((card) => card.key));
    expect(tree.working.size).toBeGreaterThan(3);
    for (const node of tree.working) if (tree.nodes.started.get(node) > 0) expect(shown.has(`n${node}`)).toBe(true);
    for (let node = 0; node < tree.nodes.count; node++) {
      const parent = tree.nodes.parent.get(node);
      if (tree.nodes.status.get(node) === 7 && tree.nodes.unfinished.get(parent) > 0) expect(shown.has(`n${node}`)).toBe(true);
    }
  });

  it('shows far fewer cards than there are nodes, and every node is behind one of them', () => {
    const run = new Run();
    const long = grow({ nodes: 5000 });
    run.applyEvents(long.slice(0, Math.floor(long.length * 0.6)));
    const tree = new Tree(run);
    const all = cards(tree);
    expect(all.length).toBeLessThan(tree.nodes.count / 2);
    const behind = (node: number): number => (tree.folding.isFolded(node) ? tree.nodes.total.get(node) : 1);
    let total = 0;
    for (const { key } of all) if (key.startsWith('n')) total += behind(Number(key.slice(1)));
    for (let node = 0; node < tree.nodes.count; node++) {
      for (const entry of tree.folding.entries(node)) if (typeof entry !== 'number') total += entry.nodes.length;
    }
    expect(total).toBe(tree.nodes.count);
  });

  it('unfolds by itself when a folded subtree goes to work again', () => {
    const run = new Run();
    run.applyEvents(events);
    const tree = new Tree(run);
    const folded = [...tree.nodes.children(0)].find((node) => tree.folding.isFolded(node))!;
    const event = { ...events.at(-1)!, seq: run.head + 1, type: 'tree.node_reopened', nodeId: tree.nodes.id.get(folded) };
    run.applyEvent({ ...event, payload: { generation: 2, causedBy: tree.nodes.id.get(0) } } as StoredEvent);
    run.flush();
    expect(tree.folding.isFolded(folded)).toBe(false);
  });

  it('opens only the path to a node that is viewed for', () => {
    const run = new Run();
    run.applyEvents(events);
    const tree = new Tree(run);
    const before = cards(tree).length;
    tree.next('failed');
    const failed = tree.selectedNode;
    expect(tree.nodes.status.get(failed)).toBe(7);
    expect(cards(tree).some((card) => card.key === `n${failed}`)).toBe(true);
    expect(cards(tree).length).toBeLessThan(before + 60);
  });

  it('shows planned steps as ghosts until their nodes exist', () => {
    const run = new Run();
    const at = events.findIndex((event) => event.type === 'tree.plan_created');
    run.applyEvents(events.slice(0, at + 1));
    const tree = new Tree(run);
    const ghosts = () => tree.folding.entries(0).filter((entry) => typeof entry !== 'number').length;
    const planned = ghosts();
    expect(planned).toBe(run.steps(tree.nodes.id.get(0)).length);
    const born = events.findIndex((event, place) => place > at && event.type === 'tree.node_delegated');
    run.applyEvents(events.slice(at + 1, born + 1));
    run.flush();
    expect(ghosts()).toBe(planned - 1);
  });
});

describe('a layout', () => {
  it('of ten thousand nodes is quick, whole and by parts', { timeout: 60_000 }, () => {
    const events = grow({ nodes: 10_000 });
    const run = new Run();
    run.applyEvents(events);
    const folding = new Folding(run.state);
    const layout = new Layout(run.state, folding);
    layout.touchAll();
    const cpu = process.cpuUsage();
    layout.update();
    const used = process.cpuUsage(cpu);
    expect((used.user + used.system) / 1000).toBeLessThan(250);
  });
});
