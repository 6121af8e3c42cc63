// A run's documents and tasks as a tree, read again while the run works. One per run page, shared by its views.

import { workspace as readWorkspace } from '../../api/runs';
import type { Document as Doc, Task, Workspace } from '../../api/shapes';
import type { StatusLook } from '../../components/format';
import { REPLACED, STALE } from '../../components/node-marks';
import { kindOf, nodeOf } from '../documents/kinds';
import type { OpenRun } from './open-run.svelte';

/** A working run changes many times a second; it is read at most this often. */
const PAUSE_MS = 1_500;

/** A document or a task, with what belongs to it. */
export interface WorkspaceItem {
  id: string;
  title: string;
  label: string;
  /** Written by the platform, not produced by the work. */
  own: boolean;
  /** That something has replaced it, or that it is stale. */
  mark: StatusLook | null;
  doc: Doc | null;
  task: Task | null;
  children: WorkspaceItem[];
}

export class RunWorkspace {
  all = $state.raw<Workspace | null>(null);
  error = $state.raw<unknown>(null);
  /** Counts readings, so that an open document is read again too. */
  readings = $state(0);

  constructor(private readonly openRun: OpenRun) {
    let last = 0;
    $effect(() => {
      if (!openRun.opened) return;
      void openRun.seen.head;
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
      this.all = await readWorkspace(this.openRun.id);
      this.error = null;
      this.readings += 1;
    } catch (error) {
      this.error = error;
    }
  }

  /** The tree as it was at a time, or as it is. */
  tree(until: string | null): WorkspaceItem[] {
    if (!this.all) return [];
    const { seen } = this.openRun;
    const standing = seen.documents();
    const items = treeOf(this.all, until, (id) => (standing.has(id) ? (standing.get(id) === 'stale' ? STALE : REPLACED) : null));
    inOrder(items, (item) => (item.own && item.doc ? seen.placeOf(nodeOf(item.doc) ?? '') : Infinity));
    return items;
  }
}

function treeOf(all: Workspace, until: string | null, markOf: (id: string) => StatusLook | null): WorkspaceItem[] {
  const known = (created: string): boolean => until === null || created <= until;
  const items = new Map<string, WorkspaceItem>();
  for (const doc of all.documents)
    if (known(doc.created_at)) items.set(doc.id, { id: doc.id, title: doc.title, label: kindOf(doc).label, own: kindOf(doc).own, mark: markOf(doc.id), doc, task: null, children: [] });
  for (const task of all.tasks) if (known(task.created_at)) items.set(task.id, { id: task.id, title: task.title, label: 'task', own: false, mark: null, doc: null, task, children: [] });
  const placed = new Set<string>();
  for (const edge of all.edges) {
    const [parent, child] = [items.get(edge.src), items.get(edge.dst)];
    if (!parent || !child || placed.has(child.id) || parent === child || holds(child, parent)) continue;
    placed.add(child.id);
    parent.children.push(child);
  }
  return [...items.values()].filter((item) => !placed.has(item.id));
}

/** Scratchpads of nodes come in the order of the plan, and everything else after them as it was. */
function inOrder(items: WorkspaceItem[], place: (item: WorkspaceItem) => number): void {
  const places = new Map(items.map((item) => [item, place(item)]));
  items.sort((a, b) => (places.get(a) === places.get(b) ? 0 : places.get(a)! - places.get(b)!));
  for (const item of items) inOrder(item.children, place);
}

/** Whether one belongs to the other. Edges may form cycles; the tree must not. */
function holds(item: WorkspaceItem, other: WorkspaceItem): boolean {
  return item.children.some((child) => child === other || holds(child, other));
}
