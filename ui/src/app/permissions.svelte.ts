// What the person who is logged in may do. The server decides on every request; this only keeps the page from offering what would be refused.

import { SvelteMap } from 'svelte/reactivity';
import { Problem } from '../api/http';
import { session } from '../api/people';
import type { MemberRole, Project, Run, Session } from '../api/shapes';
import { project as readProject } from '../api/workspace';
import { mayEdit } from '../components/roles';

/** Whether something may be done, and why not; `may` is null until it is known. */
interface Permission {
  may: boolean | null;
  why: string;
}

const ALLOWED: Permission = { may: true, why: '' };
const NOT_KNOWN: Permission = { may: null, why: '' };

interface ProjectRole {
  title: string;
  role: MemberRole | null;
}

class Permissions {
  me = $state.raw<Session | null>(null);
  /** The session could not be read: offer everything and let the server decide. */
  private sessionUnknown = $state(false);
  private roles = new SvelteMap<string, ProjectRole>();
  private asked = new Set<string>();
  private loading: Promise<void> | null = null;

  /** Called at the start and after every connection, because roles may have changed meanwhile. */
  load(): Promise<void> {
    this.loading ??= this.read().finally(() => (this.loading = null));
    return this.loading;
  }

  private async read(): Promise<void> {
    this.asked.clear();
    try {
      const now = await session();
      // Another person logged in: roles of the previous one do not apply.
      if (now.actor.id !== this.me?.actor.id) this.roles.clear();
      this.me = now;
      this.sessionUnknown = false;
    } catch {
      this.sessionUnknown = this.me === null;
    }
    for (const id of this.roles.keys()) void this.learn(id);
  }

  /** Stores the person's role in a project that was just read or changed. */
  put(project: Project): void {
    this.roles.set(project.id, { title: project.title, role: project.role ?? null });
  }

  /** Whether this login may change anything at all. */
  get change(): Permission {
    if (this.sessionUnknown || !this.me) return this.sessionUnknown ? ALLOWED : NOT_KNOWN;
    return this.me.scopes.some((scope) => scope !== 'read') ? ALLOWED : { may: false, why: 'This login may only read. `pleach token link` prints a link that may do more.' };
  }

  /** Whether the person may steer a run: answer, send messages, change limits. */
  steer(run: Pick<Run, 'owner' | 'project_ids'>): Permission {
    const change = this.change;
    if (change.may !== true || this.sessionUnknown || run.owner === this.me?.actor.id) return change;
    const roles = run.project_ids.map((id) => this.roleIn(id));
    if (roles.length === 0) return { may: false, why: 'This run is somebody else’s.' };
    if (roles.includes(undefined)) return NOT_KNOWN;
    const watched = roles.find((project) => project && !mayEdit(project.role));
    if (!watched) return ALLOWED;
    return { may: false, why: `You are a viewer of “${watched.title || 'one of its projects'}”: you see this run; its owner and the editors of its projects steer it.` };
  }

  /** Whether the person may change what is in a project. */
  edit(project: string): Permission {
    const change = this.change;
    if (change.may !== true || this.sessionUnknown) return change;
    const known = this.roleIn(project);
    if (known === undefined) return NOT_KNOWN;
    return mayEdit(known.role) ? ALLOWED : { may: false, why: `You are a viewer of “${known.title}”.` };
  }

  private roleIn(id: string): ProjectRole | undefined {
    const known = this.roles.get(id);
    if (!known && !this.asked.has(id)) void this.learn(id);
    return known;
  }

  private async learn(id: string): Promise<void> {
    this.asked.add(id);
    try {
      this.put(await readProject(id));
    } catch (error) {
      if (error instanceof Problem && error.notFound) this.roles.set(id, { title: '', role: 'viewer' });
    }
  }
}

export const permissions = new Permissions();
