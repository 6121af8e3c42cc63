// What the server answers: the objects of the HTTP API, field by field as they are sent.

import type { Metrics, Question } from '../model/shapes';

// Parts of the run object that the live projection keeps too.
export type { Metrics, Question };

export type Kind = 'homework' | 'tree' | 'task';
export type Status = 'queued' | 'running' | 'waiting_on_user' | 'paused' | 'completed' | 'stopped' | 'canceled' | 'failed';

export interface Budgets {
  max_cost_usd: number | null;
  max_tokens: number | null;
  max_wall_ms: number | null;
  max_iterations: number;
  max_depth: number;
  max_nodes: number;
  max_bands: number;
  max_steps_per_band: number;
  max_replans: number;
  max_parallel: number;
  no_progress_limit: number;
  repeat_limit: number;
}
export type Limit = keyof Budgets;
export type BudgetPatch = Partial<Record<Limit, number>>;

export interface PlanStep {
  id: string;
  title: string;
  status: string;
  owner?: string;
  iteration_last_touched?: number;
}

export interface Run {
  id: string;
  kind: Kind;
  objective: string;
  scope: 'global' | 'project' | 'multi_project';
  project_ids: string[];
  status: Status;
  activity: string;
  stop_reason: string | null;
  stop_detail: string | null;
  iteration: number;
  budgets: Budgets;
  metrics: Metrics;
  plan: { version: number; steps: PlanStep[] } | null;
  success_criteria: { id: string; text: string }[];
  questions: Question[];
  root_node_id?: string | null;
  workspace_document_id: string | null;
  workspace_project_id: string;
  report: Report | null;
  model: string;
  warnings: string[];
  /** Who a task was given to, and how far they may go. */
  agent?: string;
  max_steps?: number;
  created_at: string;
  started_at: string | null;
  updated_at: string;
  ended_at: string | null;
  last_seq: number;
}

export interface Named {
  id: string;
  title: string;
}

export interface Artifacts {
  created_documents: Named[];
  updated_documents: Named[];
  created_tasks: Named[];
  updated_tasks: Named[];
  created_edges: Named[];
}

export interface Report {
  title: string;
  summary: string;
  findings: string[];
  not_done: string[];
  prose_by?: string;
  status: string;
  stop_reason: string | null;
  stop_detail?: string | null;
  evidence?: { criterion: string | null; text: string; verified: boolean }[];
  /** What it made, `doc:<id>` or `task:<id>`. */
  artifacts?: { ref: string; title: string }[];
  /** A tree's own envelope: the first document is the main result. */
  result?: { documentIds?: string[] } | null;
}

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export interface Project {
  id: string;
  title: string;
  description: string;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface Doc {
  id: string;
  project_id: string;
  title: string;
  type_key: string;
  content: string;
  props: Record<string, unknown>;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface DocVersion {
  version: number;
  title: string;
  content: string;
  run_id: string | null;
  seq: number | null;
  at: string;
}

export interface Entry {
  document_id: string;
  position: number;
  key: string;
  markdown: string;
  run_id: string | null;
  seq: number | null;
  created_at: string;
}

export type TaskState = 'todo' | 'in_progress' | 'blocked' | 'done';

export interface Task {
  id: string;
  project_id: string;
  title: string;
  description: string;
  state: TaskState;
  props: Record<string, unknown>;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface Edge {
  id: string;
  src: string;
  dst: string;
  rel: string;
}

export interface Workspace {
  workspace_document_id: string | null;
  documents: Doc[];
  tasks: Task[];
  edges: Edge[];
}

export interface Iteration {
  iteration: number;
  status: string;
  summary: string;
  progress: boolean;
  metrics: Partial<Metrics>;
  artifacts: Partial<Artifacts>;
  started_at: string;
  ended_at: string | null;
}

export interface Hit {
  kind: 'document' | 'task' | 'project';
  id: string;
  project_id: string;
  title: string;
  excerpt: string;
}
