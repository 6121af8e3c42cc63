// Navigation in a tree: neighbours, the next node of a kind, search, and their keys.

import { NONE, type Nodes } from '../model/nodes';
import type { Tree } from './tree';

/** Every node in reading order, shown or not. */
export function* preorder(nodes: Nodes, from = 0): Generator<number> {
  if (nodes.count === 0) return;
  const stack = [from];
  while (stack.length > 0) {
    const node = stack.pop()!;
    yield node;
    const children = [...nodes.children(node)];
    for (let at = children.length - 1; at >= 0; at--) stack.push(children[at]);
  }
}

/** The nodes that have a card, in reading order. */
export function* shown(tree: Tree): Generator<number> {
  if (tree.nodes.count === 0) return;
  const stack = [0];
  while (stack.length > 0) {
    const node = stack.pop()!;
    yield node;
    const entries = tree.folding.entries(node);
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at];
      if (typeof entry === 'number') stack.push(entry);
    }
  }
}

/** The nodes whose title, id or message contains every word. */
export function matching(nodes: Nodes, query: string): Set<number> {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = new Set<number>();
  if (words.length === 0) return found;
  for (let node = 0; node < nodes.count; node++) {
    const text = `${nodes.title.get(node)} ${nodes.id.get(node)} ${nodes.message.get(node) ?? ''}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.add(node);
  }
  return found;
}

/** The next node after `from` in reading order, which continues at the beginning. */
export function next(nodes: Nodes, from: number, direction: 1 | -1, wanted: (node: number) => boolean): number {
  const order = [...preorder(nodes)];
  const start = from === NONE ? (direction === 1 ? -1 : order.length) : order.indexOf(from);
  for (let step = 1; step <= order.length; step++) {
    const at = (start + direction * step + order.length * 2) % order.length;
    if (wanted(order[at])) return order[at];
  }
  return NONE;
}

/** The card above or below in the same column. */
function beside(tree: Tree, node: number, direction: 1 | -1): number {
  const depth = tree.nodes.depth.get(node);
  const column = [...shown(tree)].filter((other) => tree.nodes.depth.get(other) === depth);
  return column[column.indexOf(node) + direction] ?? NONE;
}

function firstChild(tree: Tree, node: number): number {
  return (tree.folding.entries(node).find((entry) => typeof entry === 'number') as number | undefined) ?? NONE;
}

/** Keys that do the same on the canvas and in the outline. */
export function key(tree: Tree, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { selectedNode: node, folding, nodes } = tree;
  const go = (to: number) => {
    if (to !== NONE) tree.userSelect(to, { look: true });
    return true;
  };
  switch (event.key) {
    case 'ArrowRight':
      if (node === NONE) return go(nodes.count > 0 ? 0 : NONE);
      if (folding.isFolded(node)) tree.fold(node, false);
      else go(firstChild(tree, node));
      return true;
    case 'ArrowLeft':
      return go(node === NONE ? (nodes.count > 0 ? 0 : NONE) : nodes.parent.get(node));
    case 'ArrowDown':
    case 'ArrowUp':
      if (node === NONE) return go(nodes.count > 0 ? 0 : NONE);
      return go(beside(tree, node, event.key === 'ArrowDown' ? 1 : -1));
    case 'Home':
      return go(nodes.count > 0 ? 0 : NONE);
    case 'End':
      return go([...shown(tree)].at(-1) ?? NONE);
    case 'Enter':
      tree.open(node);
      return node !== NONE;
    case ' ':
      if (node !== NONE) tree.fold(node, !folding.isFolded(node));
      return node !== NONE;
    default:
      return letterKey(tree, event.key);
  }
}

function letterKey(tree: Tree, pressed: string): boolean {
  switch (pressed) {
    case 'e':
    case 'E':
      tree.next('failed', pressed === 'e' ? 1 : -1);
      return true;
    case 'w':
    case 'W':
      tree.next('active', pressed === 'w' ? 1 : -1);
      return true;
    case 'n':
    case 'N':
      tree.next('match', pressed === 'n' ? 1 : -1);
      return true;
    case 'c':
      tree.showCritical(tree.critical === null);
      return true;
    case 'f':
      tree.follow();
      return true;
    case '0':
      tree.fit();
      return true;
    case '/':
      tree.focusFind();
      return true;
  }
  if (!/^[1-9]$/.test(pressed)) return false;
  tree.unfoldTo(Number(pressed));
  return true;
}
