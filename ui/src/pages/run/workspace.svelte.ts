// A run's documents and tasks as a tree, read again while the run works. One per run page, shared by its views.

import { workspace as readWorkspace } from '../../api/runs';
import type { Document as Doc, Task, Workspace } from '../../api/shapes';
import { kindOf } from '../documents/kinds';
import type { Session } from './session.svelte';

/** A working run changes many times a second; it is read at most this often. */
const PAUSE_MS = 1_500;

export interface Leaf {
  id: string;
  kind: 'document' | 'task';
  title: string;
  label: string;
  own: boolean;
  doc: Doc | null;
  task: Task | null;
  children: Leaf[];
}

export class Files {
  all = $state.raw<Workspace | null>(null);
  error = $state.raw<unknown>(null);
  /** Counts readings, so that an open document is read again too. */
  readings = $state(0);

  constructor(private readonly session: Session) {
    let last = 0;
    $effect(() => {
      if (!session.opened) return;
      void session.seen.head;
      const timer = setTimeout(
        () => {
          last = Date.now();
          void this.read();
        },
        Math.max(0, last + PAUSE_MS - Date.now()),
      );
      return () => clearTimeout(timer);
    });
  }

  async read(): Promise<void> {
    try {
      this.all = await readWorkspace(this.session.id);
      this.error = null;
      this.readings += 1;
    } catch (error) {
      this.error = error;
    }
  }

  /** The tree as it was at a time, or as it is. */
  tree(until: string | null): Leaf[] {
    return grow(this.all, until);
  }
}

function grow(all: Workspace | null, until: string | null): Leaf[] {
  if (!all) return [];
  const known = (created: string): boolean => until === null || created <= until;
  const leaves = new Map<string, Leaf>();
  for (const doc of all.documents)
    if (known(doc.created_at)) leaves.set(doc.id, { id: doc.id, kind: 'document', title: doc.title, label: kindOf(doc).label, own: kindOf(doc).own, doc, task: null, children: [] });
  for (const task of all.tasks) if (known(task.created_at)) leaves.set(task.id, { id: task.id, kind: 'task', title: task.title, label: 'task', own: false, doc: null, task, children: [] });
  const placed = new Set<string>();
  for (const edge of all.edges) {
    const [parent, child] = [leaves.get(edge.src), leaves.get(edge.dst)];
    if (!parent || !child || placed.has(child.id) || parent === child || holds(child, parent)) continue;
    placed.add(child.id);
    parent.children.push(child);
  }
  return [...leaves.values()].filter((leaf) => !placed.has(leaf.id));
}

/** Builds the tree. Edges may form cycles; the tree must not. */
function holds(leaf: Leaf, other: Leaf): boolean {
  return leaf.children.some((child) => child === other || holds(child, other));
}
