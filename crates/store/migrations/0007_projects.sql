-- Properties of a project, as documents, tasks and edges have them: a JSON object, merged key by key.
ALTER TABLE onto_projects ADD COLUMN props TEXT NOT NULL DEFAULT '{}';
