// Messages for screen readers. At most one in five seconds, because more could not be read out; the newest wins.

const MIN_INTERVAL_MS = 5_000;

class Announcer {
  text = $state('');
  private last = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  announce(text: string): void {
    clearTimeout(this.timer);
    const wait = Math.max(0, this.last + MIN_INTERVAL_MS - Date.now());
    this.timer = setTimeout(() => {
      this.last = Date.now();
      this.text = text;
    }, wait);
  }
}

export const announcer = new Announcer();
