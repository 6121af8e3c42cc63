// What determined when a run ended: of each node's children the one that ended last, then the one that ended last before that one was
// begun, and so on to the beginning; and the same inside each of them.

import type { Nodes } from '../model/nodes';

export function criticalPath(nodes: Nodes): Set<number> {
  const path = new Set<number>();
  if (nodes.count === 0) return path;
  // What still works ends later than everything that has ended.
  const end = (node: number) => (Number.isNaN(nodes.ended.get(node)) ? Infinity : nodes.ended.get(node));
  const stack = [0];
  while (stack.length > 0) {
    const node = stack.pop()!;
    path.add(node);
    let until = end(node);
    for (const child of [...nodes.children(node)].sort((a, b) => end(b) - end(a) || b - a)) {
      // Of several that still work nobody knows which will be the last.
      const open = end(child) === Infinity;
      if (end(child) > until && !open) continue;
      stack.push(child);
      until = Math.min(until, nodes.created.get(child));
    }
  }
  return path;
}
