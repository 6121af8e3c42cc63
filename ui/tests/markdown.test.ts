// Model text is hostile: whatever it says, it becomes text and a few elements, and only plain web addresses can be followed.

import { describe, expect, test } from 'vitest';
import { blocks, type Block } from '../src/components/markdown/blocks';
import { inlines, safeHref, type Inline } from '../src/components/markdown/inline';

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

const shown = (text: string) => blocks(text);
const words = (text: string) => [{ kind: 'text', text }];

describe('w7 what other readers of markdown know', () => {
  test('addresses with parentheses are whole', () => {
    expect(links(inlines('[a](https://en.wikipedia.org/wiki/Bee_(insect)) and https://example.org/a_(b) (see https://example.org/c).'))).toEqual([
      'https://en.wikipedia.org/wiki/Bee_(insect)', 'https://example.org/a_(b)', 'https://example.org/c',
    ]);
    expect(links(inlines('[a](<https://example.org/a b)>) [b](https://example.org/x "a title")'))).toEqual(['https://example.org/ab)', 'https://example.org/x']);
    expect(links(inlines('**https://example.org/x**, [https://example.org/y](https://example.org/z)'))).toEqual(['https://example.org/x', 'https://example.org/z']);
  });

  test('three marks are both kinds of emphasis', () => {
    expect(inlines('***x***')).toEqual([{ kind: 'em', inside: [{ kind: 'strong', inside: words('x') }] }]);
    expect(inlines('**a*b**')).toEqual([{ kind: 'strong', inside: words('a*b') }]);
    expect(inlines('*a **b***')).toEqual([{ kind: 'em', inside: [{ kind: 'text', text: 'a ' }, { kind: 'strong', inside: words('b') }] }]);
    expect(inlines('~~gone~~ ~kept~ __init__')).toEqual([{ kind: 'del', inside: words('gone') }, { kind: 'text', text: ' ~kept~ ' }, { kind: 'strong', inside: words('init') }]);
  });

  test('underlined headings', () => {
    expect(shown('Title\n=====\n\nPart\n---\n\n---')).toEqual([{ kind: 'heading', level: 1, inside: words('Title') }, { kind: 'heading', level: 2, inside: words('Part') }, { kind: 'rule' }]);
  });

  test('links by name, and names that nothing defines', () => {
    const text = '[one][A b], [a  B][], [a b] and [none][x].\n\n[a b]: https://example.org/ "title"\n[bad]: javascript:alert(1)\n\n[bad]';
    const [first, second] = shown(text) as { inside: Inline[] }[];
    expect(links(first!.inside)).toEqual(['https://example.org/', 'https://example.org/', 'https://example.org/']);
    expect(JSON.stringify(first)).toContain('[none][x]');
    expect(second!.inside).toEqual([{ kind: 'em', inside: words('bad') }]);
  });

  test('footnotes, numbered as they are referred to', () => {
    const text = 'First[^b], then[^a], again[^b], never[^c].\n\n[^a]: said *here*\n[^b]: and there\n  goes on';
    expect(shown(text)).toMatchObject([
      { kind: 'paragraph', inside: [{ text: 'First' }, { kind: 'note', number: 1 }, {}, { number: 2 }, {}, { number: 1 }, { text: ', never[^c].' }] },
      { kind: 'notes', items: [{ number: 1, inside: [{ kind: 'paragraph', inside: words('and there goes on') }] }, { number: 2, inside: [{ kind: 'paragraph', inside: [{ text: 'said ' }, { kind: 'em' }] }] }] },
    ]);
  });

  test('a table after a line of text, its columns turned as they ask', () => {
    expect(shown('Prices:\n| a | b \\| c |\n|:--|--:|\n| 1 | `2` |')).toMatchObject([{ kind: 'paragraph' }, { kind: 'table', align: ['left', 'right'], head: [words('a'), words('b | c')], rows: [[words('1'), [{ kind: 'code', text: '2' }]]] }]);
  });

  test('entities and line breaks', () => {
    expect(inlines('a &lt;b&gt; &amp;amp; &#8364; &nosuch; c<br>d  \ne')).toEqual([{ kind: 'text', text: 'a <b> &amp; € &nosuch; c' }, { kind: 'break' }, { kind: 'text', text: 'd' }, { kind: 'break' }, { kind: 'text', text: 'e' }]);
  });
});

test('x15_a_lone_carriage_return_ends_a_line_as_it_does_for_other_readers', () => {
  expect(shown('> quoted\r> still quoted\r\r# heading')).toEqual(shown('> quoted\n> still quoted\n\n# heading'));
  // What follows it is marked as quoted, or stands outside for everybody to see: never the one here and the other there.
  expect(shown('> quoted\r# not quoted').map((block) => block.kind)).toEqual(['quote', 'heading']);
  expect(shown('```\ra\r```\rb')).toEqual(shown('```\na\n```\nb'));
});
