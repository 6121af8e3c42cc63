// What the server takes and gives, made from the shapes it publishes at /openapi.json. Not to be edited:
// `BLESS=1 cargo test -p server page_types` writes it anew.

export interface Actor {
  created_at: string;
  handle: string;
  id: string;
  kind: 'person' | 'subagent';
  name: string;
}

export interface Agent {
  actions: string[];
  created_at: string;
  handle: string;
  id: string;
  identity: string;
  model: string | null;
  name: string;
  owner: string;
  pending_lessons: number;
  projects: Project[];
  scratchpad: { at: string | null; characters: number; limit: number; version: number; };
  updated_at: string;
  version: number;
}

export interface Artifact {
  artifact_type: 'document' | 'json' | 'summary' | 'other';
  branch_id?: string | null;
  change?: 'created' | 'updated';
  content: unknown;
  created_at: string;
  current?: boolean;
  document_id: string | null;
  id: string;
  is_primary: boolean;
  iteration?: number;
  json_payload: unknown;
  label: string;
  node_id: string | null;
  run_id: string;
  stale?: boolean;
  task_id?: string | null;
  title?: string | null;
}

export interface Budgets {
  max_bands?: number;
  max_cost_usd?: number;
  max_depth?: number;
  max_iterations?: number;
  max_nodes?: number;
  max_parallel?: number;
  max_replans?: number;
  max_steps_per_band?: number;
  max_tokens?: number | null;
  max_wall_ms?: number;
  no_progress_limit?: number;
  repeat_limit?: number;
}

export interface Criterion {
  checking?: boolean;
  evidence: { quotes: string[]; ref: string; version?: number; }[];
  id: string;
  model?: string;
  reason?: string;
  stale: boolean;
  state: CriterionState;
  text: string;
}

export type CriterionState = 'open' | 'claimed' | 'verified' | 'refuted' | 'accepted' | 'rejected';

export interface Delivery {
  attempts: number;
  created_at: string;
  delivered_at: string | null;
  due: string;
  id: string;
  kind: string;
  last_error: string | null;
  last_status: number | null;
  run_id: string | null;
  seq: number | null;
  state: 'due' | 'delivered' | 'failed';
  webhook_id: string;
}

export interface Document {
  content: string;
  created_at: string;
  id: string;
  project_id: string;
  props: Record<string, unknown>;
  title: string;
  type_key: string;
  updated_at: string;
  version: number;
}

export interface Edge {
  created_at: string;
  dst: string;
  id: string;
  project_id: string;
  props: Record<string, unknown>;
  rel: string;
  src: string;
}

export interface Entry {
  created_at: string;
  document_id: string;
  key: string;
  markdown: string;
  position: number;
  run_id: string | null;
  seq: number | null;
}

export interface Envelope {
  artifactIds: string[];
  documentIds: string[];
  jsonPayload?: unknown;
  kind: 'json' | 'document' | 'hybrid';
  primaryArtifactId?: string;
  scratchpadDocId?: string;
  scratchpadTail?: string;
  successAssessment?: { met: boolean; notes?: string; };
  summary: string;
}

export interface Event {
  actor?: { id?: string; kind: string; };
  hash: string;
  nodeId?: string;
  parentNodeId?: string;
  payload: Record<string, unknown>;
  runId: string;
  seq: number;
  timestamp: string;
  type: string;
}

export interface Hit {
  excerpt: string;
  id: string;
  kind: 'document' | 'task' | 'project';
  project_id: string;
  title: string;
}

export interface Holder {
  drives: 'nothing' | 'some' | 'all';
  pid: number;
  url?: string | null;
  version: string;
}

export interface Invitation {
  created_at: string;
  expires_at: string;
  id: string;
  invited_by: string;
  project_id: string;
  project_title: string;
  role: MemberRole;
}

export interface Iteration {
  artifacts: Made | null;
  ended_at: string | null;
  iteration: number;
  metrics: Metrics | null;
  progress: boolean;
  run_id: string;
  running?: Running;
  started_at: string;
  status: 'running' | 'completed' | 'canceled' | 'failed';
  summary: string;
}

export interface IterationResult {
  branch_id?: string;
  call_id?: string;
  event?: number;
  name: string;
  ok: boolean;
  summary: string;
}

export type Kind = 'homework' | 'tree' | 'task';

