-- role: viewer, editor or owner. Members from before roles could do everything but remove each other's rights: editors.
ALTER TABLE project_members ADD COLUMN role TEXT NOT NULL DEFAULT 'editor';

-- created_by: who made the project. Where nobody wrote that down: the owner of the run that made it, else whoever of its
-- people has been here longest.
ALTER TABLE onto_projects ADD COLUMN created_by TEXT;
UPDATE onto_projects SET created_by = (SELECT r.owner FROM homework_runs r WHERE r.id = onto_projects.made_run)
  WHERE made_run IS NOT NULL;
UPDATE onto_projects SET created_by = (SELECT r.owner FROM tree_agent_runs r WHERE r.id = onto_projects.made_run)
  WHERE made_run IS NOT NULL AND created_by IS NULL;
UPDATE onto_projects SET created_by = (SELECT r.owner FROM agent_task_runs r WHERE r.id = onto_projects.made_run)
  WHERE made_run IS NOT NULL AND created_by IS NULL;
UPDATE onto_projects SET created_by = (SELECT MIN(m.actor_id) FROM project_members m JOIN actors a ON a.id = m.actor_id
    WHERE m.project_id = onto_projects.id AND a.kind = 'person')
  WHERE created_by IS NULL OR NOT EXISTS
    (SELECT 1 FROM project_members m WHERE m.project_id = onto_projects.id AND m.actor_id = onto_projects.created_by);
UPDATE project_members SET role = 'owner' WHERE EXISTS
  (SELECT 1 FROM onto_projects p WHERE p.id = project_members.project_id AND p.created_by = project_members.actor_id);

-- Open invitations only: one that is accepted, declined or withdrawn is removed. Its notification has its id as run_id, and seq 0.
CREATE TABLE project_invitations (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  role TEXT NOT NULL,
  invited_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX project_invitations_once ON project_invitations (project_id, actor_id);
CREATE INDEX project_invitations_by_actor ON project_invitations (actor_id, id);
CREATE INDEX project_invitations_by_inviter ON project_invitations (invited_by)
