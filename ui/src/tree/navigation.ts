// Navigation in a tree: neighbours, the next node of a kind, search, and their keys.

import { NONE, type Nodes } from '../model/nodes';
import type { Kind, Tree } from './tree';

/** Nodes in reading order, from one down. */
function* walk(nodes: Nodes, from: number, below: (node: number) => number[]): Generator<number> {
  const stack = nodes.count === 0 ? [] : [from];
  while (stack.length > 0) {
    const node = stack.pop()!;
    yield node;
    stack.push(...below(node).reverse());
  }
}

/** Every node in reading order, shown or not. */
export const preorder = (nodes: Nodes, from = 0): Generator<number> => walk(nodes, from, (node) => [...nodes.children(node)]);

/** The nodes below a node that have a card. */
const cardsBelow = (tree: Tree, node: number): number[] => tree.folding.entries(node).filter((entry) => typeof entry === 'number');

/** The nodes that have a card, in reading order. */
export const shown = (tree: Tree): Generator<number> => walk(tree.nodes, 0, (node) => cardsBelow(tree, node));

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

/** Keys that do the same on the canvas and in the outline. */
export function key(tree: Tree, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { selectedNode: node, folding, nodes } = tree;
  const root = nodes.count > 0 ? 0 : NONE;
  const go = (to: number) => {
    if (to !== NONE) tree.userSelect(to, { look: true });
    return true;
  };
  switch (event.key) {
    case 'ArrowRight':
      if (node === NONE) return go(root);
      if (folding.isFolded(node)) tree.fold(node, false);
      else go(cardsBelow(tree, node)[0] ?? NONE);
      return true;
    case 'ArrowLeft':
      return go(node === NONE ? root : nodes.parent.get(node));
    case 'ArrowDown':
    case 'ArrowUp':
      return go(node === NONE ? root : beside(tree, node, event.key === 'ArrowDown' ? 1 : -1));
    case 'Home':
      return go(root);
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

/** Letters that lead to the next node of a kind; the capital letter leads to the previous one. */
const JUMPS: Record<string, Kind> = { e: 'failed', w: 'active', n: 'match' };

function letterKey(tree: Tree, pressed: string): boolean {
  const jump = JUMPS[pressed.toLowerCase()];
  if (jump) tree.next(jump, pressed in JUMPS ? 1 : -1);
  else if (pressed === 'c') tree.showCritical(tree.critical === null);
  else if (pressed === 'f') tree.follow();
  else if (pressed === '0') tree.fit();
  else if (pressed === '/') tree.focusFind();
  else if (/^[1-9]$/.test(pressed)) tree.unfoldTo(Number(pressed));
  else return false;
  return true;
}