export interface Lesson {
  agent_id: string;
  at: string;
  branch_id: string | null;
  id: string;
  iteration: number | null;
  node_id: string | null;
  run_id: string | null;
  seq: number | null;
  settled_at: string | null;
  settled_by: { id?: string; kind: 'platform' | 'person' | 'subagent'; } | null;
  status: 'pending' | 'promoted' | 'dismissed';
  text: string;
  version: number | null;
}

export interface Limits {
  max_bands: number;
  max_cost_usd: number | null;
  max_depth: number;
  max_iterations: number;
  max_nodes: number;
  max_parallel: number;
  max_replans: number;
  max_steps_per_band: number;
  max_tokens: number | null;
  max_wall_ms: number | null;
  no_progress_limit: number;
  repeat_limit: number;
}

export interface Made {
  created_documents: Named[];
  created_edges: Named[];
  created_tasks: Named[];
  executor_results?: IterationResult[];
  tool_results?: IterationResult[];
  updated_documents: Named[];
  updated_tasks: Named[];
}

export interface Member {
  created_at: string;
  handle: string;
  id: string;
  invited: boolean;
  kind: 'person' | 'subagent';
  name: string;
  role: MemberRole;
}

export type MemberRole = 'viewer' | 'editor' | 'owner';

export interface Metrics {
  by_model: Record<string, ModelMetrics>;
  cost_known: boolean;
  cost_presumed_usd: number;
  cost_usd: number;
  llm_calls: number;
  no_progress_streak: number;
  outside_iterations?: Record<string, unknown>;
  running_ms: number;
  tokens_cached: number;
  tokens_in: number;
  tokens_out: number;
  tokens_presumed: number;
  tool_calls: number;
  verifier?: ModelMetrics;
  wrap_up?: ModelMetrics;
}

export interface Model {
  context_window: number;
  max_output: number;
  model: string;
  name: string;
  price?: Record<string, unknown>;
  profiles: ('fast' | 'balanced' | 'powerful')[];
  provider: string;
}

export interface ModelMetrics {
  cost_usd: number;
  llm_calls: number;
  tokens_cached: number;
  tokens_in: number;
  tokens_out: number;
}

export interface Named {
  id: string;
  title: string;
}

export interface NewRun {
  agent?: string;
  agents?: string[];
  budgets?: Budgets;
  id?: string;
  kind: Kind;
  max_steps?: number;
  model?: string;
  models?: { balanced?: string; fast?: string; powerful?: string; };
  objective: string;
  project_ids?: string[];
  scope?: Scope;
  success_criteria?: string[];
  tools?: string[];
  verify?: boolean;
}

export interface NewWebhook {
  created_at: string;
  disabled_reason: string | null;
  id: string;
  kinds: ('question' | 'waiting' | 'completed' | 'stopped' | 'failed' | 'canceled')[];
  secret?: string;
  template: 'standard' | 'slack' | 'discord' | 'ntfy';
  url: string;
}

export interface Node {
  agent?: string;
  band_index: number;
  created_at: string;
  current: boolean;
  depth: number;
  ended_at: string | null;
  error: string | null;
  generation: number;
  id: string;
  message: string | null;
  metrics: Metrics;
  ordinal: number;
  outcome: Outcome | null;
  own_metrics: Metrics;
  parent_node_id: string | null;
  paused: boolean;
  reason: string;
  result: Envelope | null;
  retry_of: string | null;
  retryable: boolean;
  role_state: Role;
  run_id: string;
  scratchpad_doc_id: string;
  scratchpad_tail: string;
  shortfall: string | null;
  stale: boolean;
  started_at: string | null;
  status: NodeStatus;
  step_id: string | null;
  step_index: number;
  success_criteria: string[];
  title: string;
  updated_at: string;
}

export interface NodeColumns {
  artifacts: number[];
  band: number[];
  cost_usd: number[];
  count: number;
  created_ms: number[];
  depth: number[];
  documents: number[];
  ended_ms: (number | null)[];
  error: (string | null)[];
  generation: number[];
  id: string[];
  in_flight: number[];
  llm_calls: number[];
  message: (string | null)[];
  outcome: (Outcome | null)[];
  parent: (number | null)[];
  paused: boolean[];
  question: (string | null)[];
  retry_of: (number | null)[];
  role: Role[];
  stale: boolean[];
  started_ms: (number | null)[];
  status: NodeStatus[];
  step: number[];
  step_id: (string | null)[];
  title: string[];
  tokens_in: number[];
  tokens_out: number[];
  tokens_presumed: number[];
  tool_calls: number[];
}

