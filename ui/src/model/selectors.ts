// Selectors: read the state as rows of the API. They change nothing.

import type { Metrics } from '../api/shapes';
import { metricsOf } from './charges';
import { outcome } from './fold-criteria';
import { NONE } from './nodes';
import type { NodeRow, RunRow, StepRow } from './rows';
import { PAUSED_AT_NODES, type State, UNKNOWN } from './state';
import { COMPLETED, FAILED, isActive, isTerminal, NODE_STATUSES, ROLES } from './statuses';

/** Numbers of nodes. */
export interface Stats {
  nodes: number;
  completed: number;
  /** Completed in part; they do not count as completed. */
  partial: number;
  active: number;
  failed: number;
}

export interface UnknownCall {
  effect: string;
  what: string;
  attempt: number;
}

export function runRow(state: State, at: number): RunRow | null {
  const { brief } = state;
  if (brief === null) return null;
  const root = state.nodes.count > 0 ? { root_node_id: state.nodes.id.get(0) } : {};
  return {
    ...brief,
    status: state.status(),
    activity: activity(state),
    outcome: outcome(state),
    success_criteria: [...state.value('criteria')],
    stop_reason: state.value('stopReason'),
    stop_detail: state.value('stopDetail'),
    iteration: state.value('iteration'),
    budgets: state.value('budgets'),
    metrics: metrics(state),
    plan: state.value('plan'),
    questions: [...state.value('questions')],
    ...root,
    ...(state.value('paused') === 'nodes' ? { paused_nodes: pausedNodes(state) } : {}),
    workspace_document_id: state.value('workspaceDocument'),
    report: state.value('report'),
    created_at: moment(state.createdAt)!,
    started_at: state.value('startedAt'),
    updated_at: moment(state.events.time.get(state.undoLog.at))!,
    ended_at: state.value('endedAt'),
    last_seq: at,
  };
}

function metrics(state: State): Metrics {
  const { charges } = state;
  return {
    ...metricsOf(charges.whole),
    tokens_presumed: charges.tokensPresumed,
    cost_presumed_usd: charges.presumedMicros / 1e6,
    cost_known: state.costKnown,
    running_ms: state.events.running.get(state.undoLog.at),
    tool_calls: charges.toolCalls,
    no_progress_streak: state.value('noProgress'),
    by_model: charges.modelsUsed(),
    ...(Object.values(charges.verifier).some((sum) => sum !== 0) ? { verifier: metricsOf(charges.verifier) } : {}),
  };
}

function activity(state: State): string {
  const status = state.status();
  if (status === 'queued') return 'waiting for a worker';
  if (state.value('check') !== null && status !== 'paused') return 'checking the criteria';
  if (status === 'running' && state.value('providerWait') !== null) return 'waiting: provider';
  if (status === 'running' && state.brief?.kind === 'task') return stepping(state);
  if (status === 'running') return state.brief?.kind === 'tree' ? growing(state) : iterating(state);
  if (status === 'paused' && state.value('paused') === 'nodes') return PAUSED_AT_NODES;
  if (status !== 'waiting_on_user') return status.replaceAll('_', ' ');
  const open = state.value('questions').filter((question) => question.answer === null).length;
  return open === 1 ? 'waiting for an answer' : `waiting for ${open} answers`;
}

function stepping(state: State): string {
  const doing = state.value('phase') === 'reporting' ? 'looking back' : `step ${state.value('iteration') + 1}`;
  return `${doing}${retrying(state)}`;
}

function growing(state: State): string {
  const { nodes } = state;
  if (nodes.count === 0) return 'starting';
  let ended = 0;
  const doing: string[] = [];
  NODE_STATUSES.forEach((name, status) => {
    if (isTerminal(status)) ended += nodes.counts[status];
    else if (nodes.counts[status] > 0) doing.push(`${nodes.counts[status]} ${name}`);
  });
  return `${ended} of ${nodes.count} nodes ended; ${doing.join(', ')}${retrying(state)}`;
}

function iterating(state: State): string {
  const executors = state.value('executors');
  const working = executors === 0 ? 'using tools' : executors === 1 ? '1 executor working' : `${executors} executors working`;
  const doing = {
    starting: 'starting',
    waiting: 'waiting for an answer',
    reporting: 'writing the report',
    ended: 'ended',
    iterating: state.value('planned') ? working : 'planning',
  }[state.value('phase')];
  return `iteration ${state.value('iteration')}: ${doing}${retrying(state)}`;
}

