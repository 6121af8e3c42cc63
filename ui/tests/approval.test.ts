// x12: an approval shows everything that would be sent, in order, and whether it leaves the machine.

import { expect, test } from 'vitest';
import { approvalOf, folded } from '../src/components/approval';

const QUESTION = [
  'May the run call post__send after it read something from outside?',
  'Goes to: post.example.org',
  'Sends, all of it, in this order:',
  '- "to" = "ann@example.org"',
  '- "a \\" = \\"b" = {"x":[1,2]}',
  '- "body" = "Hello\\n- \\"to\\" = \\"nobody\\""',
  'Its server says that it only reads, which nobody checked.',
].join('\n');

test('x12_every_line_of_an_approval_is_shown_in_its_order', () => {
  expect(approvalOf(QUESTION)).toEqual({
    title: 'May the run call post__send after it read something from outside?',
    destination: 'post.example.org',
    leaves: 'yes',
    sends: [
      { name: 'to', value: '"ann@example.org"' },
      { name: 'a \\" = \\"b', value: '{"x":[1,2]}' },
      { name: 'body', value: '"Hello\\n- \\"to\\" = \\"nobody\\""' },
    ],
    remarks: ['Its server says that it only reads, which nobody checked.'],
  });
});

test('x12_what_stays_on_the_machine_is_marked_so_and_nothing_else', () => {
  const to = (destination: string) => approvalOf(QUESTION.replace('post.example.org', destination))?.leaves;
  expect([
    to('files, on this machine'),
    to('the tool server post, the program node on this machine, which may send it anywhere'),
    to('post.example.org'),
    to('on this machine.example.org'),
    to(''),
  ]).toEqual(['no', 'maybe', 'yes', 'yes', 'yes']);
});

test('x12_no_line_is_lost_whatever_it_looks_like', () => {
  const odd = `${QUESTION}\n- broken\n- "open\n\n- "x" = ${'y'.repeat(50_000)}`;
  const found = approvalOf(odd);
  const shown = [found?.title, found?.destination, ...(found?.sends.flatMap(({ name, value }) => [name, value]) ?? []), ...(found?.remarks ?? [])].join('\n');
  for (const line of ['- broken', '- "open', 'y'.repeat(50_000)]) expect(shown).toContain(line);
  expect(approvalOf('May the run call x? It would send {"a":1}')).toBeNull();
  expect(approvalOf('Which currency?')).toBeNull();
  expect(approvalOf('May the run call x?\nGoes to: y\nSends: nothing but the tool’s name')).toMatchObject({ sends: [], remarks: ['Sends: nothing but the tool’s name'] });
});

test('x12_a_long_value_shows_both_its_ends_and_says_how_much_is_between', () => {
  const value = `"begin${'x'.repeat(49_000)}hidden@example.net"`;
  const fold = folded(value);
  expect(fold?.head).toContain('"begin');
  expect(fold?.tail).toContain('hidden@example.net"');
  expect((fold?.head.length ?? 0) + (fold?.tail.length ?? 0) + (fold?.between ?? 0)).toBe(value.length);
  expect(folded('short')).toBeNull();
});
