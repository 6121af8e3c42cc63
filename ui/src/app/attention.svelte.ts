// What the tab says while it is not looked at: title, favicon, and a desktop notification for those who asked for them.

import { headline, plural } from '../parts/words';
import type { Notification as Notice } from '../api/shapes';
import { router } from './router.svelte';
import { shelf } from './shelf.svelte';

const KEY = 'pleach.notify';
const MARKS = { asking: '#7c4dd6', moving: '#c8650a', resting: '#2f6f64' } as const;
export type Mood = keyof typeof MARKS;

class Attention {
  /** The page's own name, set by whoever shows it. */
  page = $state('Runs');
  wanted = $state(localStorage.getItem(KEY) === 'yes' && supported() && Notification.permission === 'granted');
  mood = $derived<Mood>(shelf.needing.length > 0 ? 'asking' : shelf.moving.length > 0 ? 'moving' : 'resting');
  title = $derived(this.mark() + this.page + ' – Pleach');

  private mark(): string {
    if (shelf.needing.length > 0) return '(?) Waiting on you – ';
    return shelf.moving.length > 0 ? `(●) ${plural(shelf.moving.length, 'run')} active – ` : '';
  }

  async ask(): Promise<void> {
    if (!supported()) return;
    this.wanted = (await Notification.requestPermission()) === 'granted';
    localStorage.setItem(KEY, this.wanted ? 'yes' : 'no');
  }

  refuse(): void {
    this.wanted = false;
    localStorage.setItem(KEY, 'no');
  }

  tell(notice: Notice): void {
    if (!this.wanted || document.visibilityState === 'visible') return;
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

/** A small branching tree in the colour of what is going on. */
export function favicon(mood: Mood): string {
  const dot = mood === 'resting' ? '' : `<circle cx="25" cy="7" r="6" fill="${MARKS[mood]}" stroke="white" stroke-width="1.5"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M8 28V6M8 14h8a6 6 0 0 1 6 6v4M8 22h5" fill="none" stroke="${MARKS.resting}" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>${dot}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export const attention = new Attention();
