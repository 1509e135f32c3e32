-- +goose Up

-- The relay reads past the messages of a name that the broker refuses.
CREATE INDEX outbox_names ON outbox (name, id) WHERE sent_at IS NULL;