export type NodeStatus = 'planning' | 'delegating' | 'executing' | 'waiting' | 'aggregating' | 'blocked' | 'completed' | 'failed' | 'canceled' | 'superseded';

export interface Notification {
  at: string;
  body: string;
  id: string;
  invitation_id: string | null;
  kind: 'question' | 'waiting' | 'completed' | 'stopped' | 'failed' | 'canceled' | 'invitation';
  owner: string;
  question_id: string | null;
  read_at: string | null;
  run_id: string | null;
  seq: number;
  title: string;
}

export type Outcome = 'success' | 'partial' | 'no_op';

export interface Plan {
  bands?: unknown[];
  steps: PlanStep[];
  summary?: string | null;
  version: number;
}

export interface PlanStep {
  band?: number;
  id: string;
  iteration_last_touched: number;
  owner: Role;
  status: 'pending' | 'doing' | 'done' | 'blocked';
  title: string;
}

export interface PlanVersion {
  created_at: string;
  id: string;
  iteration?: number;
  node_id: string | null;
  plan_json: unknown;
  run_id: string;
  version: number;
}

export interface Problem {
  detail: string;
  status: number;
  title: string;
  type: string;
}

export interface Project {
  created_at: string;
  description: string;
  id: string;
  props: Record<string, unknown>;
  role?: MemberRole;
  title: string;
  updated_at: string;
  version: number;
}

export interface Question {
  answer: string | null;
  answered_at: string | null;
  asked_at: string;
  closed?: 'default' | 'unanswered' | 'withdrawn';
  deadline_at: string | null;
  default: string | null;
  id: string;
  node_id?: string;
  options: string[];
  text: string;
}

export interface Report {
  agent?: string | null;
  artifacts: { ref: string; title: string; }[];
  cost?: ReportCost;
  criteria?: Criterion[];
  dropped?: ReportDropped[];
  evidence: ({ claimed?: boolean | null; criterion: string | null; notes?: string | null; refs?: string[]; state?: CriterionState; text: string; verified?: unknown; })[];
  failed?: ReportFailure[];
  findings: string[];
  how_it_ended?: string;
  iterations?: number;
  left_out?: number;
  made?: ReportItem[];
  messages?: { shown: boolean; text: string; }[];
  messages_not_shown?: string[];
  metrics: Metrics;
  models: string[];
  nodes?: Record<string, number>;
  not_done: string[];
  objective: string;
  older_messages?: number;
  outcome?: RunOutcome | null;
  plan?: Plan;
  prose_by: 'model' | 'platform';
  questions: Question[];
  replans?: ReportReplan[];
  result?: Envelope | null;
  status: string;
  steps?: number;
  stop_detail: string;
  stop_reason: string;
  summary: string;
  synthesis?: ReportSynthesis;
  title: string;
  what_changed?: Made;
}

export interface ReportCost {
  by_model: Record<string, ModelMetrics>;
  known: boolean;
  owned: ModelMetrics | null;
  presumed_tokens: number;
  presumed_usd: number;
  total_usd: number | null;
  unowned: ModelMetrics | null;
  verifier: ModelMetrics;
  wrap_up: ModelMetrics;
}

export interface ReportDropped {
  iteration?: number;
  node_id?: string;
  title: string;
  why: string;
}

export interface ReportFailure {
  iteration?: number;
  kind: 'branch' | 'tool' | 'node' | 'step';
  node_id?: string;
  state: 'failed' | 'canceled' | 'partial';
  title: string;
  why: string;
}

export interface ReportItem {
  changed?: boolean;
  kind: 'document' | 'task' | 'json';
  node?: string;
  ref: string;
  replaced?: boolean;
  title: string;
}

export interface ReportReplan {
  iteration?: number;
  node_id?: string;
  times?: number;
  title?: string;
  why?: string;
}

export interface ReportSynthesis {
  document: { content: unknown; ref: string; text?: string; title: string; } | null;
  gaps: string[];
  key_findings: string[];
  summary: string | null;
}

export type Role = 'planner' | 'executor';

