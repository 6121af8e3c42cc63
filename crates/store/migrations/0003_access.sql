-- Credentials. kind: token, session or code. parent: the token a session was opened with. digest: SHA-256 of the secret, which is nowhere.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  actor_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  parent TEXT,
  name TEXT NOT NULL,
  access TEXT NOT NULL,
  prefix TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  used_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX tokens_by_actor ON tokens (actor_id, id);
CREATE INDEX tokens_by_parent ON tokens (parent) WHERE parent IS NOT NULL;

-- What was answered to requests with an Idempotency-Key; without a status while one is being worked on.
CREATE TABLE kept_answers (
  actor_id TEXT NOT NULL,
  name TEXT NOT NULL,
  request BLOB NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT,
  content_type TEXT,
  body TEXT,
  PRIMARY KEY (actor_id, name)
);
CREATE INDEX kept_answers_by_age ON kept_answers (at)
