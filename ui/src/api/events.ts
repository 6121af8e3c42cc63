// The events of a run's log, made from the facts the engine writes. Not to be edited:
// `BLESS=1 cargo test -p server page_types` writes it anew.

export type Actor = { kind: 'platform'; } | { id: string; kind: 'person'; } | { id: string; kind: 'subagent'; };

export interface Agent {
  handle: string;
  id: string;
  identity: string;
  maxSteps?: number;
}

export type ArtifactType = 'document' | 'json' | 'summary' | 'other';

export interface Artifacts {
  created_documents: Named[];
  created_edges: Named[];
  created_tasks: Named[];
  updated_documents: Named[];
  updated_tasks: Named[];
}

export interface BlobRef {
  bytes: number;
  hash: string;
}

export interface Budgets {
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

export interface Citation {
  criterion: string;
  refs: string[];
}

export interface CitedEvidence {
  quotes: string[];
  ref: string;
  version?: number;
}

export interface Criterion {
  id: string;
  text: string;
}

export type CriterionDecision = 'accept' | 'reject' | 'recheck';

export type CriterionState = 'rejected' | 'open' | 'claimed' | 'verified' | 'refuted' | 'accepted';

export type CriterionVerdict = 'met' | 'not_met' | 'cannot_tell';

export type Decision = 'happened' | 'did_not' | 'retry';

export type Deliverable = 'document' | 'json' | 'either';

export type Disposition = 'done' | 'in_flight_unknown' | 'not_started';

export interface EffectFinished {
  attempt: number;
  counted?: boolean;
  effect: string;
  error?: string;
  exhausted?: Exhausted;
  kept?: unknown;
  outcome: FinishedAs;
  providerRequestId?: string;
  response?: BlobRef;
  retryAt?: string;
  settled: Settled;
}

export interface EffectResolved {
  decision: Decision;
  effect: string;
  note?: string;
}

export interface EffectStarted {
  attempt: number;
  effect: string;
  model?: string;
  request?: BlobRef;
  reserve: Reserve;
  what: string;
}

export interface EffectUnknown {
  attempt: number;
  effect: string;
  reason?: string;
  what: string;
}

export interface EndState {
  dropped: boolean;
  failed: boolean;
  made: boolean;
}

export interface Envelope {
  artifactIds: string[];
  documentIds: string[];
  jsonPayload?: unknown;
  kind: EnvelopeKind;
  primaryArtifactId?: string;
  scratchpadDocId?: string;
  scratchpadTail?: string;
  successAssessment?: SuccessAssessment;
  summary: string;
}

export type EnvelopeKind = 'json' | 'document' | 'hybrid';

export interface EvidenceClaim {
  claim: string;
  criterion?: string;
  refs: string[];
}

export interface EvidenceText {
  ref: string;
  text?: BlobRef;
  title: string;
  version?: number;
}

export interface ExecutorTask {
  agent?: string;
  branch_id: string;
  objective: string;
  step_id?: string;
  title: string;
  tools: string[];
}

export type Exhausted = 'budget_cost' | 'budget_tokens' | 'budget_wall_clock';

export interface ExternalTool {
  class: RepeatSafety;
  hash: string;
  server: string;
}

export type FinishedAs = 'ok' | 'transient' | 'failed' | 'lost' | 'refused' | 'canceled' | 'asked';

export interface GivenQuote {
  ref: string;
  text: string;
}

export interface GivenVerdict {
  criterion: string;
  quotes: GivenQuote[];
  reason: string;
  verdict: CriterionVerdict;
}

export type HintType = 'read_documents' | 'read_json';

export interface HomeworkAnswerRejected {
  effect: string;
  errors: string[];
  response: BlobRef;
}

export interface HomeworkExecutorAnswered {
  branchId: string;
  completedStepIds?: string[];
  done: boolean;
  idle?: boolean;
  index: number;
  resultSnippet?: string;
  round: number;
  summary?: string;
  thought: string;
}

export interface HomeworkExecutorFinished {
  branchId: string;
  completedStepIds: string[];
  entry?: PadEntry;
  error?: string;
  index: number;
  iteration: number;
  ok: boolean;
  resultSnippet: string;
  rounds: number;
  summary: string;
}

export interface HomeworkExecutorStarted {
  agent?: string;
  branchId: string;
  index: number;
  iteration: number;
  objective: string;
  refusedTools?: string[];
  scratchpadDocumentId: string;
  stepId?: string;
  title: string;
  tools: string[];
}

export interface HomeworkExitRefused {
  iteration: number;
  reasons: string[];
}

export interface HomeworkIterationCompleted {
  artifacts: Artifacts;
  evidence?: VerifiedEvidence[];
  exitRefused?: boolean;
  iteration: number;
  lost?: string;
  metrics: Metrics;
  progress: boolean;
  progressReasons: string[];
  results?: IterationResult[];
  startedAt: string;
  summary: string;
  verdict: Verdict;
}

export interface HomeworkIterationStarted {
  iteration: number;
}

export interface HomeworkLimitReached {
  detail: string;
  stopReason: StopReason;
}

export interface HomeworkPlanUpdated {
  changed: string[];
  iteration: number;
  steps: HomeworkStep[];
  version: number;
}

export interface HomeworkPlanned {
  actions: string[];
  blockingQuestions: string[];
  branchRollup?: string;
  completionEvidence: EvidenceClaim[];
  confidence: string;
  executorTasks: ExecutorTask[];
  exitSignal: boolean;
  iteration: number;
  needsUserInput: boolean;
  nextActionHint: NextAction;
  progressSummary: string;
  remainingWork: string[];
  withheld?: boolean;
}

export interface HomeworkRepairAttempted {
  corrected: number;
  error?: string;
  forCallIds: string[];
  iteration: number;
}

export interface HomeworkRepeatDetected {
  actions: string[];
  iteration: number;
  repeats: number;
}

export interface HomeworkReplanForced {
  actions: string[];
  iteration: number;
}

export interface HomeworkRunStarted {
  planDocumentId: string;
  scratchpadDocumentId: string;
  workspaceDocumentId: string;
  workspaceProjectId: string;
}

export interface HomeworkScratchpadAppended {
  entryKey: string;
  iteration: number;
  markdown: string;
  scratchpadDocumentId: string;
}

export interface HomeworkStep {
  id: string;
  iteration_last_touched: number;
  owner: StepOwner;
  status: HomeworkStepStatus;
  title: string;
}

export type HomeworkStepStatus = 'pending' | 'doing' | 'done' | 'blocked';

export interface HomeworkToolCallRequested {
  arguments: unknown;
  branchId?: string;
  callId: string;
  iteration: number;
  purpose?: string;
  repairOf?: string;
  tool: string;
}

export interface HomeworkToolCallResult {
  artifacts?: Artifacts;
  callId: string;
  chars?: number;
  knownChange?: boolean;
  lesson?: LessonRef;
  newReading?: boolean;
  notRun?: boolean;
  ok: boolean;
  reading?: string;
  result: BlobRef;
  seen?: string[];
  summary: string;
  tool: string;
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

export type Lane = 'steer' | 'queue';

export interface LessonRef {
  agentId: string;
  lessonId: string;
}

export interface Metrics {
  by_model: Record<string, ModelMetrics>;
  cost_known: boolean;
  cost_presumed_usd: number;
  cost_usd: number;
  llm_calls: number;
  no_progress_streak: number;
  outside_iterations?: Metrics;
  running_ms: number;
  tokens_cached: number;
  tokens_in: number;
  tokens_out: number;
  tokens_presumed: number;
  tool_calls: number;
  verifier?: ModelMetrics;
  wrap_up?: ModelMetrics;
}

export interface ModelMetrics {
  cost_usd: number;
  llm_calls: number;
  tokens_cached: number;
  tokens_in: number;
  tokens_out: number;
}

export interface ModelSpec {
  contextWindow: number;
  maxOutput: number;
  model: string;
  price?: Price;
  provider: string;
}

export interface Models {
  balanced: ModelSpec;
  fast: ModelSpec;
  powerful: ModelSpec;
}

export interface Named {
  id: string;
  title: string;
}

export type NextAction = 'execute' | 'replan' | 'ask_user' | 'stop';

export type NodeOutcome = 'success' | 'partial' | 'no_op';

export type NodeRole = 'planner' | 'executor';

export type NodeStatus = 'planning' | 'delegating' | 'executing' | 'aggregating' | 'completed' | 'failed' | 'canceled' | 'waiting' | 'blocked' | 'superseded';

export interface PadEntry {
  entryKey: string;
  markdown: string;
  scratchpadDocumentId: string;
}

export interface PlanBand {
  goal?: string;
  index: number;
  steps: PlanStep[];
}

export interface PlanStep {
  agent?: string;
  deliverable: Deliverable;
  id: string;
  leaf?: boolean;
  reason?: string;
  successCriteria?: string[];
  title: string;
}

export interface Price {
  cached: number;
  input: number;
  output: number;
}

export interface ProposedHint {
  artifact_labels: string[];
  hint_type?: HintType;
}

export interface ProposedResult {
  parent_hint: ProposedHint;
  primary_artifact_label?: string;
  success_assessment?: SuccessAssessment;
  summary: string;
}

export type RepeatSafety = 'read_only' | 'idempotent' | 'once';

export interface Reserve {
  costUsd: number;
  tokens: number;
}

export type ResumeReason = 'unpaused' | 'answered' | 'retry' | 'expired' | 'withdrawn' | 'continued' | 'try_now';

export interface RunAnswered {
  by: string;
  questionId: string;
  text: string;
}

export interface RunBudgetChanged {
  budgets: Budgets;
}

export interface RunBudgetWarning {
  budget: string;
  limit: number;
  used: number;
}

export interface RunCanceled {
  detail?: string;
  endState?: EndState;
  messagesNotShown?: string[];
  outcome?: RunOutcome;
}

export interface RunCheckRejected {
  effect: string;
  errors: string[];
  quotes?: boolean;
  response: BlobRef;
}

export interface RunCheckStarted {
  check: number;
  citations: Citation[];
  forced?: boolean;
  known?: EvidenceText[];
}

export interface RunCompleted {
  detail?: string;
  endState?: EndState;
  messagesNotShown?: string[];
  outcome?: RunOutcome;
}

export interface RunCriterionChecked {
  criterion: string;
  evidence: CitedEvidence[];
  model?: string;
  reason?: string;
  state: CriterionState;
}

export interface RunCriterionDecided {
  by: string;
  criterion: string;
  decision: CriterionDecision;
  note?: string;
}

export interface RunEvidenceRead {
  check: number;
  evidence: EvidenceText[];
}

export interface RunFailed {
  endState?: EndState;
  error: string;
  messagesNotShown?: string[];
  outcome?: RunOutcome;
  stopReason: StopReason;
}

export interface RunMessageDelivered {
  effect: string;
  messageId: string;
}

export interface RunMessageQueued {
  lane: Lane;
  messageId: string;
  nodeId?: string;
  text: string;
}

export type RunOutcome = 'partial' | 'claimed' | 'none' | 'verified';

export interface RunPaused {
  branches?: boolean;
  reason?: string;
}

export interface RunProviderWaiting {
  error?: string;
  provider: string;
  until: string;
}

export interface RunQuestionAsked {
  deadlineAt?: string;
  default?: string;
  effect?: string;
  nodeId?: string;
  options?: string[];
  questionId: string;
  text: string;
}

export interface RunQuestionExpired {
  default?: string;
  questionId: string;
  withdrawn?: boolean;
}

export interface RunQueued {
  agent?: Agent;
  agents?: Agent[];
  budgets: Budgets;
  kind: Kind;
  models: Models;
  noVerify?: boolean;
  objective: string;
  ownWorkspace?: boolean;
  owner: string;
  projectIds: string[];
  scope: ScopeKind;
  successCriteria: Criterion[];
  toolLists?: ToolList[];
  tools: ToolSpec[];
  warnings?: string[];
  workspaceProjectId: string;
}

export interface RunRecovered {
  activeUntil: string;
  lost: number;
}

export interface RunReportCreated {
  report: unknown;
}

export interface RunResumed {
  reason: ResumeReason;
}

export interface RunStopped {
  detail: string;
  endState?: EndState;
  messagesNotShown?: string[];
  outcome?: RunOutcome;
  stopReason: StopReason;
}

export interface RunVerdictsGiven {
  effect: string;
  response: BlobRef;
  verdicts: GivenVerdict[];
}

export interface RunWaitingOnUser {
  questionIds: string[];
}

export type ScopeKind = 'global' | 'project' | 'multi_project';

export interface Settled {
  costUsd: number;
  estimated?: boolean;
  presumed?: boolean;
  tokensCached: number;
  tokensIn: number;
  tokensOut: number;
}

export type StepAction = 'navigate' | 'execute' | 'done' | 'error';

export type StepOwner = 'planner' | 'executor';

export type StepStatus = 'pending' | 'running' | 'completed' | 'failed' | 'canceled' | 'superseded' | 'skipped';

export type StopReason = 'completed' | 'budget_cost' | 'budget_tokens' | 'budget_wall_clock' | 'max_iterations' | 'max_steps' | 'no_progress' | 'cannot_be_done' | 'user_input' | 'canceled' | 'provider_auth' | 'provider_quota' | 'error';

export interface SuccessAssessment {
  met: boolean;
  notes?: string;
}

export interface TaskAnswerRejected {
  effect: string;
  errors: string[];
  response: BlobRef;
}

export interface TaskEnded {
  ending: TaskEnding;
  message: string;
  stopReason: StopReason;
}

export type TaskEnding = 'done' | 'error' | 'max_steps' | 'canceled' | 'exception' | 'budget';

export interface TaskReflected {
  cutFrom?: number;
  scratchpad: string | null;
}

export interface TaskScratchpadRead {
  content: BlobRef;
  version: number;
}

export interface TaskScratchpadUpdateFailed {
  error: string;
}

export interface TaskScratchpadUpdated {
  characters: number;
  cutFrom?: number;
  preview: string;
  version: number;
}

export interface TaskStarted {
  agentId: string;
  handle: string;
  maxSteps: number;
}

export interface TaskStep {
  action: StepAction;
  actionName?: string;
  message?: string;
  params?: unknown;
  path?: string;
  step: number;
  thought?: string;
}

export interface TaskStepResult {
  artifacts?: Artifacts;
  ok: boolean;
  result: BlobRef;
  step: number;
  summary: string;
}

export interface ToolList {
  hash: string;
  protocol: string;
  server: string;
}

export interface ToolSpec {
  arguments: string;
  description: string;
  name: string;
  outside?: ExternalTool;
  read: boolean;
}

export interface TreeAnswerRejected {
  effect: string;
  errors: string[];
  response: BlobRef;
}

export interface TreeArtifactCreated {
  artifactId: string;
  artifactType: ArtifactType;
  content?: BlobRef;
  documentId?: string;
  json?: unknown;
  label?: string;
  own?: boolean;
  title?: string;
}

export interface TreeArtifactRead {
  artifactId: string;
  byNodeId: string;
}

export interface TreeExecutorAnswered {
  result?: ProposedResult;
  round: number;
}

export interface TreeGuard {
  guard: string;
  limit: unknown;
}

export interface TreeNodeAggregated {
  childIds: string[];
  gaps?: string[];
  keyFindings?: string[];
  result?: ProposedResult;
  successAssessment: SuccessAssessment;
  summary: string;
}

export interface TreeNodeCanceled {
  disposition: Disposition;
}

export interface TreeNodeCompleted {
  cutShort?: boolean;
  evidence?: string;
  metrics?: Metrics;
  outcome: NodeOutcome;
  shortfall?: string;
}

export interface TreeNodeCreated {
  agent?: string;
  bandIndex: number;
  deliverable: Deliverable;
  depth: number;
  reason: string;
  retryOf?: string;
  share?: Reserve;
  stepId?: string;
  stepIndex: number;
  successCriteria: string[];
  title: string;
}

export interface TreeNodeDelegated {
  childNodeId: string;
  stepId: string;
}

export interface TreeNodeFailed {
  cutShort?: boolean;
  error: string;
  retryable: boolean;
}

export type TreeNodePaused = Record<string, unknown>;

export interface TreeNodeReopened {
  causedBy: string;
  generation: number;
}

export interface TreeNodeResult {
  result: Envelope;
}

export type TreeNodeResumed = Record<string, unknown>;

export interface TreeNodeStale {
  causedBy: string;
}

export interface TreeNodeStatus {
  message?: string;
  modeReason?: string;
  progress?: number;
  role: NodeRole;
  status: NodeStatus;
}

export interface TreeParentHint {
  artifactIds: string[];
  documentIds: string[];
  hintType: HintType;
  parentNodeId: string;
}

export interface TreePlanBandCreated {
  bandIndex: number;
  planId: string;
  stepIds: string[];
}

export interface TreePlanCreated {
  bands: PlanBand[];
  planId: string;
  summary?: string;
  version: number;
}

export interface TreeReplanRequested {
  basedOnChildIds: string[];
  reason: string;
}

export interface TreeResultRefused {
  errors: string[];
  round: number;
}

export interface TreeRunStarted {
  rootNodeId: string;
  workspaceProjectId: string;
}

export interface TreeScratchpadLinked {
  scratchpadDocId: string;
}

export interface TreeScratchpadUpdated {
  entryKey: string;
  markdown: string;
  scratchpadDocId: string;
  tailPreview: string;
  updatedAt: string;
}

export interface TreeStepCreated {
  bandIndex: number;
  reason: string;
  stepId: string;
  stepIndex: number;
  successCriteria: string[];
  title: string;
}

export interface TreeStepStatus {
  status: StepStatus;
  stepId: string;
}

export interface TreeToolCallRequested {
  arguments: unknown;
  callId: string;
  purpose?: string;
  tool: string;
}

export interface TreeToolCallResult {
  artifacts?: Artifacts;
  asked?: string;
  callId: string;
  chars?: number;
  lesson?: LessonRef;
  ok: boolean;
  result: BlobRef;
  summary: string;
  tool: string;
}

export interface TreeToolsManifest {
  tools: ToolSpec[];
}

export type Verdict = { go: 'on'; } | { go: 'wait'; } | { detail: string; go: 'stop'; reason: StopReason; };

export interface VerifiedEvidence {
  claim: string;
  criterion?: string;
  refs: string[];
}

export interface EventPayloads {
  'effect.finished': EffectFinished;
  'effect.resolved': EffectResolved;
  'effect.started': EffectStarted;
  'effect.unknown': EffectUnknown;
  'homework.answer_rejected': HomeworkAnswerRejected;
  'homework.executor_answered': HomeworkExecutorAnswered;
  'homework.executor_finished': HomeworkExecutorFinished;
  'homework.executor_started': HomeworkExecutorStarted;
  'homework.exit_refused': HomeworkExitRefused;
  'homework.iteration_completed': HomeworkIterationCompleted;
  'homework.iteration_started': HomeworkIterationStarted;
  'homework.limit_reached': HomeworkLimitReached;
  'homework.plan_updated': HomeworkPlanUpdated;
  'homework.planned': HomeworkPlanned;
  'homework.repair_attempted': HomeworkRepairAttempted;
  'homework.repeat_detected': HomeworkRepeatDetected;
  'homework.replan_forced': HomeworkReplanForced;
  'homework.run_started': HomeworkRunStarted;
  'homework.scratchpad_appended': HomeworkScratchpadAppended;
  'homework.tool_call_requested': HomeworkToolCallRequested;
  'homework.tool_call_result': HomeworkToolCallResult;
  'run.answered': RunAnswered;
  'run.budget_changed': RunBudgetChanged;
  'run.budget_warning': RunBudgetWarning;
  'run.canceled': RunCanceled;
  'run.check_rejected': RunCheckRejected;
  'run.check_started': RunCheckStarted;
  'run.completed': RunCompleted;
  'run.criterion_checked': RunCriterionChecked;
  'run.criterion_decided': RunCriterionDecided;
  'run.evidence_read': RunEvidenceRead;
  'run.failed': RunFailed;
  'run.message_delivered': RunMessageDelivered;
  'run.message_queued': RunMessageQueued;
  'run.paused': RunPaused;
  'run.provider_waiting': RunProviderWaiting;
  'run.question_asked': RunQuestionAsked;
  'run.question_expired': RunQuestionExpired;
  'run.queued': RunQueued;
  'run.recovered': RunRecovered;
  'run.report_created': RunReportCreated;
  'run.resumed': RunResumed;
  'run.stopped': RunStopped;
  'run.verdicts_given': RunVerdictsGiven;
  'run.waiting_on_user': RunWaitingOnUser;
  'task.answer_rejected': TaskAnswerRejected;
  'task.ended': TaskEnded;
  'task.reflected': TaskReflected;
  'task.scratchpad_read': TaskScratchpadRead;
  'task.scratchpad_update_failed': TaskScratchpadUpdateFailed;
  'task.scratchpad_updated': TaskScratchpadUpdated;
  'task.started': TaskStarted;
  'task.step': TaskStep;
  'task.step_result': TaskStepResult;
  'tree.answer_rejected': TreeAnswerRejected;
  'tree.artifact_created': TreeArtifactCreated;
  'tree.artifact_read': TreeArtifactRead;
  'tree.executor_answered': TreeExecutorAnswered;
  'tree.guard': TreeGuard;
  'tree.node_aggregated': TreeNodeAggregated;
  'tree.node_canceled': TreeNodeCanceled;
  'tree.node_completed': TreeNodeCompleted;
  'tree.node_created': TreeNodeCreated;
  'tree.node_delegated': TreeNodeDelegated;
  'tree.node_failed': TreeNodeFailed;
  'tree.node_paused': TreeNodePaused;
  'tree.node_reopened': TreeNodeReopened;
  'tree.node_result': TreeNodeResult;
  'tree.node_resumed': TreeNodeResumed;
  'tree.node_stale': TreeNodeStale;
  'tree.node_status': TreeNodeStatus;
  'tree.parent_hint': TreeParentHint;
  'tree.plan_band_created': TreePlanBandCreated;
  'tree.plan_created': TreePlanCreated;
  'tree.replan_requested': TreeReplanRequested;
  'tree.result_refused': TreeResultRefused;
  'tree.run_started': TreeRunStarted;
  'tree.scratchpad_linked': TreeScratchpadLinked;
  'tree.scratchpad_updated': TreeScratchpadUpdated;
  'tree.step_created': TreeStepCreated;
  'tree.step_status': TreeStepStatus;
  'tree.tool_call_requested': TreeToolCallRequested;
  'tree.tool_call_result': TreeToolCallResult;
  'tree.tools_manifest': TreeToolsManifest;
}

/** One event of a run's log; `type` says which payload it has. */
export type Event = {
  [Type in keyof EventPayloads]: {
    runId: string;
    seq: number;
    nodeId?: string;
    parentNodeId?: string;
    type: Type;
    timestamp: string;
    actor: Actor;
    hash: string;
    payload: EventPayloads[Type];
  };
}[keyof EventPayloads];
