-- +goose Up

-- A key keeps its id for ever (reports record it as apiKeyId); its secrets change with each rotation.
CREATE TABLE api_keys (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id   text        NOT NULL CHECK (char_length(merchant_id) BETWEEN 1 AND 50),
    name          text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    mode          text        NOT NULL CHECK (mode IN ('live', 'test')),
    permissions   text[]      NOT NULL CHECK (cardinality(permissions) > 0),
    allowed_cidrs cidr[]      NOT NULL DEFAULT '{}',
    tier          text        NOT NULL CHECK (tier IN ('standard', 'premium', 'unlimited')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
CREATE INDEX api_keys_merchant ON api_keys (merchant_id, id);

-- The secret itself is nowhere: digest is HMAC-SHA-256(pepper, secret), signing_key is sealed under a master key whose
-- id stands in its first bytes. until ends the overlap after a rotation; null is the current secret.
CREATE TABLE api_key_secrets (
    digest      bytea       PRIMARY KEY CHECK (octet_length(digest) = 32),
    pepper_id   text        NOT NULL,
    key_id      bigint      NOT NULL REFERENCES api_keys,
    public_key  text        NOT NULL UNIQUE,
    signing_key bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    until       timestamptz
);
CREATE UNIQUE INDEX api_key_secrets_current ON api_key_secrets (key_id) WHERE until IS NULL;
CREATE INDEX api_key_secrets_key ON api_key_secrets (key_id);

-- What operators did, in the transaction of the act itself. Append-only; dropped by month (design.md §4, Retention).
CREATE TABLE audit (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL DEFAULT now(),
    actor      text        NOT NULL,
    act        text        NOT NULL,
    object     text        NOT NULL,
    request_id text        NOT NULL,
    client_ip  inet,
    detail     jsonb       NOT NULL DEFAULT '{}',
    PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX audit_object ON audit (object, at);

-- +goose StatementBegin
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();

-- audit_prepare makes the partitions of this month and the next two. It runs as the owner, so that the application's
-- role needs no right to create anything.
-- +goose StatementBegin
CREATE FUNCTION audit_prepare() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month timestamp; -- in UTC, so that no session's zone moves a border
    name  text;
BEGIN
    FOR ahead IN 0..2 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead);
        name := 'audit_' || to_char(month, 'YYYYMM');
        IF to_regclass('public.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF audit FOR VALUES FROM (%L) TO (%L)',
                name, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd
SELECT audit_prepare();

-- +goose Down
DROP FUNCTION audit_prepare();
DROP TABLE audit;
DROP FUNCTION audit_refuse();
DROP TABLE api_key_secrets;
DROP TABLE api_keys;
