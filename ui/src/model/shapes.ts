// What the server says, as far as the model of a run reads it. Names are the protocol's.

import type { NodeStatus, Role, StepStatus } from './words';

/** One stored event. Payloads are read field by field: a log may hold types and fields this page has never heard of. */
export interface StoredEvent {
  runId: string;
  seq: number;
  nodeId?: string;
  parentNodeId?: string;
  type: string;
  timestamp: string;
  actor?: { kind: string; id?: string };
  hash?: string;
  payload: any;
}

export interface ModelMetrics {
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  cost_usd: number;
  llm_calls: number;
}

export interface Metrics extends ModelMetrics {
  tokens_presumed: number;
  cost_presumed_usd: number;
  cost_known: boolean;
  running_ms: number;
  tool_calls: number;
  no_progress_streak: number;
  by_model: Record<string, ModelMetrics>;
}

export interface Question {
  id: string;
  node_id?: string;
  text: string;
  options: string[];
  deadline_at: string | null;
  default: string | null;
  answer: string | null;
  asked_at: string;
  answered_at: string | null;
}

export interface PlanStep {
  id: string;
  title: string;
  status: 'pending' | 'doing' | 'done' | 'blocked';
  owner: Role;
  iteration_last_touched: number;
}

/** The run object, without `head`: nobody who looks at a run checks its hash. */
export interface RunRow {
  id: string;
  kind: string;
  objective: string;
  scope: string;
  project_ids: string[];
  status: string;
  activity: string;
  stop_reason: string | null;
  stop_detail: string | null;
  iteration: number;
  budgets: Record<string, number | null>;
  metrics: Metrics;
  plan: { version: number; steps: PlanStep[] } | null;
  success_criteria: { id: string; text: string }[];
  questions: Question[];
  root_node_id?: string;
  workspace_document_id: string | null;
  workspace_project_id: string;
  report: unknown;
  model: string;
  warnings: string[];
  agent?: string;
  max_steps?: number;
  owner: string;
  created_at: string;
  started_at: string | null;
  updated_at: string;
  ended_at: string | null;
  last_seq: number;
}

export interface IterationRow {
  run_id: string;
  iteration: number;
  status: 'running' | 'completed';
  summary: string;
  progress: boolean;
  metrics: Metrics | null;
  artifacts: Record<string, { id: string; title: string }[]> | null;
  started_at: string;
  ended_at: string | null;
}

/** Nodes as parallel arrays in order of creation; `parent` and `retry_of` are places in them. */
export interface NodeColumns {
  count: number;
  id: string[];
  parent: (number | null)[];
  title: string[];
  status: NodeStatus[];
  role: Role[];
  paused: boolean[];
  depth: number[];
  band: number[];
  step: number[];
  step_id: (string | null)[];
  generation: number[];
  retry_of: (number | null)[];
  message: (string | null)[];
  outcome: (string | null)[];
  error: (string | null)[];
  question: (string | null)[];
  artifacts: number[];
  in_flight: number[];
  cost_usd: number[];
  tokens_in: number[];
  tokens_out: number[];
  llm_calls: number[];
  tool_calls: number[];
  created_ms: number[];
  started_ms: (number | null)[];
  ended_ms: (number | null)[];
}

/** Steps of the newest plans that no node works on. */
export interface StepColumns {
  count: number;
  node: number[];
  step_id: string[];
  band: number[];
  step: number[];
  title: string[];
  status: StepStatus[];
}

export interface Snapshot {
  seq: number;
  last_seq: number;
  at: string;
  run: RunRow;
  iterations: IterationRow[];
  nodes: NodeColumns | null;
  steps: StepColumns | null;
}

/** One node as a page shows it; money, tokens and calls are of its whole subtree. */
export interface NodeRow {
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
  outcome: string | null;
  error: string | null;
  retryable: boolean;
  question: string | null;
  artifacts: number;
  in_flight: number;
  scratchpad_doc_id: string | null;
  scratchpad_tail: string | null;
  cost_usd: number;
  tokens_in: number;
  tokens_out: number;
  llm_calls: number;
  tool_calls: number;
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

export interface ArtifactRow {
  artifact_id: string;
  artifact_type: string;
  document_id: string | null;
  label: string | null;
}

export interface MessageRow {
  id: string;
  text: string;
  node_id: string | null;
  lane: string;
  delivered: boolean;
}
