// The fold of what is known about each success criterion, of the check in progress, and of what the run came to. It decides as
// crates/engine/src/criteria does.

import type { Citation, CitedEvidence, EndState, EvidenceText } from '../api/events';
import type { Criterion, RunOutcome } from '../api/shapes';
import type { EventOf, StoredEvent } from './rows';
import type { State } from './state';
import { ended, holds } from './statuses';

/** A check in progress. */
export interface Check {
  citations: readonly Citation[];
  /** What could be read of what is cited. */
  evidence: readonly EvidenceText[];
  forced: boolean;
  read: boolean;
  /** Criteria without a verdict so far. */
  open: readonly string[];
}

export function foldCriteria(state: State, event: StoredEvent): void {
  const check = state.value('check');
  switch (event.type) {
    case 'run.check_started':
      return checking(state, begin(event.payload));
    case 'run.evidence_read':
      return checking(state, check && textsRead(check, event.payload.evidence, state.value('criteria')));
    case 'run.criterion_checked':
      change(state, event.payload.criterion, (known) => checked(known, event.payload));
      return checking(state, check && { ...check, open: check.open.filter((id) => id !== event.payload.criterion) });
    case 'run.criterion_decided':
      change(state, event.payload.criterion, (known) => decided(known, event.payload));
      return checking(state, check);
  }
}

/** Nothing is known yet. */
export const openCriterion = ({ id, text }: { id: string; text: string }): Criterion => ({ id, text, state: 'open', evidence: [], stale: false });

/** Sets the check in progress; it is over when everything was read and nothing is open. */
export function checking(state: State, check: Check | null): void {
  const current = check && !(check.read && check.open.length === 0) ? check : null;
  state.setValue('check', current);
  const criteria = state.value('criteria');
  const now = criteria.map((known) => withChecking(known, current?.open.includes(known.id) ?? false));
  if (now.some((known, at) => known !== criteria[at])) state.setValue('criteria', now);
}

function withChecking(known: Criterion, is: boolean): Criterion {
  if ((known.checking ?? false) === is) return known;
  const { checking: _, ...rest } = known;
  return is ? { ...rest, checking: true } : rest;
}

function begin({ citations, known = [], forced = false }: EventOf<'run.check_started'>['payload']): Check {
  return { citations, evidence: known, forced, read: false, open: citations.map((citation) => citation.criterion) };
}

/** What was judged on the same versions is not judged again, unless a person asked for it. */
function textsRead(check: Check, texts: readonly EvidenceText[], criteria: readonly Criterion[]): Check {
  const read = { ...check, read: true, evidence: [...check.evidence, ...texts] };
  const judged = (id: string) => criteria.some((known) => known.id === id && known.model !== undefined && versions(known.evidence) === versions(readable(read, id)));
  return { ...read, open: check.forced ? check.open : check.open.filter((id) => !judged(id)) };
}

function readable(check: Check, criterion: string): EvidenceText[] {
  const refs = check.citations.find((citation) => citation.criterion === criterion)?.refs ?? [];
  return refs.flatMap((ref) => check.evidence.filter((text) => text.ref === ref && text.text !== undefined).slice(0, 1));
}

const versions = (cited: readonly Pick<CitedEvidence, 'ref' | 'version'>[]): string =>
  cited
    .map(({ ref, version = '' }) => `${ref} ${version}`)
    .sort()
    .join('\n');

function change(state: State, id: string, to: (known: Criterion) => Criterion): void {
  state.setValue(
    'criteria',
    state.value('criteria').map((known) => (known.id === id ? to(known) : known)),
  );
}

const isDecided = ({ state }: Criterion): boolean => state === 'accepted' || state === 'rejected';

function checked(known: Criterion, { state, reason, evidence, model }: EventOf<'run.criterion_checked'>['payload']): Criterion {
  if (isDecided(known)) return known;
  const { reason: _, model: __, ...rest } = known;
  return { ...rest, state, evidence, ...(reason === undefined ? {} : { reason }), ...(model === undefined ? {} : { model }) };
}

function decided(known: Criterion, { decision, note }: EventOf<'run.criterion_decided'>['payload']): Criterion {
  if (decision === 'recheck') return isDecided(known) ? { ...known, state: known.evidence.length === 0 ? 'open' : 'claimed' } : known;
  const { reason: _, ...rest } = known;
  return { ...rest, state: decision === 'accept' ? 'accepted' : 'rejected', ...(note === undefined ? {} : { reason: note }) };
}

/** Null while the run can still move. Nobody checked a run that an earlier version ended, so it counts as claimed. */
export function outcome(state: State): RunOutcome | null {
  const [status, end, criteria] = [state.status(), state.value('endState'), state.value('criteria')];
  if (!ended(status)) return null;
  return end === null ? 'claimed' : outcomeOf(status === 'completed', end, criteria);
}

function outcomeOf(completed: boolean, end: EndState, criteria: readonly Criterion[]): RunOutcome {
  const unmet = criteria.some((known) => known.state !== 'claimed' && !holds(known));
  const dropped = criteria.length === 0 && end.dropped;
  if (!completed && !end.made) return 'none';
  if (!completed || end.failed || unmet || dropped) return 'partial';
  return criteria.length > 0 && criteria.every(holds) ? 'verified' : 'claimed';
}

/** What a snapshot's outcome rests on besides the criteria, as far as it shows. */
export function endStateBehind(outcome: RunOutcome | null, completed: boolean, criteria: readonly Criterion[]): EndState | null {
  if (outcome === null) return null;
  const end = { made: outcome !== 'none', failed: false, dropped: false };
  return { ...end, failed: outcomeOf(completed, end, criteria) !== outcome };
}
