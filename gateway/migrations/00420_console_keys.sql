-- +goose Up

-- People act through a console under the console key of their merchant and mode. It has no usable secret.
ALTER TABLE api_keys ADD COLUMN kind text NOT NULL DEFAULT 'key' CHECK (kind IN ('key', 'console'));
CREATE UNIQUE INDEX api_keys_console ON api_keys (merchant_id, mode) WHERE kind = 'console';

-- +goose Down
DROP INDEX api_keys_console;
ALTER TABLE api_keys DROP COLUMN kind;
