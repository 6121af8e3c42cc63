// A run of the page as the API's snapshot, so that tests can compare it with what the server answers.

import type { NodeColumns, StepColumns } from '../src/api/shapes';
import { NONE } from '../src/model/nodes';
import type { Run, Snapshot } from '../src/model/run';
import type { State } from '../src/model/state';
import { NODE_STATUSES, ROLES, STEP_STATUSES } from '../src/model/statuses';

export function snapshotOf(folded: Run): Snapshot | null {
  const { state, at, head } = folded;
  const run = folded.row();
  if (run === null) return null;
  const tree = run.kind === 'tree';
  return {
    seq: at,
    last_seq: head,
    at: run.updated_at,
    run,
    iterations: [...folded.iterations()],
    nodes: tree ? (nodeColumns(state) as NodeColumns) : null,
    steps: tree ? stepColumns(state) : null,
  };
}

/** The page keeps neither presumed tokens nor the number of documents of each node. */
function nodeColumns(state: State): Omit<NodeColumns, 'documents' | 'tokens_presumed'> {
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
    stale: each((at) => nodes.stale.get(at) === 1),
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
