-- What the migrations make, written by the test that compares the two.
CREATE TABLE actors (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  handle TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
, checksum BIGINT);
CREATE TABLE agent_lessons (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  text TEXT NOT NULL,
  status TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  iteration BIGINT,
  branch_id TEXT,
  node_id TEXT,
  at BIGINT NOT NULL,
  settled_by TEXT,
  settled_at BIGINT,
  version BIGINT
, checksum BIGINT);
CREATE TABLE agent_scratchpads (
  agent_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  content TEXT NOT NULL,
  actor TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  step BIGINT,
  at BIGINT NOT NULL, checksum BIGINT,
  PRIMARY KEY (agent_id, version)
);
CREATE TABLE agent_task_runs (
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
  terms TEXT NOT NULL,
  agent TEXT,
  agent_id TEXT,
  max_steps BIGINT
, provider_wait TEXT, outcome TEXT);
CREATE TABLE agent_task_steps (
  run_id TEXT NOT NULL,
  step BIGINT NOT NULL,
  action TEXT NOT NULL,
  path TEXT,
  action_name TEXT,
  params TEXT NOT NULL,
  message TEXT,
  thought TEXT,
  ok BIGINT,
  summary TEXT,
  result_hash BLOB,
  result_bytes BIGINT,
  artifacts TEXT NOT NULL,
  seq BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (run_id, step)
);
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  identity TEXT NOT NULL,
  actions TEXT NOT NULL,
  model TEXT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
, checksum BIGINT);
CREATE TABLE blob_refs (
  run_id TEXT NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (run_id, hash)
) WITHOUT ROWID;
CREATE TABLE blobs (
  hash BLOB PRIMARY KEY,
  body BLOB NOT NULL
);
CREATE TABLE database_notes (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
CREATE TABLE homework_run_iterations (
  run_id TEXT NOT NULL,
  iteration BIGINT NOT NULL,
  status TEXT NOT NULL,
  summary TEXT NOT NULL,
  progress BIGINT NOT NULL,
  metrics TEXT NOT NULL,
  artifacts TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (run_id, iteration)
);
CREATE TABLE homework_runs (
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
, agents TEXT, provider_wait TEXT, outcome TEXT);
CREATE TABLE jobs (
  run_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  unit BIGINT NOT NULL,
  due BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  lease_owner TEXT,
  lease_until BIGINT,
  epoch BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  last_seen BIGINT,
  prior_seen BIGINT,
  last_seq BIGINT NOT NULL
, agent TEXT, owner TEXT NOT NULL DEFAULT '');
CREATE TABLE kept_answers (
  credential TEXT NOT NULL,
  name TEXT NOT NULL,
  request BLOB NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT,
  content_type TEXT,
  body TEXT, checksum BIGINT,
  PRIMARY KEY (credential, name)
);
CREATE TABLE notification_reads (
  actor_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL, checksum BIGINT,
  PRIMARY KEY (actor_id, run_id, seq)
) WITHOUT ROWID;
CREATE TABLE notifications (
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  question_id TEXT,
  at BIGINT NOT NULL,
  PRIMARY KEY (run_id, seq)
);
CREATE TABLE onto_document_entries (
  document_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  key TEXT NOT NULL,
  markdown TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (document_id, key)
);
CREATE TABLE onto_document_versions (
  document_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  title TEXT NOT NULL,
  body BLOB NOT NULL,
  actor TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  at BIGINT NOT NULL, checksum BIGINT,
  PRIMARY KEY (document_id, version)
);
CREATE TABLE onto_documents (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  title TEXT NOT NULL,
  type_key TEXT NOT NULL,
  doc_role TEXT,
  props TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  made_run TEXT,
  made_seq BIGINT,
  run_id TEXT,
  seq BIGINT,
  actor TEXT NOT NULL,
  content TEXT NOT NULL,
  terms TEXT NOT NULL
, checksum BIGINT);
CREATE TABLE onto_edges (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  src TEXT NOT NULL,
  dst TEXT NOT NULL,
  rel TEXT NOT NULL,
  props TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  made_run TEXT,
  made_seq BIGINT
, checksum BIGINT);
CREATE TABLE onto_projects (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  made_run TEXT,
  made_seq BIGINT,
  terms TEXT NOT NULL
, props TEXT NOT NULL DEFAULT '{}', created_by TEXT, checksum BIGINT);
CREATE TABLE onto_tasks (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  state TEXT NOT NULL,
  props TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  made_run TEXT,
  made_seq BIGINT,
  terms TEXT NOT NULL
, checksum BIGINT);
CREATE TABLE project_invitations (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  role TEXT NOT NULL,
  invited_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
, checksum BIGINT);
CREATE TABLE project_members (
  project_id TEXT NOT NULL,
  actor_id TEXT NOT NULL, role TEXT NOT NULL DEFAULT 'editor', checksum BIGINT,
  PRIMARY KEY (project_id, actor_id)
) WITHOUT ROWID;
CREATE TABLE run_checkpoints (
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  format BIGINT NOT NULL,
  body BLOB NOT NULL, checksum BIGINT,
  PRIMARY KEY (run_id, seq)
);
CREATE TABLE run_commits (
  run_id TEXT NOT NULL,
  first_seq BIGINT NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (run_id, first_seq)
);
CREATE TABLE run_projects (
  run_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  PRIMARY KEY (run_id, project_id)
) WITHOUT ROWID;
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  actor_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  parent TEXT,
  name TEXT NOT NULL,
  access TEXT NOT NULL,
  prefix TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  used_at BIGINT,
  revoked_at BIGINT
, projects TEXT NOT NULL DEFAULT '[]', checksum BIGINT);
CREATE TABLE trace_cursors (
  run_id TEXT PRIMARY KEY,
  seq BIGINT NOT NULL,
  claimed_until BIGINT
, checksum BIGINT);
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
, is_stale BIGINT NOT NULL DEFAULT 0, is_current BIGINT NOT NULL DEFAULT 1, title TEXT);
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
, agent TEXT, is_stale BIGINT NOT NULL DEFAULT 0, is_current BIGINT NOT NULL DEFAULT 1, shortfall TEXT);
CREATE TABLE tree_agent_plans (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  plan_json TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
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
, agents TEXT, provider_wait TEXT, outcome TEXT);
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  due BIGINT NOT NULL,
  claimed_until BIGINT,
  last_status BIGINT,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  delivered_at BIGINT
