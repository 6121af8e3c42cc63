// What calls in flight are writing, as the page puts it together from deltas.

import { expect, test } from 'vitest';
import { type Delta, withDelta, writerOf, type Writing } from '../src/model/writing';

const effect = 'e7f5f5b3b569.n1.g1.x.r1';
const delta = (shown: string, from: number, attempt = 1): Delta => ({ run_id: 'r', effect, attempt, role: 'tree_executor', shown, from });
const after = (...deltas: Delta[]): Writing | undefined => deltas.reduce<Writing | undefined>(withDelta, undefined);

test('t4 pieces that come twice, late or not at all give the newest text', () => {
  expect(after(delta('Heat pumps', 0), delta(' move 🌳', 10), delta(' heat', 17))?.text).toBe('Heat pumps move 🌳 heat');
  expect(after(delta('Heat pumps', 0), delta('pumps', 5))?.text).toBe('Heat pumps');
  // The newest part of the whole, for one who came late and knows some of it
  expect(after(delta('Heat pumps', 0), delta('pumps move heat', 5))?.text).toBe('Heat pumps move heat');
  expect(after(delta('Heat pumps', 0), delta('after a gap', 900))?.text).toBe('after a gap');
  expect(after(delta('lost', 0), delta('again', 0, 2))).toMatchObject({ text: 'again', attempt: 2, known: 5 });
  expect(after(delta('x'.repeat(5_000), 0), delta('end', 5_000))?.text).toHaveLength(2_000);
});

test('t4 an effect id says who writes, with the tag of its run before it', () => {
  expect(writerOf(effect)).toEqual({ kind: 'node', node: 1 });
  expect(writerOf('f9b525d18a43.n12.g2.plan.q2.fix')).toEqual({ kind: 'node', node: 12 });
  expect(writerOf('f9b525d18a43.i3.x0.r2')).toEqual({ kind: 'executor', iteration: 3, executor: 0 });
  for (const other of ['f9b525d18a43.i3.plan', 'f9b525d18a43.i3.report', 'f9b525d18a43.s2', 'n1', '']) expect(writerOf(other)).toEqual({ kind: 'role' });
});
