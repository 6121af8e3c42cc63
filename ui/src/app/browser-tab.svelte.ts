// The browser tab while nobody looks at the page: title, favicon, and desktop notifications for people who turned them on.

import { headline, plural } from '../components/format';
import type { Notification as Notice } from '../api/shapes';
import { router } from './router.svelte';
import { runs } from './runs.svelte';

const KEY = 'pleach.notify';
const COLOURS = { asking: '#7c4dd6', active: '#c8650a', idle: '#2f6f64' } as const;
type Activity = keyof typeof COLOURS;

class BrowserTab {
  /** The name of the page that is shown; each page sets it. */
  page = $state('Runs');
  notificationsOn = $state(localStorage.getItem(KEY) === 'yes' && supported() && Notification.permission === 'granted');
  activity = $derived<Activity>(runs.asking.length > 0 ? 'asking' : runs.active.length > 0 ? 'active' : 'idle');
  title = $derived(this.prefix() + this.page + ' – Pleach');

  private prefix(): string {
    if (runs.asking.length > 0) return '(?) Waiting on you – ';
    return runs.active.length > 0 ? `(●) ${plural(runs.active.length, 'run')} active – ` : '';
  }

  async enableNotifications(): Promise<void> {
    if (!supported()) return;
    this.notificationsOn = (await Notification.requestPermission()) === 'granted';
    localStorage.setItem(KEY, this.notificationsOn ? 'yes' : 'no');
  }

  disableNotifications(): void {
    this.notificationsOn = false;
    localStorage.setItem(KEY, 'no');
  }

  notify(notice: Notice): void {
    if (!this.notificationsOn || document.visibilityState === 'visible') return;
    const shown = new Notification(headline(notice.title), { body: headline(notice.body, 200), tag: notice.id });
    shown.onclick = () => {
      focus();
      router.go(notice.run_id === null ? '/questions' : `/runs/${notice.run_id}`);
    };
  }
}

export function supported(): boolean {
  return 'Notification' in globalThis;
}

/** A branching tree; a dot in its corner says that runs ask or work. */
export function favicon(activity: Activity): string {
  const dot = activity === 'idle' ? '' : `<circle cx="25" cy="7" r="6" fill="${COLOURS[activity]}" stroke="white" stroke-width="1.5"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M8 28V6M8 14h8a6 6 0 0 1 6 6v4M8 22h5" fill="none" stroke="${COLOURS.idle}" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>${dot}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export const browserTab = new BrowserTab();
