-- What was answered to requests with an Idempotency-Key, by credential: key:ID or, over the owner's socket, socket:ACTOR.
-- The answers kept until now belonged to actors and may hold secrets, so they are not taken over.
DROP TABLE kept_answers;
CREATE TABLE kept_answers (
  credential TEXT NOT NULL,
  name TEXT NOT NULL,
  request BLOB NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT,
  content_type TEXT,
  body TEXT,
  PRIMARY KEY (credential, name)
);
CREATE INDEX kept_answers_by_age ON kept_answers (at)
