// Success criteria in words.

import type { Criterion, CriterionState, Run } from '../api/shapes';
import { holds } from '../model/statuses';
import { ended, type StatusLook } from './format';

const LOOKS: Record<CriterionState, Omit<StatusLook, 'label'>> = {
  open: { tone: 'waiting', mark: '○' },
  claimed: { tone: 'neutral', mark: '◇' },
  verified: { tone: 'done', mark: '✓' },
  refuted: { tone: 'failed', mark: '✗' },
  accepted: { tone: 'done', mark: '✓' },
  rejected: { tone: 'failed', mark: '✗' },
};

export function criterionLook({ state, checking }: Pick<Criterion, 'state' | 'checking'>): StatusLook {
  return checking ? { tone: 'active', mark: '●', label: 'being checked' } : { ...LOOKS[state], label: state };
}

const MEANINGS: Record<CriterionState, string> = {
  open: 'Nothing was said about it.',
  claimed: 'Something is cited for it, and no check found it met or not met.',
  verified: 'A check found it met, and its quotes are in what it cites.',
  refuted: 'A check found it not met.',
  accepted: 'A person accepted it.',
  rejected: 'A person rejected it.',
};

/** What the state of a criterion means, for those who meet it for the first time. */
export const criterionMeaning = ({ state }: Pick<Criterion, 'state'>): string => MEANINGS[state];

export const STALE = 'What was checked has changed since.';

/** How many criteria of a run that is over hold; empty for a run without criteria. */
export function criteriaTally({ status, success_criteria }: Pick<Run, 'status' | 'success_criteria'>): string {
  if (!ended(status) || success_criteria.length === 0) return '';
  const [holding, stale] = [success_criteria.filter(holds).length, success_criteria.filter((criterion) => criterion.stale).length];
  return `${holding} of ${success_criteria.length} ${success_criteria.length === 1 ? 'criterion' : 'criteria'} verified${stale > 0 ? `, ${stale} stale` : ''}`;
}
