// Colours and fonts for the canvas: the tokens of style/tokens.css, read once per theme.

import { type Tone, TONES } from '../model/statuses';

/** Sizes are at zoom 1. */
interface Fonts {
  title: string;
  pill: string;
  line: string;
  badge: string;
  band: string;
}

export interface Palette {
  paper: string;
  surface: string;
  line: string;
  lineStrong: string;
  /** Between parent and child. */
  branch: string;
  ink: string;
  inkSoft: string;
  accent: string;
  tone: Record<Tone, string>;
  soft: Record<Tone, string>;
  fonts: Fonts;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const each = (suffix: string) => Object.fromEntries(TONES.map((tone) => [tone, token(tone + suffix)])) as Record<Tone, string>;
  return {
    paper: token('paper'),
    surface: token('surface'),
    line: token('line'),
    lineStrong: token('line-strong'),
    branch: token('branch'),
    ink: token('ink'),
    inkSoft: token('ink-soft'),
    accent: token('accent'),
    tone: each(''),
    soft: each('-soft'),
    fonts: fontsOf(token('font') || 'sans-serif'),
  };
}

function fontsOf(family: string): Fonts {
  return {
    title: `500 12.5px ${family}`,
    pill: `600 18px ${family}`,
    line: `11px ${family}`,
    badge: `700 11px ${family}`,
    band: `10px ${family}`,
  };
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
