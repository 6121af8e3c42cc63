// The fold of tree events: nodes, plans, artifacts.

import { running } from './fold-run';
import { NONE } from './nodes';
import type { ArtifactRow, EventOf, StoredEvent } from './rows';
import type { State } from './state';
import { CANCELED, COMPLETED, FAILED, NODE_STATUSES, numberOf, PLANNING, ROLES, SUPERSEDED, WAITING } from './statuses';

const NO_DOCUMENT = '00000000-0000-0000-0000-000000000000';

export function foldTree(state: State, event: StoredEvent, time: number): void {
  if (event.type === 'tree.run_started') return running(state, event);
  if (event.type === 'tree.node_created') return created(state, event, time);
  const { nodes, undoLog } = state;
  const node = state.node(event);
  if (node === NONE) return;
  switch (event.type) {
    case 'tree.scratchpad_linked':
      undoLog.setValue(nodes.scratchpad, node, event.payload.scratchpadDocId === NO_DOCUMENT ? null : event.payload.scratchpadDocId);
      if (nodes.parent.get(node) === NONE) state.setValue('workspaceDocument', event.payload.scratchpadDocId);
      break;
    case 'tree.scratchpad_updated':
      undoLog.setValue(nodes.scratchpadTail, node, event.payload.tailPreview);
      break;
    case 'tree.node_status':
      undoLog.setNumber(nodes.status, node, numberOf(NODE_STATUSES, event.payload.status, nodes.status.get(node)));
      undoLog.setNumber(nodes.role, node, numberOf(ROLES, event.payload.role, nodes.role.get(node)));
      undoLog.setValue(nodes.message, node, event.payload.message ?? null);
      if (nodes.status.get(node) === SUPERSEDED) restateAll(state, node);
      break;
    case 'tree.plan_created':
      state.steps.planned(undoLog, node, event.payload);
      nodes.restructured.add(node);
      break;
    case 'tree.step_status':
      state.steps.setStatus(undoLog, node, event.payload.stepId, event.payload.status);
      nodes.restructured.add(node);
      break;
    case 'tree.node_delegated':
      delegated(state, node, event.payload);
      break;
    case 'tree.tool_call_result':
      state.charges.addToolCall(undoLog, node);
      break;
    case 'tree.artifact_created':
      registered(state, node, event.payload);
      break;
    case 'tree.replan_requested':
      nextGeneration(state, node, nodes.generation.get(node) + 1);
      break;
    case 'tree.node_completed':
      ended(state, node, COMPLETED, time);
      undoLog.setValue(nodes.outcome, node, event.payload.outcome);
      undoLog.setValue(nodes.shortfall, node, shortfallOf(event.payload));
      break;
    case 'tree.node_failed':
      ended(state, node, FAILED, time);
      undoLog.setValue(nodes.error, node, event.payload.error);
      undoLog.setNumber(nodes.retryable, node, event.payload.retryable ? 1 : 0);
      break;
    case 'tree.node_canceled':
      ended(state, node, CANCELED, time);
      undoLog.setValue(nodes.error, node, 'canceled by a person');
      break;
    case 'tree.node_reopened':
      nextGeneration(state, node, event.payload.generation);
      // A retried root begins anew; its status follows.
      if (event.payload.causedBy !== nodes.id.get(node)) undoLog.setNumber(nodes.status, node, WAITING);
      break;
    case 'tree.node_stale':
      undoLog.setNumber(nodes.stale, node, 1);
      break;
    case 'tree.node_paused':
      undoLog.setNumber(nodes.paused, node, 1);
      break;
    case 'tree.node_resumed':
      undoLog.setNumber(nodes.paused, node, 0);
      break;
    default:
      return;
  }
  nodes.restated.add(node);
}

function created(state: State, event: EventOf<'tree.node_created'>, time: number): void {
  if (!event.nodeId || state.node(event) !== NONE) return;
  const { payload } = event;
  if (state.nodes.count === 0) state.setValue('workspaceDocument', NO_DOCUMENT);
  const retryOf = state.nodes.number(payload.retryOf);
  state.nodes.add(state.undoLog, {
    id: event.nodeId,
    title: payload.title,
    stepId: payload.stepId ?? null,
    parent: state.nodes.number(event.parentNodeId),
    retryOf,
    depth: payload.depth,
    band: payload.bandIndex,
    step: payload.stepIndex,
    status: PLANNING,
    created: time,
  });
  if (retryOf !== NONE) restateAll(state, retryOf);
}

/** What is replaced looks different, with everything below it. */
function restateAll({ nodes }: State, node: number): void {
  for (const below of nodes.subtree(node)) nodes.restated.add(below);
}

/** Earlier versions wrote why a result was partial where its evidence belongs. */
function shortfallOf({ outcome, shortfall, evidence }: EventOf<'tree.node_completed'>['payload']): string | null {
  return shortfall ?? (outcome === 'partial' ? (evidence ?? null) : null);
}

function delegated(state: State, node: number, payload: EventOf<'tree.node_delegated'>['payload']): void {
  const child = state.nodes.number(payload.childNodeId);
  if (child === NONE) return;
  state.steps.delegated(state.undoLog, node, payload.stepId, child);
  state.nodes.restructured.add(node);
}

function registered(state: State, node: number, payload: EventOf<'tree.artifact_created'>['payload']): void {
  const { nodes, undoLog } = state;
  const artifact: ArtifactRow = {
    artifact_id: payload.artifactId,
    artifact_type: payload.artifactType,
    document_id: payload.documentId ?? null,
    label: payload.label ?? null,
    title: payload.title ?? null,
    own: payload.own === true,
  };
  undoLog.setNumber(nodes.artifacts, node, nodes.artifacts.get(node) + 1);
  undoLog.setValue(state.artifacts, node, [...state.artifacts.get(node), artifact]);
}

function ended(state: State, node: number, status: number, time: number): void {
  const { nodes, undoLog } = state;
  undoLog.setNumber(nodes.status, node, status);
  undoLog.setNumber(nodes.ended, node, time);
  undoLog.setValue(nodes.error, node, null);
  undoLog.setValue(nodes.outcome, node, null);
  undoLog.setValue(nodes.shortfall, node, null);
}

function nextGeneration(state: State, node: number, generation: number): void {
  const { nodes, undoLog } = state;
  undoLog.setNumber(nodes.generation, node, generation);
  undoLog.setNumber(nodes.earlierArtifacts, node, state.artifacts.get(node).length);
  undoLog.setNumber(nodes.stale, node, 0);
  undoLog.setValue(nodes.outcome, node, null);
  undoLog.setValue(nodes.shortfall, node, null);
  undoLog.setValue(nodes.error, node, null);
  undoLog.setValue(nodes.message, node, null);
  undoLog.setNumber(nodes.ended, node, NaN);
}
