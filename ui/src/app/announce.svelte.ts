// What a screen reader is told in passing. At most one message in five seconds: the newest wins.

const PAUSE_MS = 5_000;

class Announcer {
  words = $state('');
  private last = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  say(words: string): void {
    clearTimeout(this.timer);
    const wait = Math.max(0, this.last + PAUSE_MS - Date.now());
    this.timer = setTimeout(() => {
      this.last = Date.now();
      this.words = words;
    }, wait);
  }
}

export const announcer = new Announcer();
