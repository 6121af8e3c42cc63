// Colours and fonts for the canvas: the tokens of style/tokens.css, read once per theme.

import { type Tone, TONES } from '../model/statuses';

export type Palette = ReturnType<typeof readPalette>;

export function readPalette(element: HTMLElement) {
  const style = getComputedStyle(element);
  // Only a colour property says which of its two colours light-dark() means now.
  const colour = (name: string): string => {
    element.style.color = `var(--${name})`;
    return style.color;
  };
  const each = (suffix: string) => Object.fromEntries(TONES.map((tone) => [tone, colour(tone + suffix)])) as Record<Tone, string>;
  const family = style.getPropertyValue('--font').trim() || 'sans-serif';
  const palette = {
    paper: colour('paper'),
    surface: colour('surface'),
    line: colour('line'),
    lineStrong: colour('line-strong'),
    /** Between parent and child. */
    branch: colour('branch'),
    ink: colour('ink'),
    inkSoft: colour('ink-soft'),
    accent: colour('accent'),
    tone: each(''),
    soft: each('-soft'),
    /** Sizes are at zoom 1. */
    fonts: {
      title: `500 12.5px ${family}`,
      pill: `600 18px ${family}`,
      line: `11px ${family}`,
      badge: `700 11px ${family}`,
      band: `10px ${family}`,
    },
  };
  element.style.color = '';
  return palette;
}

/** Calls back when the colours may have changed: the theme was switched here or by the system. */
export function onPaletteChange(listener: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  document.addEventListener('pleach:theme', listener);
  dark.addEventListener('change', listener);
  return () => {
    document.removeEventListener('pleach:theme', listener);
    dark.removeEventListener('change', listener);
  };
}
