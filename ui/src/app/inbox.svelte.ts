// The inbox of the person who is logged in: invitations, and stored notifications, newest first. Questions come with their runs.

import { list, post, Problem, withQuery } from '../api/http';
import { invitations, settleInvitation } from '../api/people';
import type { Invitation, Notification } from '../api/shapes';

const MOST = 200;

class Inbox {
  notices = $state.raw<Notification[]>([]);
  invitations = $state.raw<Invitation[]>([]);
  loaded = $state(false);
  problem = $state.raw<Problem | null>(null);
  unread = $derived(this.notices.filter((notice) => !notice.read_at).length);

  async load(): Promise<void> {
    try {
      this.notices = await list(withQuery('/api/notifications', { limit: MOST }));
      this.loaded = true;
      this.problem = null;
    } catch (error) {
      if (error instanceof Problem) this.problem = error;
    }
  }

  take(notice: Notification): void {
    if (!this.notices.some((other) => sameNotice(other, notice))) this.notices = [notice, ...this.notices].slice(0, MOST);
    if (notice.kind === 'invitation') void this.loadInvitations();
  }

  /** A login that is restricted to projects may not read invitations; it keeps an empty list. */
  async loadInvitations(): Promise<void> {
    this.invitations = await invitations().catch(() => this.invitations);
  }

  async settle(invitation: Invitation, verb: 'accept' | 'decline'): Promise<void> {
    try {
      await settleInvitation(invitation.id, verb);
      this.invitations = this.invitations.filter((other) => other.id !== invitation.id);
      this.notices = this.notices.filter((notice) => notice.invitation_id !== invitation.id);
    } catch (problem) {
      // The invitation was withdrawn, has expired, or was settled in another tab: show the ones that are left.
      await this.loadInvitations();
      throw problem;
    }
  }

  async readAll(): Promise<void> {
    await post('/api/notifications/read');
    const now = new Date().toISOString();
    this.notices = this.notices.map((notice) => (notice.read_at ? notice : { ...notice, read_at: now }));
  }
}

export const noticeKey = (notice: Notification): string => (notice.run_id === null ? notice.id : `${notice.run_id}:${notice.seq}`);

const sameNotice = (a: Notification, b: Notification): boolean => noticeKey(a) === noticeKey(b);

export const inbox = new Inbox();
