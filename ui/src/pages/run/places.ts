// Where a subagent is on its errand, in words: pages by their titles, as it was shown them.

import type { TaskStep } from '../../api/shapes';

export interface Place {
  words: string;
  /** The same page for people, where there is one. */
  href: string | null;
}

const PAGE = /^\/(projects|documents|tasks|runs)\/([0-9a-f-]{36})/;
const KINDS: Record<string, string> = { projects: 'project', documents: 'document', tasks: 'task', runs: 'run' };

/** Titles by path: opening a page says what it is called. */
export function titles(steps: TaskStep[]): Map<string, string> {
  const opened = steps.filter((step) => step.action === 'navigate' && step.ok === true && step.path && step.summary);
  return new Map(opened.map((step) => [step.path!, step.summary!]));
}

export function placeOf(path: string, known: Map<string, string>): Place {
  if (path.startsWith('/whoami')) return { words: 'its own page', href: null };
  const [page, kind, id] = PAGE.exec(path) ?? [];
  if (page === undefined) return { words: path, href: null };
  const title = known.get(page);
  return { words: title ? `${KINDS[kind!]} “${title}”` : `${KINDS[kind!]} ${id!.slice(0, 8)}…`, href: kind === 'tasks' ? null : page };
}

/** What was refused, without the page that came along with it. */
export const refusal = (summary: string): string => summary.split('\n---', 1)[0]!.trim();
