-- One row per commit instead of one per event: a commit of a tree has about twenty events, and each was a row in a table and two indexes.
-- events: a JSON array with one array per event: node, its parent, type, milliseconds since 1970 UTC, actor, hash, payload. The first
-- event has first_seq, and the others follow without a gap. The payload is the exact text that was hashed.
CREATE TABLE run_commits (
  run_id TEXT NOT NULL,
  first_seq BIGINT NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (run_id, first_seq)
);

-- Where the commits of an earlier version ended is not known any more: 32 events make one.
INSERT INTO run_commits (run_id, first_seq, events)
SELECT run_id, MIN(seq), '[' || string_agg('[' ||
    CASE WHEN node_id IS NULL THEN 'null' ELSE '"' || node_id || '"' END || ',' ||
    CASE WHEN parent_node_id IS NULL THEN 'null' ELSE '"' || parent_node_id || '"' END || ',"' ||
    type || '",' || at || ',"' || actor || '","' || lower(hex(hash)) || '",' || payload || ']', ',' ORDER BY seq) || ']'
FROM (
  SELECT run_id, seq, node_id, parent_node_id, type, at, actor, hash, payload FROM homework_run_events
  UNION ALL SELECT run_id, seq, node_id, parent_node_id, type, at, actor, hash, payload FROM tree_agent_events
  UNION ALL SELECT run_id, seq, node_id, parent_node_id, type, at, actor, hash, payload FROM agent_task_events
) e
GROUP BY run_id, (seq - 1) / 32;

DROP TABLE homework_run_events;
DROP TABLE tree_agent_events;
DROP TABLE agent_task_events;

-- One row per event, for people who read the database.
CREATE VIEW run_events AS
SELECT c.run_id AS run_id, c.first_seq + e.key AS seq, e.value ->> 0 AS node_id, e.value ->> 1 AS parent_node_id, e.value ->> 2 AS type,
  CAST(e.value ->> 3 AS BIGINT) AS at, e.value ->> 4 AS actor, e.value ->> 5 AS hash, CAST(e.value -> 6 AS TEXT) AS payload
FROM run_commits c, json_each(c.events) e;
CREATE VIEW homework_run_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'homework';
CREATE VIEW tree_agent_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'tree';
CREATE VIEW agent_task_events AS SELECT e.* FROM run_events e JOIN jobs j ON j.run_id = e.run_id WHERE j.kind = 'task'
