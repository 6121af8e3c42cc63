// What kind of document something is, in words. Type keys are the protocol's; one that is unknown here is shown as it is.

import type { Document as Doc } from '../../api/shapes';
import { shelf } from '../../app/shelf.svelte';
import { rehearses } from '../../parts/words';

export interface DocKind {
  words: string;
  /** An append-only list of entries. */
  pad: boolean;
  /** The platform's own, as opposed to what the work produced. */
  own: boolean;
}

const KINDS: Record<string, DocKind> = {
  'document.homework.workspace': { words: 'workspace', pad: false, own: true },
  'document.homework.scratchpad.root': { words: 'main scratchpad', pad: true, own: true },
  'document.homework.scratchpad.exec': { words: 'branch scratchpad', pad: true, own: true },
  'document.homework.plan': { words: 'plan', pad: false, own: true },
  'document.homework.summary.iteration': { words: 'summary of iterations', pad: false, own: true },
  'document.tree_agent.scratchpad': { words: 'scratchpad', pad: true, own: true },
  'document.tree_agent.artifact': { words: 'result of a node', pad: false, own: false },
};

export function kindOf(doc: Pick<Doc, 'type_key'>): DocKind {
  return KINDS[doc.type_key] ?? { words: doc.type_key.replace(/^document\.?/, '').replaceAll(/[._]/g, ' ') || 'document', pad: false, own: false };
}

export function runOf(doc: Pick<Doc, 'props'>): string | null {
  const id = doc.props?.tree_agent_run_id ?? doc.props?.homework_run_id ?? doc.props?.run_id;
  return typeof id === 'string' ? id : null;
}

export function nodeOf(doc: Pick<Doc, 'props'>): string | null {
  const id = doc.props?.tree_agent_node_id;
  return typeof id === 'string' ? id : null;
}

/** Whether the run that wrote it only rehearsed; the list of known runs knows. */
export function rehearsed(doc: Pick<Doc, 'props'>): boolean {
  const run = runOf(doc);
  const row = run === null ? undefined : shelf.runs.get(run);
  return row !== undefined && rehearses(row.model);
}
