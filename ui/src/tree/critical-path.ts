// The critical path: of each node's children the one that ended last, then the one that ended last before that one was
// created, and so on to the start; and the same inside each of them.

import type { Nodes } from '../model/nodes';

export function criticalPath(nodes: Nodes): Set<number> {
  const path = new Set<number>();
  if (nodes.count === 0) return path;
  // An unfinished node ends later than every finished one.
  const end = (node: number) => (Number.isNaN(nodes.ended.get(node)) ? Infinity : nodes.ended.get(node));
  const stack = [0];
  while (stack.length > 0) {
    const node = stack.pop()!;
    path.add(node);
    let until = end(node);
    for (const child of [...nodes.children(node)].sort((a, b) => end(b) - end(a) || b - a)) {
      // Of several unfinished nodes any could be the last, so all are on the path.
      const open = end(child) === Infinity;
      if (end(child) > until && !open) continue;
      stack.push(child);
      until = Math.min(until, nodes.created.get(child));
    }
  }
  return path;
}
