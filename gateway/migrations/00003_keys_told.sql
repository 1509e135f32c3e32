-- +goose Up

-- Every change of a key is told, on commit, to the gateways that remember it. A trigger does it, so that no statement,
-- of an operator at a prompt neither, changes a key unheard. Times of use and re-sealing change nothing for callers.
-- +goose StatementBegin
CREATE FUNCTION api_key_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('api_keys', NEW.id::text);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION api_key_secret_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('api_keys', NEW.key_id::text);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER api_keys_told
    AFTER UPDATE OF merchant_id, name, mode, permissions, allowed_cidrs, tier, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_key_told();
CREATE TRIGGER api_key_secrets_told AFTER UPDATE OF key_id, until ON api_key_secrets
    FOR EACH ROW EXECUTE FUNCTION api_key_secret_told();

-- +goose Down
DROP TRIGGER api_key_secrets_told ON api_key_secrets;
DROP TRIGGER api_keys_told ON api_keys;
DROP FUNCTION api_key_secret_told();
DROP FUNCTION api_key_told();
