// The fold of homework events: plan, iterations, branches, newest scratchpad entries.

import { running } from './fold-run';
import { NONE } from './nodes';
import type { Iteration } from '../api/shapes';
import type { EventOf, StoredEvent } from './rows';
import type { State } from './state';

const KEPT_ENTRIES = 3;
const KEPT_BRANCH_ENTRIES = 2;

export function foldHomework(state: State, event: StoredEvent): void {
  switch (event.type) {
    case 'homework.run_started':
      running(state, event);
      return state.setValue('workspaceDocument', event.payload.workspaceDocumentId);
    case 'homework.iteration_started':
      return iterationStarted(state, event);
    case 'homework.planned':
      return state.setValue('planned', true);
    case 'homework.plan_updated':
      return state.setValue('plan', event.payload.steps.length ? { version: event.payload.version, steps: event.payload.steps } : null);
    case 'homework.tool_call_result':
      // A call over a limit was never made.
      return event.payload.notRun ? undefined : state.charges.addToolCall(state.undoLog, NONE);
    case 'homework.executor_started':
      return executorStarted(state, event.payload);
    case 'homework.executor_finished':
      return executorFinished(state, event.payload);
    case 'homework.repeat_detected':
      return state.setValue('repeated', event.payload.actions ?? []);
    case 'homework.scratchpad_appended':
      return state.setValue('entries', [...state.value('entries'), event.payload.markdown as string].slice(-KEPT_ENTRIES));
    case 'homework.limit_reached':
      return state.setValue('phase', 'reporting');
    case 'homework.iteration_completed':
      return iterationCompleted(state, event);
  }
}

function iterationStarted(state: State, event: EventOf<'homework.iteration_started'>): void {
  const row: Iteration = {
    run_id: event.runId,
    iteration: event.payload.iteration,
    status: 'running',
    summary: '',
    progress: false,
    metrics: null,
    artifacts: null,
    started_at: event.timestamp,
    ended_at: null,
  };
  state.setValue('iteration', row.iteration);
  state.setValue('planned', false);
  state.setValue('executors', 0);
  state.setValue('phase', 'iterating');
  state.setValue('iterations', [...state.value('iterations'), row]);
}

/** An iteration in which the run was canceled or failed ended as the run did. */
function statusOf(verdict: EventOf<'homework.iteration_completed'>['payload']['verdict']): Iteration['status'] {
  if (verdict?.go !== 'stop') return 'completed';
  if (verdict.reason === 'canceled') return 'canceled';
  return ['error', 'provider_auth', 'provider_quota'].includes(verdict.reason) ? 'failed' : 'completed';
}

function iterationCompleted(state: State, event: EventOf<'homework.iteration_completed'>): void {
  const { payload } = event;
  const row: Iteration = {
    run_id: event.runId,
    iteration: payload.iteration,
    status: statusOf(payload.verdict),
    summary: payload.summary,
    progress: payload.progress,
    metrics: payload.metrics as unknown as Iteration['metrics'],
    artifacts: {
      ...payload.artifacts,
      tool_results: (payload.results ?? []).filter((result) => !result.branch_id),
      executor_results: (payload.results ?? []).filter((result) => result.branch_id),
    },
    started_at: payload.startedAt,
    ended_at: event.timestamp,
  };
  const others = state.value('iterations').filter((known) => known.iteration !== row.iteration);
  state.setValue('iterations', [...others, row]);
  state.setValue('noProgress', payload.metrics?.no_progress_streak ?? 0);
  state.setValue('planned', false);
  state.setValue('executors', 0);
  if (payload.progress) state.setValue('repeated', []);
  const go = payload.verdict?.go;
  state.setValue('phase', go === 'wait' ? 'waiting' : go === 'stop' ? 'reporting' : 'iterating');
}

function executorStarted(state: State, payload: EventOf<'homework.executor_started'>['payload']): void {
  state.add('executors', 1);
  const known = state.value('branches').find((branch) => branch.id === payload.branchId);
  const branch = {
    id: payload.branchId,
    title: payload.title,
    document_id: payload.scratchpadDocumentId,
    entries: known?.entries ?? [],
    working: true,
    executor: payload.index,
    ...(payload.agent ? { agent: payload.agent } : {}),
  };
  state.setValue('branches', [...state.value('branches').filter((other) => other !== known), branch]);
}

function executorFinished(state: State, payload: EventOf<'homework.executor_finished'>['payload']): void {
  const { entry } = payload;
  // A task over the limit has no entry, because it never ran.
  if (!entry) return;
  state.add('executors', -1);
  const branches = state.value('branches').map((branch) => {
    if (branch.id !== payload.branchId) return branch;
    return { ...branch, working: false, entries: [...branch.entries, entry.markdown].slice(-KEPT_BRANCH_ENTRIES) };
  });
  state.setValue('branches', branches);
}