function retrying(state: State): string {
  return state.value('backingOff') > 0 ? ' (retrying)' : '';
}

export function nodeRow(state: State, at: number): NodeRow {
  const { nodes } = state;
  const idOf = (node: number) => (node === NONE ? null : nodes.id.get(node));
  return {
    id: nodes.id.get(at),
    ordinal: at,
    parent_node_id: idOf(nodes.parent.get(at)),
    title: nodes.title.get(at),
    status: NODE_STATUSES[nodes.status.get(at)],
    role: ROLES[nodes.role.get(at)],
    paused: nodes.paused.get(at) === 1,
    depth: nodes.depth.get(at),
    band_index: nodes.band.get(at),
    step_index: nodes.step.get(at),
    step_id: nodes.stepId.get(at),
    generation: nodes.generation.get(at),
    retry_of: idOf(nodes.retryOf.get(at)),
    message: nodes.message.get(at),
    outcome: nodes.outcome.get(at),
    error: nodes.error.get(at),
    shortfall: nodes.shortfall.get(at),
    retryable: nodes.retryable.get(at) === 1,
    stale: nodes.stale.get(at) === 1,
    current: nodes.isCurrent(at),
    replaced_by: idOf(nodes.replacedBy.get(at)),
    question: nodes.question.get(at),
    artifacts: nodes.artifacts.get(at),
    in_flight: nodes.inFlight.get(at),
    scratchpad_doc_id: nodes.scratchpad.get(at),
    scratchpad_tail: nodes.scratchpadTail.get(at),
    cost_usd: nodes.costMicros.get(at) / 1e6,
    tokens_in: nodes.tokensIn.get(at),
    tokens_out: nodes.tokensOut.get(at),
    llm_calls: nodes.modelCalls.get(at),
    tool_calls: nodes.toolCalls.get(at),
    created_at: moment(nodes.created.get(at))!,
    started_at: moment(nodes.started.get(at)),
    ended_at: moment(nodes.ended.get(at)),
    subtree: {
      nodes: nodes.total.get(at),
      unfinished: nodes.unfinished.get(at),
      blocked: nodes.blocked.get(at),
      failed: nodes.failed.get(at),
    },
  };
}

/** The nodes at work, in the order of the plans. */
export function active({ nodes }: State): number[] {
  const found: number[] = [];
  const look = (at: number): void => {
    if (isActive(nodes.status.get(at))) found.push(at);
    // Whole branches are over: nothing in them is looked at.
    for (const child of nodes.children(at)) if (nodes.unfinished.get(child) > 0) look(child);
  };
  if (nodes.count > 0) look(0);
  return found;
}

/** The nodes whose pause holds the run up. */
function pausedNodes({ nodes }: State): string[] {
  const found: string[] = [];
  for (let at = 0; at < nodes.count; at++) if (nodes.paused.get(at) === 1 && !isTerminal(nodes.status.get(at))) found.push(nodes.id.get(at));
  return found;
}

export function stats(state: State): Stats {
  const { count, counts, outcome } = state.nodes;
  const active = counts.reduce((sum, nodes, status) => sum + (isActive(status) ? nodes : 0), 0);
  return { nodes: count, completed: counts[COMPLETED] - outcome.partial, partial: outcome.partial, active, failed: counts[FAILED] };
}

export function stepRows(state: State, node: number): StepRow[] {
  if (node === NONE) return [];
  return state.steps.plan(node).steps.map((step) => state.steps.row(step, state.nodes));
}

export function unknownCalls(state: State): UnknownCall[] {
  const { calls } = state;
  if (state.value('unknown') === 0) return [];
  return calls.names.list.flatMap((effect, call) => (calls.state.get(call) === UNKNOWN ? [{ effect, what: calls.what.get(call), attempt: calls.attempt.get(call) }] : []));
}

/** The events of a node by their place in the event index. */
export function eventsOf({ events, undoLog }: State, node: number): number[] {
  const found: number[] = [];
  for (let event = 1; event <= undoLog.at; event++) if (node !== NONE && events.node.get(event) === node) found.push(event);
  return found;
}

function moment(time: number): string | null {
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
