// The rows of the outline: every node that is not inside a folded one. Only visible rows are in the document, so each row says its position
// and the number of its siblings for screen readers.

import { NONE } from '../model/nodes';
import type { Tree } from './tree';

/** Parallel lists instead of row objects, because ten thousand rows are rebuilt often. */
export interface Rows {
  node: number[];
  /** Position among its siblings, from 1, and the number of siblings. */
  place: number[];
  siblings: number[];
  /** Where each node's row is. */
  at: Map<number, number>;
}

export function rowsOf(tree: Tree): Rows {
  const { nodes, folding } = tree;
  const rows: Rows = { node: [], place: [], siblings: [], at: new Map() };
  if (nodes.count === 0) return rows;
  const stack: number[] = [0, 1, 1];
  while (stack.length > 0) {
    const siblings = stack.pop()!;
    const place = stack.pop()!;
    const node = stack.pop()!;
    rows.at.set(node, rows.node.length);
    rows.node.push(node);
    rows.place.push(place);
    rows.siblings.push(siblings);
    if (folding.isFolded(node)) continue;
    const children = [...nodes.children(node)];
    for (let at = children.length - 1; at >= 0; at--) stack.push(children[at], at + 1, children.length);
  }
  return rows;
}

/** The row a key leads to; `NONE` when the key is not one of the outline's own. */
export function rowFor(tree: Tree, rows: Rows, at: number, pressed: string, page: number): number {
  const last = rows.node.length - 1;
  const node = rows.node[at];
  const open = tree.folding.hasChildren(node) && !tree.folding.isFolded(node);
  if (pressed === 'ArrowRight') return open ? at + 1 : NONE;
  if (pressed === 'ArrowLeft') return open ? NONE : (rows.at.get(tree.nodes.parent.get(node)) ?? NONE);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[pressed];
  return to === undefined ? NONE : Math.max(0, Math.min(last, to));
}

/** The next row whose title begins with what was typed. */
export function typedTo(tree: Tree, rows: Rows, at: number, typed: string): number {
  const wanted = typed.toLowerCase();
  // While a person types more letters, the current row may still match.
  const first = typed.length > 1 ? 0 : 1;
  for (let step = first; step < rows.node.length + first; step++) {
    const row = (at + step) % rows.node.length;
    if (tree.nodes.title.get(rows.node[row]).toLowerCase().startsWith(wanted)) return row;
  }
  return NONE;
}