export interface Run {
  activity: string;
  agent?: string;
  agent_id?: string;
  agents?: string[];
  budgets: Limits;
  created_at: string;
  ended_at: string | null;
  head: string;
  id: string;
  iteration: number;
  kind: Kind;
  last_seq: number;
  max_steps?: number;
  metrics: Metrics;
  model: string;
  objective: string;
  outcome: RunOutcome | null;
  owner: string;
  paused_nodes?: string[];
  plan: Plan | null;
  project_ids: string[];
  provider_wait?: { error?: string; provider: string; until: string; };
  questions: Question[];
  report: Report | null;
  root_node_id?: string;
  running?: Running;
  scope: Scope;
  started_at: string | null;
  status: Status;
  stop_detail: string | null;
  stop_reason: StopReason | null;
  success_criteria: Criterion[];
  updated_at: string;
  warnings: string[];
  workspace_document_id: string | null;
  workspace_project_id: string;
}

export type RunOutcome = 'none' | 'partial' | 'verified' | 'claimed';

export interface Running {
  at: string;
  calls: number;
  estimated_cost_usd: number;
}

export type Scope = 'global' | 'project' | 'multi_project';

export interface Scratchpad {
  actor?: { id?: string; kind: 'platform' | 'person' | 'subagent'; };
  at: string | null;
  characters: number;
  content: string;
  limit: number;
  run_id: string | null;
  seq?: number | null;
  step: number | null;
  version: number;
}

export interface Session {
  actor: Actor;
  expires_at: string | null;
  scopes: ('read' | 'run' | 'admin')[];
}

export interface Snapshot {
  at: string;
  iterations: Iteration[];
  last_seq: number;
  nodes: NodeColumns | null;
  run: Run;
  seq: number;
  steps: StepColumns | null;
  task_steps?: TaskStep[];
}

export type Status = 'queued' | 'running' | 'waiting_on_user' | 'paused' | 'completed' | 'stopped' | 'canceled' | 'failed';

export interface StepColumns {
  band: number[];
  count: number;
  node: number[];
  status: StepStatus[];
  step: number[];
  step_id: string[];
  title: string[];
}

export type StepStatus = 'pending' | 'running' | 'completed' | 'failed' | 'canceled' | 'superseded' | 'skipped';

export type StopReason = 'completed' | 'budget_cost' | 'budget_tokens' | 'budget_wall_clock' | 'max_iterations' | 'max_steps' | 'no_progress' | 'cannot_be_done' | 'user_input' | 'canceled' | 'provider_auth' | 'provider_quota' | 'error';

export interface Task {
  created_at: string;
  description: string;
  id: string;
  project_id: string;
  props: Record<string, unknown>;
  state: TaskState;
  title: string;
  updated_at: string;
  version: number;
}

export type TaskState = 'todo' | 'in_progress' | 'blocked' | 'done';

export interface TaskStep {
  action: 'navigate' | 'execute' | 'done' | 'error';
  action_name: string | null;
  artifacts: Made;
  ended_at: string | null;
  message: string | null;
  ok: boolean | null;
  params: unknown;
  path: string | null;
  result: { bytes: number; hash: string; } | null;
  run_id: string;
  seq: number;
  started_at: string;
  step: number;
  summary: string | null;
  thought: string | null;
}

export interface Token {
  actor_id: string;
  created_at: string;
  expires_at: string | null;
  id: string;
  kind: 'token' | 'session' | 'code';
  name: string;
  prefix: string;
  project_ids: string[];
  revoked_at: string | null;
  scopes: ('read' | 'run' | 'admin')[];
  used_at: string | null;
}

export interface Tool {
  class: 'read-only' | 'idempotent' | 'once';
  description: string;
  name: string;
  read: boolean;
  schema: Record<string, unknown>;
  server?: string;
}

export interface ToolServer {
  detail: string;
  hash?: string;
  ready: boolean;
  server: string;
}

export interface Version {
  at: string;
  content: string;
  run_id: string | null;
  seq: number | null;
  title: string;
  version: number;
}

export interface Webhook {
  created_at: string;
  disabled_reason: string | null;
  id: string;
  kinds: ('question' | 'waiting' | 'completed' | 'stopped' | 'failed' | 'canceled')[];
  template: 'standard' | 'slack' | 'discord' | 'ntfy';
  url: string;
}

export interface Workspace {
  documents: Document[];
  edges: Edge[];
  tasks: Task[];
  workspace_document_id: string | null;
}
