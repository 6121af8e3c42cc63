// What browser tests may ask a canvas that has no elements to look at.

import type { ScreenBox } from './stage';

declare global {
  interface Window {
    __tree?: { boxes(): Record<string, ScreenBox> };
  }
}
