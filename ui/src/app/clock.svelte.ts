// One clock for every "3 min ago" on the page. It stops while the tab is hidden, because nobody reads it then.

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (document.visibilityState === 'visible') this.now = Date.now();
    }, 1_000);
  }
}

export const clock = new Clock();
