// Where the texts that are cited for a criterion are shown.

import type { Criterion } from '../../api/shapes';

type Cited = Criterion['evidence'][number];

/** What is cited, in words and with its address; no address when this page cannot show it. */
export interface CitedPlace {
  label: string;
  href: string | null;
}

/** What the page knows of a run's documents, tasks and artifacts. */
export interface CitedNames {
  titleOf: (id: string) => string | undefined;
  nodeOfArtifact: (id: string) => string | undefined;
}

/** Where a cited text is shown, at one of its quotes if one is given. */
export function citedPlace(run: string, { ref, version }: Cited, names: CitedNames, quote?: string): CitedPlace {
  const [kind = '', id = ''] = ref.split(/:(.*)/s);
  const at = (path: string, query: Record<string, string | undefined>): string => {
    const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
    return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
  };
  const [runPath, title] = [`/runs/${run}`, names.titleOf(id)];
  switch (kind) {
    case 'doc':
      return { label: title ?? 'a document', href: at(`/documents/${encodeURIComponent(id)}`, { version: version?.toString(), quote }) };
    case 'task':
      return { label: title ?? 'a task', href: at(runPath, { view: 'documents', doc: id, quote }) };
    case 'event':
      return { label: `event ${id}`, href: at(runPath, { view: 'events', event: id }) };
    case 'artifact': {
      const node = names.nodeOfArtifact(id);
      return { label: 'data of a node', href: node === undefined ? null : at(runPath, { node, tab: 'files' }) };
    }
    default:
      return { label: ref, href: null };
  }
}
