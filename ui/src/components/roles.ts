// The roles of a project and what each may do, as text.

import type { MemberRole } from '../api/shapes';

export const ROLES: MemberRole[] = ['viewer', 'editor', 'owner'];

/** What each role may do; every role includes the ones before it. */
export const roleLabel: Record<MemberRole, string> = {
  viewer: 'reads everything in the project and watches its runs',
  editor: 'also changes documents and tasks, answers and steers the runs',
  owner: 'also invites, changes roles, removes people and deletes the project',
};

/** Whether the role may edit. An unknown role may: the page hides only what is sure to be refused. */
export const mayEdit = (role: MemberRole | null | undefined): boolean => role !== 'viewer';
