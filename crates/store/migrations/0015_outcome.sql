-- What a run that is over came to. Runs that an earlier version ended were never checked, so they read as claimed.
ALTER TABLE homework_runs ADD COLUMN outcome TEXT;
ALTER TABLE tree_agent_runs ADD COLUMN outcome TEXT;
ALTER TABLE agent_task_runs ADD COLUMN outcome TEXT;
UPDATE homework_runs SET outcome = 'claimed' WHERE status IN ('completed', 'stopped', 'canceled', 'failed');
UPDATE tree_agent_runs SET outcome = 'claimed' WHERE status IN ('completed', 'stopped', 'canceled', 'failed');
UPDATE agent_task_runs SET outcome = 'claimed' WHERE status IN ('completed', 'stopped', 'canceled', 'failed');
