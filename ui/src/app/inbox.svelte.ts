// Notifications that were stored for this person, newest first.

import { at, get, post, Problem, type Page } from '../api/http';
import type { Notification } from '../api/shapes';

const MOST = 200;

class Inbox {
  notices = $state.raw<Notification[]>([]);
  loaded = $state(false);
  problem = $state.raw<Problem | null>(null);
  unread = $derived(this.notices.filter((notice) => !notice.read_at).length);

  async load(): Promise<void> {
    try {
      this.notices = (await get<Page<Notification>>(at('/api/notifications', { limit: MOST }))).items;
      this.loaded = true;
      this.problem = null;
    } catch (error) {
      if (error instanceof Problem) this.problem = error;
    }
  }

  take(notice: Notification): void {
    const known = this.notices.some((other) => other.run_id === notice.run_id && other.seq === notice.seq);
    if (!known) this.notices = [notice, ...this.notices].slice(0, MOST);
  }

  async readAll(): Promise<void> {
    await post('/api/notifications/read');
    const now = new Date().toISOString();
    this.notices = this.notices.map((notice) => (notice.read_at ? notice : { ...notice, read_at: now }));
  }
}

export const inbox = new Inbox();
