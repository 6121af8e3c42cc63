// The hook by which browser tests find cards on the canvas, which has no elements.

import type { ScreenBox } from './renderer';

declare global {
  interface Window {
    __tree?: { boxes(): Record<string, ScreenBox> };
  }
}
