// One ticking second for every "3 min ago" on the page; it rests while nobody looks.

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (document.visibilityState === 'visible') this.now = Date.now();
    }, 1_000);
  }
}

export const clock = new Clock();
