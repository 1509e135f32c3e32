-- +goose Up

-- A merchant belongs to one shard for ever (docs/decisions/0025-shards.md): that of its row, which its first key makes. A
-- merchant without a row is in the first shard; a release that does not know the table makes keys of that shard alone.
CREATE TABLE merchant_shards (
    merchant_id text PRIMARY KEY CHECK (char_length(merchant_id) BETWEEN 1 AND 50),
    shard       text NOT NULL CHECK (shard ~ '^[A-FHJKMNP-TV-Z2-9][A-HJKMNP-TV-Z2-9]$')
);
INSERT INTO merchant_shards (merchant_id, shard) SELECT DISTINCT merchant_id, 'AA' FROM api_keys;

-- +goose StatementBegin
CREATE FUNCTION merchant_shards_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a merchant keeps its shard';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER merchant_shards_fixed BEFORE UPDATE OR DELETE ON merchant_shards FOR EACH ROW EXECUTE FUNCTION merchant_shards_refuse();

-- +goose Down
DROP TABLE merchant_shards;
DROP FUNCTION merchant_shards_refuse();
