// The fold of a homework run's own events: plan, iterations, branches, the newest entries of its pads.

import { running } from './fold-run';
import { NONE } from './nodes';
import type { IterationRow, StoredEvent } from './shapes';
import { F, type State } from './state';

const KEPT_ENTRIES = 3;
const KEPT_BRANCH_ENTRIES = 2;

export function foldHomework(state: State, event: StoredEvent): void {
  const { payload } = event;
  switch (event.type) {
    case 'homework.run_started':
      running(state, event);
      return state.say('workspaceDocument', payload.workspaceDocumentId);
    case 'homework.iteration_started':
      return iterationStarted(state, event);
    case 'homework.planned':
      return state.mark(F.planned, 1);
    case 'homework.plan_updated':
      return state.say('plan', payload.steps.length ? { version: payload.version, steps: payload.steps } : null);
    case 'homework.tool_call_result':
      return state.charges.addToolCall(state.journal, NONE);
    case 'homework.executor_started':
      return executorStarted(state, payload);
    case 'homework.executor_finished':
      return executorFinished(state, payload);
    case 'homework.repeat_detected':
      state.mark(F.repeats, payload.repeats);
      return state.say('repeated', payload.actions ?? []);
    case 'homework.scratchpad_appended':
      return state.say('entries', [...state.word('entries'), payload.markdown as string].slice(-KEPT_ENTRIES));
    case 'homework.iteration_completed':
      return iterationCompleted(state, event);
  }
}

function iterationStarted(state: State, event: StoredEvent): void {
  const row: IterationRow = {
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
  state.mark(F.iteration, row.iteration);
  state.mark(F.planned, 0);
  state.mark(F.executors, 0);
  state.say('phase', 'iterating');
  state.say('iterations', [...state.word('iterations'), row]);
}

function iterationCompleted(state: State, event: StoredEvent): void {
  const { payload } = event;
  const row: IterationRow = {
    run_id: event.runId,
    iteration: payload.iteration,
    status: 'completed',
    summary: payload.summary,
    progress: payload.progress,
    metrics: payload.metrics,
    artifacts: payload.artifacts,
    started_at: payload.startedAt,
    ended_at: event.timestamp,
  };
  const others = state.word('iterations').filter((known) => known.iteration !== row.iteration);
  state.say('iterations', [...others, row]);
  state.mark(F.noProgress, payload.metrics?.no_progress_streak ?? 0);
  state.mark(F.planned, 0);
  state.mark(F.executors, 0);
  if (payload.progress) {
    state.mark(F.repeats, 0);
    state.say('repeated', []);
  }
  const go = payload.verdict?.go;
  state.say('phase', go === 'wait' ? 'waiting' : go === 'stop' ? 'reporting' : 'iterating');
}

function executorStarted(state: State, payload: StoredEvent['payload']): void {
  state.count(F.executors, 1);
  const known = state.word('branches').find((branch) => branch.id === payload.branchId);
  const branch = {
    id: payload.branchId,
    title: payload.title,
    document_id: payload.scratchpadDocumentId,
    entries: known?.entries ?? [],
    working: true,
    ...(payload.agent ? { agent: payload.agent } : {}),
  };
  state.say('branches', [...state.word('branches').filter((other) => other !== known), branch]);
}

function executorFinished(state: State, payload: StoredEvent['payload']): void {
  // Without an entry it was over the limit and never ran.
  if (!payload.entry) return;
  state.count(F.executors, -1);
  const branches = state.word('branches').map((branch) => {
    if (branch.id !== payload.branchId) return branch;
    return { ...branch, working: false, entries: [...branch.entries, payload.entry.markdown].slice(-KEPT_BRANCH_ENTRIES) };
  });
  state.say('branches', branches);
}
