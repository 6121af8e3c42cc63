-- The projects a credential is narrowed to: a JSON list; empty means everything its actor may see.
ALTER TABLE tokens ADD COLUMN projects TEXT NOT NULL DEFAULT '[]';

-- How far a run's log was told as traces. The row with an empty id holds since when there are traces at all, as its seq.
-- claimed_until: whoever sends has it until then.
CREATE TABLE trace_cursors (
  run_id TEXT PRIMARY KEY,
  seq BIGINT NOT NULL,
  claimed_until BIGINT
)
