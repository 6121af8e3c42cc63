-- What subagents learned in somebody's run. run_id, seq: the event behind it; iteration and branch_id, or node_id: where in the run.
-- settled_by, settled_at: who promoted or dismissed it; version: of the scratchpad that it became a part of.
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
);
CREATE INDEX agent_lessons_by_agent ON agent_lessons (agent_id, id);

-- agents: the handles of those a run may give work to, as a JSON list. agent: whom a node was given to.
ALTER TABLE homework_runs ADD COLUMN agents TEXT;
ALTER TABLE tree_agent_runs ADD COLUMN agents TEXT;
ALTER TABLE tree_agent_nodes ADD COLUMN agent TEXT
