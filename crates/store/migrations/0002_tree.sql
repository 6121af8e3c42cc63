CREATE TABLE tree_agent_runs (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  objective TEXT NOT NULL,
  scope TEXT NOT NULL,
  project_ids TEXT NOT NULL,
  status TEXT NOT NULL,
  activity TEXT NOT NULL,
  stop_reason TEXT,
  stop_detail TEXT,
  iteration BIGINT NOT NULL,
  budgets TEXT NOT NULL,
  metrics TEXT NOT NULL,
  plan TEXT NOT NULL,
  success_criteria TEXT NOT NULL,
  questions TEXT NOT NULL,
  root_node_id TEXT,
  workspace_document_id TEXT,
  workspace_project_id TEXT NOT NULL,
  report TEXT NOT NULL,
  model TEXT NOT NULL,
  warnings TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  updated_at BIGINT NOT NULL,
  ended_at BIGINT,
  last_seq BIGINT NOT NULL,
  head BLOB NOT NULL,
  terms TEXT NOT NULL
);
CREATE INDEX tree_agent_runs_by_status ON tree_agent_runs (status, id);

CREATE TABLE tree_agent_events (
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  node_id TEXT,
  parent_node_id TEXT,
  type TEXT NOT NULL,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  hash BLOB NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
);
CREATE INDEX tree_agent_events_by_node ON tree_agent_events (node_id, seq) WHERE node_id IS NOT NULL;

-- ordinal: the order of creation, which effect ids begin with. metrics: of the whole subtree.
CREATE TABLE tree_agent_nodes (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  ordinal BIGINT NOT NULL,
  parent_node_id TEXT,
  title TEXT NOT NULL,
  reason TEXT NOT NULL,
  success_criteria TEXT NOT NULL,
  band_index BIGINT NOT NULL,
  step_index BIGINT NOT NULL,
  step_id TEXT,
  depth BIGINT NOT NULL,
  status TEXT NOT NULL,
  role_state TEXT NOT NULL,
  message TEXT,
  paused BIGINT NOT NULL,
  generation BIGINT NOT NULL,
  retry_of TEXT,
  scratchpad_doc_id TEXT NOT NULL,
  scratchpad_tail TEXT NOT NULL,
  outcome TEXT,
  error TEXT,
  retryable BIGINT NOT NULL,
  result TEXT NOT NULL,
  metrics TEXT NOT NULL,
  own_metrics TEXT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX tree_agent_nodes_by_run ON tree_agent_nodes (run_id, ordinal);

CREATE TABLE tree_agent_plans (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  plan_json TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX tree_agent_plans_by_run ON tree_agent_plans (run_id, created_at);

-- json_payload: small payloads. content_hash, content_bytes: what a reader is shown, among the blobs.
CREATE TABLE tree_agent_artifacts (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  artifact_type TEXT NOT NULL,
  document_id TEXT,
  json_payload TEXT,
  content_hash BLOB,
  content_bytes BIGINT,
  is_primary BIGINT NOT NULL,
  label TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX tree_agent_artifacts_by_run ON tree_agent_artifacts (run_id, created_at)
