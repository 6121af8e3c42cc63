// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Run } from '../src/model/run';
import Outline from '../src/tree/Outline.svelte';
import { Tree } from '../src/tree/tree';
import { grow } from './generated-log';

class NoResize {
  observe() {}
  unobserve() {}
  disconnect() {}
}

let tree: Tree;
let outline: Record<string, unknown>;
const list = () => document.querySelector<HTMLElement>('[role=tree]')!;
const rows = () => [...document.querySelectorAll<HTMLElement>('[role=treeitem]')];
const selected = () => document.querySelector<HTMLElement>('[aria-selected=true]');
const press = (key: string) => {
  list().dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  flushSync();
};

beforeEach(() => {
  vi.stubGlobal('ResizeObserver', NoResize);
  const run = new Run();
  run.applyEvents(grow({ nodes: 300, seed: 4, parallel: 12 }).slice(0, 2200));
  tree = new Tree(run);
  outline = mount(Outline, { target: document.body, props: { tree } });
  flushSync();
});

afterEach(async () => {
  await unmount(outline);
  tree.destroy();
  vi.unstubAllGlobals();
});

describe('the outline', () => {
  it('is a tree of items that say their level, place and number, with rows only where they can be seen', () => {
    expect(list().tabIndex).toBe(0);
    const [root, child] = rows();
    expect(root.getAttribute('aria-level')).toBe('1');
    expect(root.getAttribute('aria-expanded')).toBe('true');
    expect([child.getAttribute('aria-level'), child.getAttribute('aria-posinset')]).toEqual(['2', '1']);
    expect(Number(child.getAttribute('aria-setsize'))).toBe([...tree.nodes.children(0)].length);
    expect(tree.nodes.count).toBeGreaterThan(150);
    expect(rows().length).toBeLessThan(60);
  });

  it('is walked with the arrows, and its selection is the tree’s', () => {
    press('ArrowDown');
    expect(tree.selectedNode).toBe(0);
    press('ArrowDown');
    expect(selected()?.getAttribute('aria-level')).toBe('2');
    expect(list().getAttribute('aria-activedescendant')).toBe(selected()?.id);
    press('ArrowLeft');
    const folded = selected()?.getAttribute('aria-expanded') === 'false';
    if (folded) press('ArrowLeft');
    expect(tree.selectedNode).toBe(0);
    press('End');
    expect(rows().some((row) => row.id === list().getAttribute('aria-activedescendant'))).toBe(true);
    press('Home');
    expect(tree.selectedNode).toBe(0);
  });

  it('folds and unfolds what the canvas folds', () => {
    press('Home');
    press(' ');
    expect(tree.folding.isFolded(0)).toBe(true);
    expect(rows().length).toBe(1);
    press('ArrowRight');
    expect(tree.folding.isFolded(0)).toBe(false);
    expect(rows().length).toBeGreaterThan(1);
  });

  it('finds a row by its first letters', () => {
    press('Home');
    const wanted = tree.nodes.title.get([...tree.nodes.children(0)][1]);
    for (const letter of wanted.split(' ')[0].slice(0, 4)) press(letter);
    expect(selected()?.textContent).toContain(wanted.split(' ')[0]);
  });

  it('opens a node with Enter', () => {
    const opened = vi.fn();
    tree.onopen = opened;
    press('Home');
    press('Enter');
    expect(opened).toHaveBeenCalledWith(tree.nodes.id.get(0));
  });
});
