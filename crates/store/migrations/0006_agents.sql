-- Subagents: actors that a person owns. actions: a JSON list of what it may do beyond its own scratchpad and reading.
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  identity TEXT NOT NULL,
  actions TEXT NOT NULL,
  model TEXT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX agents_by_owner ON agents (owner, id);

-- Every version of every scratchpad; the newest is the present one. run_id, seq, step: what wrote it, if it was a run.
CREATE TABLE agent_scratchpads (
  agent_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  content TEXT NOT NULL,
  actor TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  step BIGINT,
  at BIGINT NOT NULL,
  PRIMARY KEY (agent_id, version)
);

-- Whose task it is: of one subagent's only one is held at a time.
ALTER TABLE jobs ADD COLUMN agent TEXT;
CREATE INDEX jobs_by_agent ON jobs (agent, state) WHERE agent IS NOT NULL;

-- agent, agent_id, max_steps: who was sent, and how far.
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
);
CREATE INDEX agent_task_runs_by_status ON agent_task_runs (status, id);
CREATE INDEX agent_task_runs_by_agent ON agent_task_runs (agent_id, id);

CREATE TABLE agent_task_events (
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

-- result_hash, result_bytes: the page that came of it, among the blobs. seq: the event that chose it.
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
)
