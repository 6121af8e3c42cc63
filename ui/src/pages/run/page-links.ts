// Links to the pages that a subagent visited in a task run, by the titles it was shown.

import type { TaskStep } from '../../api/shapes';

interface PageLink {
  label: string;
  /** The address of that page in this user interface; null where there is none. */
  href: string | null;
}

const PAGE = /^\/(projects|documents|tasks|runs)\/([0-9a-f-]{36})/;
const KINDS: Record<string, string> = { projects: 'project', documents: 'document', tasks: 'task', runs: 'run' };

/** Page titles by path, learned from the steps that opened them. */
export function titles(steps: TaskStep[]): Map<string, string> {
  const opened = steps.filter((step) => step.action === 'navigate' && step.ok === true && step.path && step.summary);
  return new Map(opened.map((step) => [step.path!, step.summary!]));
}

export function pageLink(path: string, known: Map<string, string>): PageLink {
  if (path.startsWith('/whoami')) return { label: 'its own page', href: null };
  const [page, kind, id] = PAGE.exec(path) ?? [];
  if (page === undefined) return { label: path, href: null };
  const title = known.get(page);
  return { label: title ? `${KINDS[kind!]} “${title}”` : `${KINDS[kind!]} ${id!.slice(0, 8)}…`, href: kind === 'tasks' ? null : page };
}

/** The refusal without the page that the server sent with it. */
export const refusal = (summary: string): string => summary.split('\n---', 1)[0]!.trim();
