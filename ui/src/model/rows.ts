// Rows that the run model gives to pages, and stored events as the folds read them.

import type { EventPayloads, Event } from '../api/events';
import type { Artifact, Iteration, Metrics, NodeStatus, Outcome, Role, Run, Snapshot as Given, StepStatus } from '../api/shapes';

export type { Metrics, ModelMetrics, NodeColumns, PlanStep, Question, StepColumns } from '../api/shapes';

type WithoutHash<E> = E extends unknown ? Omit<E, 'hash' | 'actor'> & Partial<Pick<Event, 'hash' | 'actor'>> : never;
/** One stored event; its type says which payload it has. A log may also hold types that this page does not know: folds ignore them. */
export type StoredEvent = WithoutHash<Event>;
/** The stored event of one type. */
export type EventOf<Type extends keyof EventPayloads> = Extract<StoredEvent, { type: Type }>;

/** The run object, without `head`: nobody who looks at a run checks its hash. */
export type RunRow = Omit<Run, 'head'>;
export type IterationRow = Iteration;
export interface Snapshot extends Omit<Given, 'run'> {
  run: RunRow;
}

/** One node as a page shows it; money, tokens and calls are of its whole subtree. */
export interface NodeRow extends Pick<Metrics, 'cost_usd' | 'tokens_in' | 'tokens_out' | 'llm_calls' | 'tool_calls'> {
  id: string;
  ordinal: number;
  parent_node_id: string | null;
  title: string;
  status: NodeStatus;
  role: Role;
  paused: boolean;
  depth: number;
  band_index: number;
  step_index: number;
  step_id: string | null;
  generation: number;
  retry_of: string | null;
  message: string | null;
  outcome: Outcome | null;
  error: string | null;
  retryable: boolean;
  question: string | null;
  artifacts: number;
  in_flight: number;
  scratchpad_doc_id: string | null;
  scratchpad_tail: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  /** Nodes in its subtree, itself included, and how many of them are at work, blocked, failed. */
  subtree: { nodes: number; unfinished: number; blocked: number; failed: number };
}

export interface StepRow {
  id: string;
  band_index: number;
  step_index: number;
  title: string;
  status: StepStatus;
  child_node_id: string | null;
}

export interface ArtifactRow extends Pick<Artifact, 'document_id'> {
  artifact_id: string;
  artifact_type: string;
  label: string | null;
}

export interface MessageRow {
  id: string;
  text: string;
  node_id: string | null;
  lane: string;
  delivered: boolean;
}
