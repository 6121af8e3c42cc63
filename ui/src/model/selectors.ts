// Selectors: read the state as rows of the API. They change nothing.

import { metricsOf } from './charges';

import { NONE } from './nodes';
import type { NodeStatus } from '../api/shapes';
import type { Metrics, NodeColumns, NodeRow, RunRow, Snapshot, StepColumns, StepRow } from './rows';
import { FIGURE, type State, UNKNOWN } from './state';
import { isActive, isTerminal, NODE_STATUSES, ROLES, STEP_STATUSES } from './statuses';

export interface Stats {
  nodes: number;
  depth: number;
  by_status: Record<NodeStatus, number>;
  active: number;
  failed: number;
  blocked: number;
  artifacts: number;
}

export interface UnknownCall {
  effect: string;
  what: string;
  attempt: number;
}

export interface Moment {
  seq: number;
  type: string;
  at: string;
}

export function runRow(state: State, at: number): RunRow | null {
  const { brief } = state;
  if (brief === null) return null;
  const root = state.nodes.count > 0 ? { root_node_id: state.nodes.id.get(0) } : {};
  return {
    id: brief.id,
    kind: brief.kind,
    objective: brief.objective,
    scope: brief.scope,
    project_ids: brief.projectIds,
    status: state.status(),
    activity: activity(state),
    stop_reason: state.value('stopReason'),
    stop_detail: state.value('stopDetail'),
    iteration: state.figure(FIGURE.iteration),
    budgets: state.value('budgets'),
    metrics: metrics(state),
    plan: state.value('plan'),
    success_criteria: brief.successCriteria,
    questions: [...state.value('questions')],
    ...root,
    workspace_document_id: state.value('workspaceDocument'),
    workspace_project_id: brief.workspaceProject,
    report: state.value('report'),
    model: brief.model,
    warnings: brief.warnings,
    owner: brief.owner,
    ...(brief.agent ? { agent: brief.agent.handle, max_steps: brief.agent.maxSteps } : {}),
    created_at: moment(state.createdAt)!,
    started_at: moment(state.figure(FIGURE.started)),
    updated_at: moment(state.events.time.get(state.journal.at))!,
    ended_at: moment(state.figure(FIGURE.ended)),
    last_seq: at,
  };
}

function metrics(state: State): Metrics {
  const { charges } = state;
  return {
    ...metricsOf(charges.whole),
    tokens_presumed: charges.tokensPresumed,
    cost_presumed_usd: charges.presumedMicros / 1e6,
    cost_known: state.brief?.costKnown ?? true,
    running_ms: state.events.running.get(state.journal.at),
    tool_calls: charges.toolCalls,
    no_progress_streak: state.figure(FIGURE.noProgress),
    by_model: charges.modelsUsed(),
  };
}

function activity(state: State): string {
  const status = state.status();
  if (status === 'queued') return 'waiting for a worker';
  if (status === 'running' && state.value('providerWait') !== null) return 'waiting: provider';
  if (status === 'running' && state.brief?.kind === 'task') return stepping(state);
  if (status === 'running') return state.brief?.kind === 'tree' ? growing(state) : iterating(state);
  if (status !== 'waiting_on_user') return status.replaceAll('_', ' ');
  const open = state.value('questions').filter((question) => question.answer === null).length;
  return open === 1 ? 'waiting for an answer' : `waiting for ${open} answers`;
}

function stepping(state: State): string {
  const doing = state.value('phase') === 'reporting' ? 'looking back' : `step ${state.figure(FIGURE.iteration) + 1}`;
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
  const executors = state.figure(FIGURE.executors);
  const working = executors === 0 ? 'using tools' : executors === 1 ? '1 executor working' : `${executors} executors working`;
  const doing = {
    starting: 'starting',
    waiting: 'waiting for an answer',
    reporting: 'writing the report',
    ended: 'ended',
    iterating: state.figure(FIGURE.planned) ? working : 'planning',
  }[state.value('phase')];
  return `iteration ${state.figure(FIGURE.iteration)}: ${doing}${retrying(state)}`;
}

