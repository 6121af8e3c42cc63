// Reads a snapshot into a state. A snapshot lacks the calls in flight and the scratchpad texts: they come with
// later events, or with the whole log when somebody looks back.

import { addTo, micros, sumsOf } from './charges';
import { type Check, endStateBehind } from './fold-criteria';
import { NONE } from './nodes';
import type { Criterion, NodeColumns, StepColumns } from '../api/shapes';
import type { Snapshot } from './rows';
import { PAUSED_AT_NODES, type Phase, State } from './state';
import { NODE_STATUSES, numberOf, ROLES, STEP_STATUSES } from './statuses';

export function startFrom(snapshot: Snapshot): State {
  const state = new State();
  startRun(state, snapshot);
  if (snapshot.nodes) startNodes(state, snapshot.nodes);
  if (snapshot.nodes && snapshot.steps) startSteps(state, snapshot.nodes, snapshot.steps);
  return state;
}

function startRun(state: State, { run, iterations }: Snapshot): void {
  const { id, kind, objective, scope, project_ids, model, warnings, owner, workspace_project_id, agent, max_steps } = run;
  state.brief = { id, kind, objective, scope, project_ids, model, warnings, owner, workspace_project_id, ...(agent ? { agent, max_steps } : {}) };
  state.costKnown = run.metrics.cost_known;
  state.createdAt = Date.parse(run.created_at);
  state.calls.orphansBackingOff = run.activity.endsWith('(retrying)') ? 1 : 0;
  state.init({
    // A paused run does not say what it was doing; it counts as running.
    status: run.status === 'paused' ? 'running' : run.status,
    paused: run.status !== 'paused' ? null : run.activity === PAUSED_AT_NODES ? 'nodes' : 'run',
    stopReason: run.stop_reason,
    stopDetail: run.stop_detail,
    startedAt: run.started_at,
    endedAt: run.ended_at,
    budgets: run.budgets,
    questions: run.questions,
    criteria: run.success_criteria,
    check: checkIn(run.success_criteria),
    endState: endStateBehind(run.outcome, run.status === 'completed', run.success_criteria),
    plan: run.plan,
    report: run.report,
    providerWait: run.activity === 'waiting: provider' ? {} : null,
    workspaceDocument: run.workspace_document_id,
    backingOff: state.calls.orphansBackingOff,
    phase: phaseIn(run.activity, run.status),
    iteration: run.iteration,
    planned: /using tools|executors? working/.test(run.activity),
    executors: Number(/(\d{1,6}) executors? working/.exec(run.activity)?.[1] ?? 0),
    noProgress: run.metrics.no_progress_streak,
    iterations,
  });
  state.events.time.put(0, Date.parse(run.updated_at));
  state.events.running.put(0, run.metrics.running_ms);
  startCharges(state, run.metrics);
}

function startCharges(state: State, metrics: Snapshot['run']['metrics']): void {
  const { charges } = state;
  addTo(charges.whole, sumsOf(metrics));
  if (metrics.verifier) addTo(charges.verifier, sumsOf(metrics.verifier));
  charges.tokensPresumed = metrics.tokens_presumed;
  charges.presumedMicros = micros(metrics.cost_presumed_usd);
  charges.toolCalls = metrics.tool_calls;
  for (const [model, sums] of Object.entries(metrics.by_model)) charges.startFrom(model, sums);
}

/** The check in progress, with what it still has to judge; what it has read already shows in none of the rows. */
function checkIn(criteria: readonly Criterion[]): Check | null {
  const open = criteria.filter((known) => known.checking).map((known) => known.id);
  return open.length === 0 ? null : { citations: [], evidence: [], forced: true, read: true, open };
}

function phaseIn(activity: string, status: string): Phase {
  if (status === 'completed' || status === 'stopped' || status === 'canceled') return 'ended';
  if (status === 'waiting_on_user' || activity.includes('waiting for an answer')) return 'waiting';
  if (activity.includes('writing the report')) return 'reporting';
  return activity.includes('starting') || status === 'queued' ? 'starting' : 'iterating';
}

