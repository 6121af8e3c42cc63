// What calls in flight are writing, put together from the deltas of a stream. A piece may come twice, and a reader who comes late or
// was too slow gets the newest part. It is text, never markup.

/** A piece of an answer that is still being written; docs/protocol.md. */
export interface Delta {
  run_id: string;
  effect: string;
  attempt: number;
  role: string;
  /** What people can read of it. */
  shown: string;
  /** The number of readable characters before it. */
  from: number;
}

export interface Writing {
  effect: string;
  attempt: number;
  role: string;
  /** The newest part of what was written. */
  text: string;
  /** The readable characters up to its end. */
  known: number;
}

/** Who makes a call, as its effect id says. */
export type Writer = { kind: 'node'; node: number } | { kind: 'executor'; iteration: number; executor: number } | { kind: 'role' };

const MAX_KEPT = 2_000;

/** What is known of a call's answer with one more piece of it. */
export function withDelta(known: Writing | undefined, delta: Delta): Writing {
  const { effect, attempt, role, from } = delta;
  const before = known?.attempt === attempt ? known : { effect, attempt, role, text: '', known: 0 };
  // Characters as the server counts them: an emoji is one.
  const shown = [...delta.shown];
  const end = from + shown.length;
  if (end <= before.known) return before;
  const text = from > before.known ? shown : [...before.text, ...shown.slice(before.known - from)];
  return { ...before, text: text.slice(-MAX_KEPT).join(''), known: end };
}

export function writerOf(effect: string): Writer {
  const [, first = '', second = ''] = effect.split('.');
  const node = /^n(\d+)$/.exec(first);
  if (node) return { kind: 'node', node: Number(node[1]) };
  const [iteration, executor] = [/^i(\d+)$/.exec(first), /^x(\d+)$/.exec(second)];
  return iteration && executor ? { kind: 'executor', iteration: Number(iteration[1]), executor: Number(executor[1]) } : { kind: 'role' };
}
