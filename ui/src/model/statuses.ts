// The statuses and roles of the API as small numbers for columns, and the tone each status of a node is shown in.

import type { CriterionState, NodeStatus, Role, Status, StepStatus } from '../api/shapes';

export const NODE_STATUSES = ['planning', 'delegating', 'executing', 'waiting', 'aggregating', 'blocked', 'completed', 'failed', 'canceled', 'superseded'] as const satisfies readonly NodeStatus[];

/** The status of a node that does not exist at the shown moment. */
export const ABSENT = 255;

export const PLANNING = 0;
export const WAITING = 3;
export const BLOCKED = 5;
export const COMPLETED = 6;
export const FAILED = 7;
export const CANCELED = 8;
export const SUPERSEDED = 9;

/** How a completed node looks that did a part of its work, or had none to do, and the root of a completed run: numbers after those of the statuses. */
export const PARTIAL = 10;
export const NO_OP = 11;
export const CLAIMED = 12;
export const VERIFIED = 13;

/** Tones: the colour groups of what nodes and runs look like. */
export const TONES = ['active', 'waiting', 'blocked', 'done', 'neutral', 'partial', 'failed', 'canceled'] as const;
export type Tone = (typeof TONES)[number];

const TONE_OF: readonly Tone[] = ['active', 'active', 'active', 'waiting', 'active', 'blocked', 'done', 'failed', 'canceled', 'canceled', 'partial', 'neutral', 'neutral', 'done'];

/** The tone of a status, or of what a node looks like. */
export function toneOf(look: number): Tone {
  return TONE_OF[look];
}

export function isTerminal(status: number): boolean {
  return status >= COMPLETED;
}

/** Working, as opposed to waiting for something or over. */
export function isActive(status: number): boolean {
  return status < BLOCKED && status !== WAITING;
}

/** Still deciding what to do: drawn dashed. */
export function isTentative(status: number): boolean {
  return status <= 1;
}

/** Whether a run has ended; a stopped or failed one can be continued. */
export const ended = (status: Status): boolean => ['completed', 'stopped', 'canceled', 'failed'].includes(status);

/** Whether a criterion was verified, or accepted by a person. */
export const holds = ({ state }: { state: CriterionState }): boolean => state === 'verified' || state === 'accepted';

/** Whether a person has spoken on a criterion: their word beats a check. */
export const isDecided = ({ state }: { state: CriterionState }): boolean => state === 'accepted' || state === 'rejected';

export const ROLES = ['planner', 'executor'] as const satisfies readonly Role[];

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'canceled', 'superseded', 'skipped'] as const satisfies readonly StepStatus[];
export const STEP_PENDING = 0;
export const STEP_COMPLETED = 2;

/** Names that the API has and these lists lack. The compiler fails when there is one. */
export type MissingName = Exclude<NodeStatus, (typeof NODE_STATUSES)[number]> | Exclude<Role, (typeof ROLES)[number]> | Exclude<StepStatus, (typeof STEP_STATUSES)[number]>;
export const MISSING_NAMES: MissingName[] extends never[] ? 'none' : never = 'none';

/** The index of a name in its list, or `unknown` for a name that this page does not know. */
export function numberOf(list: readonly string[], word: unknown, unknown: number): number {
  const at = list.indexOf(word as string);
  return at < 0 ? unknown : at;
}