function retrying(state: State): string {
  return state.figure(FIGURE.backingOff) > 0 ? ' (retrying)' : '';
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
    retryable: nodes.retryable.get(at) === 1,
    question: nodes.question.get(at),
    artifacts: nodes.artifacts.get(at),
    in_flight: nodes.inFlight.get(at),
    scratchpad_doc_id: nodes.pad.get(at),
    scratchpad_tail: nodes.tail.get(at),
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

export function active(state: State): number[] {
  const found: number[] = [];
  for (let at = 0; at < state.nodes.count; at++) if (isActive(state.nodes.status.get(at))) found.push(at);
  return found;
}

export function stats(state: State): Stats {
  const { nodes } = state;
  const by_status = Object.fromEntries(NODE_STATUSES.map((name, status) => [name, nodes.counts[status]]));
  let [depth, artifacts, working] = [0, 0, 0];
  for (let at = 0; at < nodes.count; at++) {
    depth = Math.max(depth, nodes.depth.get(at));
    artifacts += nodes.artifacts.get(at);
  }
  NODE_STATUSES.forEach((_, status) => (working += isActive(status) ? nodes.counts[status] : 0));
  return {
    nodes: nodes.count,
    depth,
    by_status: by_status as Record<NodeStatus, number>,
    active: working,
    failed: by_status.failed,
    blocked: by_status.blocked,
    artifacts,
  };
}

export function stepRows(state: State, node: number): StepRow[] {
  if (node === NONE) return [];
  return state.steps.plan(node).steps.map((step) => state.steps.row(step, (child) => state.nodes.id.get(child)));
}

export function unknownCalls(state: State): UnknownCall[] {
  const { calls } = state;
  if (state.figure(FIGURE.unknown) === 0) return [];
  return calls.names.list.flatMap((effect, call) => (calls.state.get(call) === UNKNOWN ? [{ effect, what: calls.what.get(call), attempt: calls.attempt.get(call) }] : []));
}

export function moments(state: State, base: number, at: number, node: number): Moment[] {
  const found: Moment[] = [];
  if (node === NONE) return found;
  const { events } = state;
  for (let step = 1; step <= at - base; step++) {
    if (events.node.get(step) !== node) continue;
    found.push({ seq: base + step, type: events.types.list[events.type.get(step)], at: moment(events.time.get(step))! });
  }
  return found;
}

export function snapshot(state: State, at: number, last: number): Snapshot | null {
  const run = runRow(state, at);
  if (run === null) return null;
  const tree = run.kind === 'tree';
  return {
    seq: at,
    last_seq: last,
    at: run.updated_at,
    run,
    iterations: [...state.value('iterations')],
    nodes: tree ? nodeColumns(state) : null,
    steps: tree ? stepColumns(state) : null,
  };
}

function nodeColumns(state: State): NodeColumns {
  const { nodes } = state;
  const { count } = nodes;
  const each = <T>(of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at));
  const place = (at: number) => (at === NONE ? null : at);
  const since = (time: number) => (Number.isNaN(time) ? null : time - state.createdAt);
  return {
    count,
    id: each((at) => nodes.id.get(at)),
    parent: each((at) => place(nodes.parent.get(at))),
    title: each((at) => nodes.title.get(at)),
    status: each((at) => NODE_STATUSES[nodes.status.get(at)]),
    role: each((at) => ROLES[nodes.role.get(at)]),
    paused: each((at) => nodes.paused.get(at) === 1),
    depth: each((at) => nodes.depth.get(at)),
    band: each((at) => nodes.band.get(at)),
    step: each((at) => nodes.step.get(at)),
    step_id: each((at) => nodes.stepId.get(at)),
    generation: each((at) => nodes.generation.get(at)),
    retry_of: each((at) => place(nodes.retryOf.get(at))),
    message: each((at) => nodes.message.get(at)),
    outcome: each((at) => nodes.outcome.get(at)),
    error: each((at) => nodes.error.get(at)),
    question: each((at) => nodes.question.get(at)),
    artifacts: each((at) => nodes.artifacts.get(at)),
    in_flight: each((at) => nodes.inFlight.get(at)),
    cost_usd: each((at) => nodes.costMicros.get(at) / 1e6),
    tokens_in: each((at) => nodes.tokensIn.get(at)),
    tokens_out: each((at) => nodes.tokensOut.get(at)),
    llm_calls: each((at) => nodes.modelCalls.get(at)),
    tool_calls: each((at) => nodes.toolCalls.get(at)),
    created_ms: each((at) => since(nodes.created.get(at))!),
    started_ms: each((at) => since(nodes.started.get(at))),
    ended_ms: each((at) => since(nodes.ended.get(at))),
  };
}

function stepColumns(state: State): StepColumns {
  const { steps, nodes } = state;
  const ghosts: number[] = [];
  for (let at = 0; at < nodes.count; at++) ghosts.push(...steps.plan(at).steps.filter((step) => steps.child.get(step) === NONE));
  return {
    count: ghosts.length,
    node: ghosts.map((step) => steps.node.get(step)),
    step_id: ghosts.map((step) => steps.id.get(step)),
    band: ghosts.map((step) => steps.band.get(step)),
    step: ghosts.map((step) => steps.step.get(step)),
    title: ghosts.map((step) => steps.title.get(step)),
    status: ghosts.map((step) => STEP_STATUSES[steps.status.get(step)]),
  };
}

function moment(time: number): string | null {
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
