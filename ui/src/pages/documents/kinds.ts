// Labels for kinds of documents. A type key that this page does not know is shown as it is.

import type { Document as Doc } from '../../api/shapes';
import { runs } from '../../app/runs.svelte';
import { rehearses } from '../../components/format';

interface DocKind {
  label: string;
  /** An append-only list of entries. */
  scratchpad: boolean;
  /** Written by the platform, not produced by the work. */
  own: boolean;
}

const KINDS: Record<string, DocKind> = {
  'document.homework.workspace': { label: 'workspace', scratchpad: false, own: true },
  'document.homework.scratchpad.root': { label: 'main scratchpad', scratchpad: true, own: true },
  'document.homework.scratchpad.exec': { label: 'branch scratchpad', scratchpad: true, own: true },
  'document.homework.plan': { label: 'plan', scratchpad: false, own: true },
  'document.homework.summary.iteration': { label: 'summary of iterations', scratchpad: false, own: true },
  'document.tree_agent.scratchpad': { label: 'scratchpad', scratchpad: true, own: true },
  'document.tree_agent.artifact': { label: 'result of a node', scratchpad: false, own: false },
};

export function kindOf(doc: Pick<Doc, 'type_key'>): DocKind {
  return KINDS[doc.type_key] ?? { label: doc.type_key.replace(/^document\.?/, '').replaceAll(/[._]/g, ' ') || 'document', scratchpad: false, own: false };
}

export function runOf(doc: Pick<Doc, 'props'>): string | null {
  const id = doc.props?.tree_agent_run_id ?? doc.props?.homework_run_id ?? doc.props?.run_id;
  return typeof id === 'string' ? id : null;
}

export function nodeOf(doc: Pick<Doc, 'props'>): string | null {
  const id = doc.props?.tree_agent_node_id;
  return typeof id === 'string' ? id : null;
}

/** Whether a rehearsal run wrote it, if that run is loaded. */
export function rehearsed(doc: Pick<Doc, 'props'>): boolean {
  const run = runOf(doc);
  const row = run === null ? undefined : runs.byId.get(run);
  return row !== undefined && rehearses(row.model);
}
