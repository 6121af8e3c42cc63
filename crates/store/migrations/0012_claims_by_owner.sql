-- Whose run it is: claims take turns by owner.
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE jobs SET owner = COALESCE(
  (SELECT r.owner FROM homework_runs r WHERE r.id = jobs.run_id),
  (SELECT r.owner FROM tree_agent_runs r WHERE r.id = jobs.run_id),
  (SELECT r.owner FROM agent_task_runs r WHERE r.id = jobs.run_id),
  '');
CREATE INDEX jobs_ready_by_owner ON jobs (owner, due, run_id) WHERE state = 'live' AND lease_owner IS NULL;
CREATE INDEX jobs_held_by_owner ON jobs (owner) WHERE lease_owner IS NOT NULL;
DROP INDEX jobs_ready;

-- The provider a run waits for, as JSON, while it waits.
ALTER TABLE homework_runs ADD COLUMN provider_wait TEXT;
ALTER TABLE tree_agent_runs ADD COLUMN provider_wait TEXT;
ALTER TABLE agent_task_runs ADD COLUMN provider_wait TEXT;
