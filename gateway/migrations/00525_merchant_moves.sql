-- A merchant's new payments are in the shard of its last move, and before any in its home, the row in merchant_shards.
-- Neither ever changes (docs/decisions/0025-shards.md).

-- +goose Up
CREATE TABLE merchant_moves (
    merchant_id text        NOT NULL CHECK (char_length(merchant_id) BETWEEN 1 AND 50),
    shard       text        NOT NULL CHECK (shard ~ '^[A-FHJKMNP-TV-Z2-9][A-HJKMNP-TV-Z2-9]$'),
    moved_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (merchant_id, shard)
);
CREATE TRIGGER merchant_moves_fixed BEFORE UPDATE OR DELETE ON merchant_moves FOR EACH ROW EXECUTE FUNCTION merchant_shards_refuse();
-- Gateways remember the shards of a merchant with its keys.
CREATE TRIGGER merchant_moves_told AFTER INSERT ON merchant_moves FOR EACH ROW EXECUTE FUNCTION merchant_told();
