// The fixed words of the protocol as small numbers, and what they mean to someone who looks.

import type { NodeStatus, Outcome, Role, StepStatus } from '../api/shapes';

export const NODE_STATUSES = [
  'planning',
  'delegating',
  'executing',
  'waiting',
  'aggregating',
  'blocked',
  'completed',
  'failed',
  'canceled',
  'superseded',
] as const satisfies readonly NodeStatus[];

/** A node that is not there (yet, or any more). */
export const NOWHERE = 255;

export const PLANNING = 0;
export const WAITING = 3;
export const BLOCKED = 5;
export const COMPLETED = 6;
export const FAILED = 7;
export const CANCELED = 8;

/** The names of the colours a status is painted in; also the groups people filter by. */
export const MOODS = ['active', 'waiting', 'blocked', 'done', 'failed', 'canceled'] as const;
export type Mood = (typeof MOODS)[number];

const MOOD_OF: readonly Mood[] = [
  'active',
  'active',
  'active',
  'waiting',
  'active',
  'blocked',
  'done',
  'failed',
  'canceled',
  'canceled',
];

export function moodOf(status: number): Mood {
  return MOOD_OF[status];
}

export function isTerminal(status: number): boolean {
  return status >= COMPLETED;
}

/** Working, as opposed to waiting for something or over. */
export function isActive(status: number): boolean {
  return status < BLOCKED && status !== WAITING;
}

/** Still thinking about what to do: drawn dashed. */
export function isTentative(status: number): boolean {
  return status <= 1;
}

export const ROLES = ['planner', 'executor'] as const satisfies readonly Role[];

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'canceled', 'superseded', 'skipped'] as const satisfies readonly StepStatus[];
export const STEP_PENDING = 0;
export const STEP_COMPLETED = 2;

export const OUTCOMES = ['success', 'partial', 'no_op'] as const satisfies readonly Outcome[];

/** Words the server has and these lists lack: there must be none. */
export type Forgotten =
  | Exclude<NodeStatus, (typeof NODE_STATUSES)[number]>
  | Exclude<Role, (typeof ROLES)[number]>
  | Exclude<StepStatus, (typeof STEP_STATUSES)[number]>
  | Exclude<Outcome, (typeof OUTCOMES)[number]>;
export const FORGOTTEN: Forgotten[] extends never[] ? 'none' : never = 'none';

/** The number of a word in its list; the given number for a word this page does not know. */
export function numberOf(list: readonly string[], word: unknown, unknown: number): number {
  const at = list.indexOf(word as string);
  return at < 0 ? unknown : at;
}
