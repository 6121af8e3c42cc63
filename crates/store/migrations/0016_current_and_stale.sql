-- is_stale: something it was shown has been replaced since. is_current: neither it nor a node above it was replaced, and of an
-- artifact that its node has neither begun again nor given another in its place. shortfall: why a result is partial. title: of
-- data, because a document has its own.
ALTER TABLE tree_agent_nodes ADD COLUMN is_stale BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tree_agent_nodes ADD COLUMN is_current BIGINT NOT NULL DEFAULT 1;
ALTER TABLE tree_agent_nodes ADD COLUMN shortfall TEXT;
ALTER TABLE tree_agent_artifacts ADD COLUMN is_stale BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tree_agent_artifacts ADD COLUMN is_current BIGINT NOT NULL DEFAULT 1;
ALTER TABLE tree_agent_artifacts ADD COLUMN title TEXT;
