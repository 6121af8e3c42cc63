// The router. The address holds all state that a link should carry: page, node, view, point in time.

/** Lists, and the page of one of their items. */
const LISTS = { runs: 'run', documents: 'document', projects: 'project', agents: 'agent' } as const;
const SINGLE = ['questions', 'webhooks', 'settings', 'login'] as const;
type List = keyof typeof LISTS;

export type Page = { name: List | (typeof SINGLE)[number] | 'not_found' } | { name: (typeof LISTS)[List]; id: string };

function pageAt(path: string): Page {
  const [first = '', second, more] = path.split('/').filter((part) => part !== '');
  if (more !== undefined) return { name: 'not_found' };
  if (first === '') return { name: 'runs' };
  if (first in LISTS) {
    const list = first as List;
    return second === undefined ? { name: list } : { name: LISTS[list], id: decodeURIComponent(second) };
  }
  const single = SINGLE.find((name) => name === first);
  return single && second === undefined ? { name: single } : { name: 'not_found' };
}

class Router {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));
  page = $derived(pageAt(this.path));

  constructor() {
    addEventListener('popstate', () => this.read());
    document.addEventListener('click', (event) => this.follow(event));
  }

  go(to: string): void {
    history.pushState(null, '', to);
    this.read();
    scrollTo(0, 0);
  }

  /** Change parts of the query. `push` when Back should return to what was there. */
  set(change: Record<string, string | null>, push = false): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    const search = query.toString();
    if (search === this.query.toString()) return;
    const to = search === '' ? this.path : `${this.path}?${search}`;
    if (push) history.pushState(null, '', to);
    else history.replaceState(null, '', to);
    this.query = query;
  }

  private read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  /** Plain links inside the page do not reload it. */
  private follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (pageAt(link.pathname).name === 'not_found' || link.hash !== '') return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
