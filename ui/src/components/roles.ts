// The roles of a project and what each may do, as text.

import type { MemberRole } from '../api/shapes';

export const ROLES: MemberRole[] = ['viewer', 'editor', 'owner'];

/** What each may do; the next one may do that too. */
export const roleLabel: Record<MemberRole, string> = {
  viewer: 'reads everything in the project and watches its runs',
  editor: 'also changes documents and tasks, answers and steers the runs',
  owner: 'also invites, changes roles, removes people and deletes the project',
};

/** Only what is known to be refused is not offered. */
export const mayEdit = (role: MemberRole | null | undefined): boolean => role !== 'viewer';