function startNodes(state: State, columns: NodeColumns): void {
  const { nodes } = state;
  const since = (ms: number | null) => (ms === null ? NaN : state.createdAt + ms);
  nodes.resize(columns.count);
  for (let at = 0; at < columns.count; at++) {
    nodes.know(columns.id[at], at);
    nodes.id.put(at, columns.id[at]);
    nodes.title.put(at, columns.title[at]);
    nodes.stepId.put(at, columns.step_id[at]);
    nodes.message.put(at, columns.message[at]);
    nodes.outcome.put(at, columns.outcome[at]);
    nodes.error.put(at, columns.error[at]);
    nodes.question.put(at, columns.question[at]);
    nodes.parent.put(at, columns.parent[at] ?? NONE);
    const retryOf = columns.retry_of[at] ?? NONE;
    nodes.retryOf.put(at, retryOf);
    if (retryOf !== NONE) nodes.replacedBy.put(retryOf, at);
    nodes.depth.put(at, columns.depth[at]);
    nodes.band.put(at, columns.band[at]);
    nodes.step.put(at, columns.step[at]);
    nodes.role.put(at, numberOf(ROLES, columns.role[at], 0));
    nodes.paused.put(at, columns.paused[at] ? 1 : 0);
    nodes.stale.put(at, columns.stale[at] ? 1 : 0);
    nodes.generation.put(at, columns.generation[at]);
    nodes.artifacts.put(at, columns.artifacts[at]);
    nodes.inFlight.put(at, columns.in_flight[at]);
    nodes.created.put(at, since(columns.created_ms[at]));
    nodes.started.put(at, since(columns.started_ms[at]));
    nodes.ended.put(at, since(columns.ended_ms[at]));
    nodes.costMicros.put(at, micros(columns.cost_usd[at]));
    nodes.tokensIn.put(at, columns.tokens_in[at]);
    nodes.tokensOut.put(at, columns.tokens_out[at]);
    nodes.modelCalls.put(at, columns.llm_calls[at]);
    nodes.toolCalls.put(at, columns.tool_calls[at]);
    nodes.link(null, at, columns.parent[at] ?? NONE);
    nodes.status.put(at, numberOf(NODE_STATUSES, columns.status[at], 0));
    state.calls.inFlight += columns.in_flight[at];
    state.calls.orphansInFlight += columns.in_flight[at];
  }
}

/** A snapshot lists delegated steps only as nodes, so that part of each plan is rebuilt from the children. */
function startSteps(state: State, columns: NodeColumns, ghosts: StepColumns): void {
  const { steps } = state;
  const plans = new Map<number, number[]>();
  const put = (node: number, step: number) => plans.set(node, [...(plans.get(node) ?? []), step]);
  for (let at = 0; at < columns.count; at++) {
    const [parent, id] = [columns.parent[at], columns.step_id[at]];
    if (parent === null || id === null) continue;
    const earlier = (plans.get(parent) ?? []).find((step) => steps.id.get(step) === id);
    const step = earlier ?? steps.add(parent, id, columns.title[at], columns.band[at], columns.step[at], 0);
    steps.child.put(step, at);
    steps.status.put(step, numberOf(STEP_STATUSES, columns.status[at], numberOf(STEP_STATUSES, 'running', 0)));
    if (earlier === undefined) put(parent, step);
  }
  for (let at = 0; at < ghosts.count; at++) {
    const status = numberOf(STEP_STATUSES, ghosts.status[at], 0);
    put(ghosts.node[at], steps.add(ghosts.node[at], ghosts.step_id[at], ghosts.title[at], ghosts.band[at], ghosts.step[at], status));
  }
  for (const [node, list] of plans) {
    const order = (step: number) => steps.band.get(step) * 1e6 + steps.step.get(step);
    steps.startWith(
      node,
      list.sort((a, b) => order(a) - order(b)),
    );
  }
}
