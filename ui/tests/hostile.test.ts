// Sec 25, 26 and 29: a corpus of hostile markdown, whole and while it streams in. Whatever it says, only plain web and mail
// addresses can be followed, pictures stay unloaded, and nothing becomes an element that is not on the list.

import { expect, test } from 'vitest';
import { blocks } from '../src/components/markdown/blocks';

const ADDRESSES = [
  'javascript:steal()', 'JaVaScRiPt:steal()', 'java\tscript:steal()', 'java\nscript:steal()', '\u0001javascript:steal()', 'javascript&colon;steal()',
  '&#106;avascript:steal()', 'javascript\u200b:steal()', 'vbscript:steal', 'data:text/html,<script>steal()</script>', 'data:text/html;base64,PHNjcmlwdD4=',
  'data:image/svg+xml,<svg onload=steal()>', 'file:///etc/passwd', 'blob:https://a/b', '//evil.example/x', '/api/tokens', '../api/tokens', 'view-source:javascript:steal()',
  'feed:javascript:steal()', 'jar:https://evil.example!/x', 'intent://evil#Intent;end', 'ws://evil.example', 'about:blank', 'javascript:/*--></title></style>*/steal()',
];

const ELEMENTS = [
  '<script>steal()</script>', '<img src=x onerror=steal()>', '<svg onload=steal()>', '<math><mi xlink:href="javascript:steal()">', '<base href="https://evil.example/">',
  '<meta http-equiv=refresh content="0;url=https://evil.example">', '<iframe srcdoc="<script>steal()</script>">', '<object data="x">', '<embed src="x">', '<form action="https://evil.example"><input>',
  '<style>@import url(https://evil.example/x.css)</style>', '<link rel=prefetch href="https://evil.example/x">', '<video><source onerror=steal()></video>', '<a href="javascript:steal()">x</a>',
  '<details open ontoggle=steal()>', '<body onload=steal()>', '<template><script>steal()</script></template>', '<noscript><p title="</noscript><script>steal()</script>">', '<!--<img src="--><img src=x onerror=steal()>', '<picture><source srcset="https://evil.example/p">',
];

const WRAPPED = (address: string): string[] => [
  `[click](${address})`, `![pixel](${address})`, `<${address}>`, `[click](<${address}>)`, `[click](${address} "title")`, `[a][b]\n\n[b]: ${address}`, `[![x](${address})](${address})`,
  `**[click](${address})**`, `# [click](${address})`, `> [click](${address})`, `- [click](${address})`, `| a |\n|---|\n| [click](${address}) |`, `1. ![x](${address})`, `\`[x](${address})\` [y](${address})`,
  `[cl\\]ick](${address})`, `[click]( ${address} )`, `~~[click](${address})~~`, `[_click_](${address})`, `- [ ] [click](${address})`, `text ${address} text`,
];

const PLACED = (element: string): string[] => [
  element, `# ${element}`, `> ${element}`, `- ${element}`, `**${element}**`, `[${element}](https://example.org)`, `![${element}](https://evil.example/p)`, `| ${element} |\n|---|\n| ${element} |`,
  `\`\`\`html\n${element}`, `\`${element}\``, `text\n${element}\ntext`, `[x]: ${element}\n[x]`, `1. a\n   ${element}`, `${element}\n===`, `~~${element}~~`, `*${element}*`, `- [x] ${element}`, `> - ${element}`, `\\${element}`, `${element}${element}`,
];

const CORPUS = [...ADDRESSES.flatMap(WRAPPED), ...ELEMENTS.flatMap(PLACED), ...ELEMENTS.flatMap((element) => ADDRESSES.slice(0, 8).map((address) => `[${element}](${address})`))];

const KINDS = new Set(['heading', 'paragraph', 'code', 'quote', 'list', 'table', 'rule', 'text', 'strong', 'em', 'del', 'link', 'image', 'break', 'note', 'notes']);

/** Everything in it that is an element of the page, however deep. */
function parts(value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap(parts);
  if (value === null || typeof value !== 'object') return [];
  const record = value as Record<string, unknown>;
  return [...(typeof record['kind'] === 'string' ? [record] : []), ...Object.values(record).flatMap(parts)];
}

function dangers(markdown: string): string[] {
  return parts(blocks(markdown)).flatMap((part) => {
    if (!KINDS.has(part['kind'] as string)) return [`an element of kind ${String(part['kind'])}`];
    return part['kind'] === 'link' && !/^(https?:\/\/|mailto:)/.test(String(part['href'])) ? [`a link to ${String(part['href'])}`] : [];
  });
}

test(`sec s25 s26 none of ${CORPUS.length} hostile texts becomes anything but words and plain links`, () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(1_000);
  for (const text of CORPUS) expect(dangers(text), text).toEqual([]);
});

test('sec s29 nor does any of them while it comes in piece by piece', () => {
  for (const text of CORPUS.filter((_, at) => at % 7 === 0)) {
    for (let end = 1; end < text.length; end += 1) expect(dangers(text.slice(0, end)), text.slice(0, end)).toEqual([]);
  }
});
