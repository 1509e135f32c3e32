-- +goose Up

-- Events stay in the outbox until the dispatcher has stored them.
ALTER TABLE outbox ADD COLUMN sent_at timestamptz;
CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
