// The plan of a tree in the sidebar: its steps in the order they are done, or what is said in place of it.

import type { NodeRow } from '../../model/run';
import type { StepRow } from '../../model/rows';

/** The steps band by band, each band in the order of the plan. Steps that an earlier version finished come first in their band. */
export function inBands<Step extends Pick<StepRow, 'band_index' | 'step_index'>>(steps: readonly Step[]): [Step, ...Step[]][] {
  const bands = new Map<number, [Step, ...Step[]]>();
  for (const step of [...steps].sort((a, b) => a.band_index - b.band_index || a.step_index - b.step_index)) {
    const band = bands.get(step.band_index);
    if (band) band.push(step);
    else bands.set(step.band_index, [step]);
  }
  return [...bands.values()];
}

type Root = Pick<NodeRow, 'status' | 'role' | 'paused'>;

export function withoutPlan(root: Root | undefined): string {
  if (!root) return 'No plan yet.';
  if (root.role === 'executor') return doneItself(root);
  if (root.paused) return 'The root is paused and has no plan yet.';
  switch (root.status) {
    case 'blocked':
      return 'The root waits for an answer before it plans.';
    case 'failed':
      return 'The root failed before it had a plan.';
    case 'canceled':
      return 'The root was canceled before it had a plan.';
    default:
      return 'The root is planning.';
  }
}

function doneItself(root: Root): string {
  switch (root.status) {
    case 'blocked':
      return 'The root does it without a plan, and waits for an answer.';
    case 'failed':
      return 'The root tried to do it without a plan, and failed.';
    case 'canceled':
      return 'The root was canceled while it did it without a plan.';
    case 'completed':
      return 'The root did it without a plan.';
    default:
      return 'The root does it without a plan.';
  }
}
