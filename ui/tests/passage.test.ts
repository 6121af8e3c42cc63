// @vitest-environment jsdom
// A quote is the source of a document; the page finds it in the rendering.

import { mount, unmount } from 'svelte';
import { describe, expect, test } from 'vitest';
import Markdown from '../src/components/markdown/Markdown.svelte';
import { findPassage, readableQuote } from '../src/components/passage';

describe('a quote', () => {
  const SOURCE =
    '# Costs\n\nThe **first** winter decides,\nsays [the guide](https://example.org/x).\n\n| option | price |\n|---|---:|\n| Fan | $60 |\n| Gas | $180 |\n\n1. Measure *twice*.\n2. Cut once.\n\n<script>alert("no")</script>\n';
  const found = (quote: string): string | null => {
    const target = document.createElement('main');
    const shown = mount(Markdown, { target, props: { text: SOURCE } });
    const range = findPassage(target, quote)?.toString() ?? null;
    void unmount(shown);
    return range?.replaceAll(/\s+/g, ' ') ?? null;
  };

  test('t1 is found in the rendered document, though it quotes the source', () => {
    expect(found('The **first** winter decides,\nsays [the guide](https://example.org/x)')).toBe('The first winter decides, says the guide');
    expect(found('| option | price |\n|---|---:|\n| Fan | $60 |')).toBe('optionpriceFan$60');
    expect(found('| Gas | $180 |')).toBe('Gas$180');
    expect(found('2. Cut   once.')).toBe('Cut once');
    expect(found('twice*.\n2. Cut once')).toBe('twice. Cut once');
    expect(found('# The title above\n\nThe first winter decides')).toBe('The first winter decides');
  });

  test('t1 that is not there is not found, and one with markup is only text', () => {
    expect(found('The second winter decides')).toBe(null);
    expect(found('')).toBe(null);
    expect(found('<script>alert("no")</script>')).toBe('script>alert("no")</script');
    expect(readableQuote('| option | price |\n|---|---:|\n| **Fan** | $60 |')).toBe('option · price\nFan · $60');
  });
});
