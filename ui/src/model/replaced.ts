// What has been replaced and what rests on it, as crates/engine/src/tree/stale.rs decides it. It changes nothing.

import { NONE } from './nodes';
import type { ArtifactRow, ShownArtifact } from './rows';
import type { State } from './state';
import { isTerminal, STEP_PENDING } from './statuses';

/** Whether the node's step is set to be done again, and the new node has not begun. */
export function again({ nodes, steps }: State, node: number): boolean {
  const [parent, id] = [nodes.parent.get(node), nodes.stepId.get(node)];
  if (parent === NONE || id === null) return false;
  const step = steps.find(parent, id);
  return step !== NONE && steps.child.get(step) === node && steps.status.get(step) === STEP_PENDING;
}

/** How many nodes a retry with what rested on it does again: those of later bands that began, beside the node and beside those above it. */
export function restedOn({ nodes }: State, node: number): number {
  let found = 0;
  for (let at = node; nodes.parent.get(at) !== NONE; at = nodes.parent.get(at)) {
    for (const beside of nodes.children(nodes.parent.get(at))) {
      const later = nodes.band.get(beside) > nodes.band.get(at);
      const began = !Number.isNaN(nodes.started.get(beside)) && isTerminal(nodes.status.get(beside));
      if (later && began && nodes.isCurrent(beside)) found++;
    }
  }
  return found;
}

/** Current is what the node's present generation made and has not given again. */
export function shownArtifacts({ nodes, artifacts }: State, node: number): ShownArtifact[] {
  const all = artifacts.get(node);
  const [first, stale, current] = [nodes.earlierArtifacts.get(node), nodes.stale.get(node) === 1, nodes.isCurrent(node)];
  const givenAgain = (at: number) => all.slice(at + 1).some((later) => takesThePlaceOf(later, all[at]));
  return all.map((artifact, at) => ({ ...artifact, stale, current: current && at >= first && !givenAgain(at) }));
}

/** Given again under the same label, or a later text of the same document. */
function takesThePlaceOf(later: ArtifactRow, earlier: ArtifactRow): boolean {
  const sameLabel = earlier.own && later.own && later.label === earlier.label;
  return sameLabel || (earlier.document_id !== null && later.document_id === earlier.document_id);
}

export type Standing = 'replaced' | 'stale';

/** Documents of the run that no longer count or are stale: results, and scratchpads of replaced nodes. */
export function standingOfDocuments(state: State): Map<string, Standing> {
  const { nodes, artifacts } = state;
  const found = new Map<string, Standing>();
  const current = new Set<string>();
  for (let at = 0; at < nodes.count; at++) {
    const pad = nodes.scratchpad.get(at);
    if (pad !== null && !nodes.isCurrent(at)) found.set(pad, 'replaced');
    if (artifacts.get(at).length === 0) continue;
    for (const made of shownArtifacts(state, at)) {
      if (made.document_id === null) continue;
      if (made.current && !made.stale) current.add(made.document_id);
      else if (found.get(made.document_id) !== 'stale') found.set(made.document_id, made.current ? 'stale' : 'replaced');
    }
  }
  // A later text of the same document counts.
  for (const document of current) found.delete(document);
  return found;
}