, checksum BIGINT);
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  url TEXT NOT NULL,
  template TEXT NOT NULL,
  kinds TEXT NOT NULL,
  secret TEXT NOT NULL,
  disabled_reason TEXT,
  created_at BIGINT NOT NULL
, checksum BIGINT);
CREATE VIEW agent_task_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'task';
CREATE VIEW homework_run_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'homework';
CREATE VIEW run_events AS
SELECT c.run_id AS run_id, c.first_seq + e.key AS seq, e.value ->> 0 AS node_id, e.value ->> 1 AS parent_node_id, e.value ->> 2 AS type,
  CAST(e.value ->> 3 AS BIGINT) AS at, e.value ->> 4 AS actor, e.value ->> 5 AS hash, CAST(e.value -> 6 AS TEXT) AS payload
FROM run_commits c, json_each(c.events) e;
CREATE VIEW tree_agent_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'tree';
CREATE INDEX agent_lessons_by_agent ON agent_lessons (agent_id, id);
CREATE INDEX agent_task_runs_by_agent ON agent_task_runs (agent_id, id);
CREATE INDEX agent_task_runs_by_status ON agent_task_runs (status, id);
CREATE INDEX agents_by_owner ON agents (owner, id);
CREATE INDEX homework_runs_by_status ON homework_runs (status, id);
CREATE INDEX jobs_by_agent ON jobs (agent, state) WHERE agent IS NOT NULL;
CREATE INDEX jobs_by_worker ON jobs (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX jobs_held_by_owner ON jobs (owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'live' AND lease_owner IS NOT NULL;
CREATE INDEX jobs_ready_by_owner ON jobs (owner, due, run_id) WHERE state = 'live' AND lease_owner IS NULL;
CREATE INDEX kept_answers_by_age ON kept_answers (at);
CREATE INDEX notifications_by_owner ON notifications (owner, at);
CREATE INDEX onto_document_entries_by_run ON onto_document_entries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX onto_document_entries_in_order ON onto_document_entries (document_id, position);
CREATE INDEX onto_documents_by_project ON onto_documents (project_id, id);
CREATE INDEX onto_documents_by_run ON onto_documents (made_run) WHERE made_run IS NOT NULL;
CREATE INDEX onto_edges_by_dst ON onto_edges (dst);
CREATE INDEX onto_edges_by_run ON onto_edges (made_run) WHERE made_run IS NOT NULL;
CREATE INDEX onto_edges_by_src ON onto_edges (src);
CREATE INDEX onto_tasks_by_project ON onto_tasks (project_id, id);
CREATE INDEX onto_tasks_by_run ON onto_tasks (made_run) WHERE made_run IS NOT NULL;
CREATE INDEX project_invitations_by_actor ON project_invitations (actor_id, id);
CREATE INDEX project_invitations_by_inviter ON project_invitations (invited_by);
CREATE UNIQUE INDEX project_invitations_once ON project_invitations (project_id, actor_id);
CREATE INDEX project_members_by_actor ON project_members (actor_id, project_id);
CREATE INDEX tokens_by_actor ON tokens (actor_id, id);
CREATE INDEX tokens_by_parent ON tokens (parent) WHERE parent IS NOT NULL;
CREATE INDEX tree_agent_artifacts_by_run ON tree_agent_artifacts (run_id, created_at);
CREATE INDEX tree_agent_nodes_by_run ON tree_agent_nodes (run_id, ordinal);
CREATE INDEX tree_agent_plans_by_run ON tree_agent_plans (run_id, created_at);
CREATE INDEX tree_agent_runs_by_status ON tree_agent_runs (status, id);
CREATE INDEX webhook_deliveries_by_run ON webhook_deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, created_at);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due) WHERE state = 'due';
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX webhooks_by_owner ON webhooks (owner, id);
