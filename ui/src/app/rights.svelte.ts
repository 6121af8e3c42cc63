// What this person may do. The server decides on every request; this only keeps the page from offering what would be refused.

import { SvelteMap } from 'svelte/reactivity';
import { Problem } from '../api/http';
import { session } from '../api/people';
import type { MemberRole, Project, Run, Session } from '../api/shapes';
import { project as readProject } from '../api/workspace';
import { mayEdit } from '../parts/roles';

/** Whether something may be done, and why not; `may` is null until it is known. */
export interface Right {
  may: boolean | null;
  why: string;
}

const ALLOWED: Right = { may: true, why: '' };
const NOT_KNOWN: Right = { may: null, why: '' };

interface Place {
  title: string;
  role: MemberRole | null;
}

class Rights {
  me = $state.raw<Session | null>(null);
  /** Nobody could say who this is: the server's word is waited for at each request. */
  private unsaid = $state(false);
  private places = new SvelteMap<string, Place>();
  private asked = new Set<string>();
  private loading: Promise<void> | null = null;

  /** At the beginning and after every connection: roles may have changed meanwhile. */
  load(): Promise<void> {
    this.loading ??= this.read().finally(() => (this.loading = null));
    return this.loading;
  }

  private async read(): Promise<void> {
    this.asked.clear();
    try {
      const now = await session();
      // Somebody else came in: what the one before could do is nothing to go by.
      if (now.actor.id !== this.me?.actor.id) this.places.clear();
      this.me = now;
      this.unsaid = false;
    } catch {
      this.unsaid = this.me === null;
    }
    for (const id of this.places.keys()) void this.learn(id);
  }

  /** A role that was just read or changed. */
  put(project: Project): void {
    this.places.set(project.id, { title: project.title, role: project.role ?? null });
  }

  /** Whether this login may change anything at all. */
  get change(): Right {
    if (this.unsaid || !this.me) return this.unsaid ? ALLOWED : NOT_KNOWN;
    return this.me.scopes.some((scope) => scope !== 'read') ? ALLOWED : { may: false, why: 'This login may only read. `pleach token link` prints a link that may do more.' };
  }

  /** Answering, messages, limits, and every other word to a run. */
  steer(run: Pick<Run, 'owner' | 'project_ids'>): Right {
    const change = this.change;
    if (change.may !== true || this.unsaid || run.owner === this.me?.actor.id) return change;
    const places = run.project_ids.map((id) => this.place(id));
    if (places.length === 0) return { may: false, why: 'This run is somebody else’s.' };
    if (places.includes(undefined)) return NOT_KNOWN;
    const watched = places.find((place) => place && !mayEdit(place.role));
    if (!watched) return ALLOWED;
    return { may: false, why: `You are a viewer of “${watched.title || 'one of its projects'}”: you see this run; its owner and the editors of its projects steer it.` };
  }

  private place(id: string): Place | undefined {
    const known = this.places.get(id);
    if (!known && !this.asked.has(id)) void this.learn(id);
    return known;
  }

  private async learn(id: string): Promise<void> {
    this.asked.add(id);
    try {
      this.put(await readProject(id));
    } catch (error) {
      if (error instanceof Problem && error.unknown) this.places.set(id, { title: '', role: 'viewer' });
    }
  }
}

export const rights = new Rights();
