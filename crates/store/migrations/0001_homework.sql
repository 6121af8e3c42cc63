-- Portable: BLOB becomes BYTEA and WITHOUT ROWID goes away on PostgreSQL. Times are milliseconds since 1970 UTC.
-- WITHOUT ROWID only where rows are small: there a row above a kilobyte takes pages of its own.

CREATE TABLE actors (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  handle TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE project_members (
  project_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  PRIMARY KEY (project_id, actor_id)
) WITHOUT ROWID;
CREATE INDEX project_members_by_actor ON project_members (actor_id, project_id);

-- One row per run, kept as long as the run. state: live (someone must drive it) or idle.
-- prior_seen is last_seen as it was before the latest claim.
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
);
CREATE INDEX jobs_ready ON jobs (due, run_id) WHERE state = 'live' AND lease_owner IS NULL;
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'live' AND lease_owner IS NOT NULL;
CREATE INDEX jobs_by_worker ON jobs (lease_owner) WHERE lease_owner IS NOT NULL;

CREATE TABLE blobs (
  hash BLOB PRIMARY KEY,
  body BLOB NOT NULL
);

-- Which runs need a text; one that no run needs is pruned. By run, so that what a run refers to shares a few pages.
CREATE TABLE blob_refs (
  run_id TEXT NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (run_id, hash)
) WITHOUT ROWID;

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
);
CREATE INDEX homework_runs_by_status ON homework_runs (status, id);

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

CREATE TABLE homework_run_events (
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

-- The projects a run may touch: who else sees it.
CREATE TABLE run_projects (
  run_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  PRIMARY KEY (run_id, project_id)
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
CREATE INDEX notifications_by_owner ON notifications (owner, at);

-- made_run, made_seq: the event that created an entity. run_id, seq, actor: the last change.
-- terms: the distinct search terms of title and text, each between spaces; empty for the platform's own.
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
);
CREATE INDEX onto_documents_by_project ON onto_documents (project_id, id);
CREATE INDEX onto_documents_by_run ON onto_documents (made_run) WHERE made_run IS NOT NULL;

-- Superseded versions only; the current one is the document itself.
CREATE TABLE onto_document_versions (
  document_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  title TEXT NOT NULL,
  body BLOB NOT NULL,
  actor TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  at BIGINT NOT NULL,
  PRIMARY KEY (document_id, version)
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
CREATE INDEX onto_document_entries_in_order ON onto_document_entries (document_id, position);
CREATE INDEX onto_document_entries_by_run ON onto_document_entries (run_id) WHERE run_id IS NOT NULL;

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
);
CREATE INDEX onto_tasks_by_project ON onto_tasks (project_id, id);
CREATE INDEX onto_tasks_by_run ON onto_tasks (made_run) WHERE made_run IS NOT NULL;

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
);
CREATE INDEX onto_edges_by_src ON onto_edges (src);
CREATE INDEX onto_edges_by_dst ON onto_edges (dst);
CREATE INDEX onto_edges_by_run ON onto_edges (made_run) WHERE made_run IS NOT NULL
