-- A run's view after a seq, to go on folding from; made again from the log when it is missing.
CREATE TABLE run_checkpoints (
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  format BIGINT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (run_id, seq)
);

-- Who has read which notification.
CREATE TABLE notification_reads (
  actor_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, run_id, seq)
) WITHOUT ROWID;

-- kinds: a JSON list; empty means every kind. secret: needed to sign, so it is kept as it is.
-- disabled_reason: why the platform stopped sending; NULL while it sends.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  url TEXT NOT NULL,
  template TEXT NOT NULL,
  kinds TEXT NOT NULL,
  secret TEXT NOT NULL,
  disabled_reason TEXT,
  created_at BIGINT NOT NULL
);
CREATE INDEX webhooks_by_owner ON webhooks (owner, id);

-- One per webhook and notification; id is the same on every attempt. state: due, delivered, failed.
-- A test has no run. claimed_until: whoever sends it has it until then.
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  run_id TEXT,
  seq BIGINT,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  due BIGINT NOT NULL,
  claimed_until BIGINT,
  last_status BIGINT,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  delivered_at BIGINT
);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due) WHERE state = 'due';
CREATE INDEX webhook_deliveries_by_run ON webhook_deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, created_at)
