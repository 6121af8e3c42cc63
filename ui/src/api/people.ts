// The session, member and invitation routes of the API.

import { get, list, post, send } from './http';
import type { Invitation, Member, MemberRole, Session } from './shapes';

const membersPath = (project: string, actor?: string): string => `/api/projects/${encodeURIComponent(project)}/members${actor === undefined ? '' : `/${encodeURIComponent(actor)}`}`;

export const session = (): Promise<Session> => get('/api/session');
/** Members first, then those who have not accepted yet. */
export const projectMembers = (project: string): Promise<Member[]> => get(membersPath(project));
/** Invites a person, or gives a member another role. */
export const setMember = (project: string, actor: string, role: MemberRole): Promise<Member> => post(membersPath(project), { actor, role });
/** Removes a member, withdraws an invitation, or leaves. */
export const removeMember = (project: string, actor: string): Promise<Member> => send('DELETE', membersPath(project, actor));
export const invitations = (): Promise<Invitation[]> => list('/api/invitations');
export const settleInvitation = (id: string, verb: 'accept' | 'decline'): Promise<Invitation> => post(`/api/invitations/${encodeURIComponent(id)}/${verb}`);
