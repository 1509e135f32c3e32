-- +goose Up

-- A merchant, as operators and it itself see it. version grows with each change and with the clock, so that it is no
-- older after a restore. payments has to know the change of version tell, and has acknowledged told; tell_at is when a
-- gateway tells it again. Empty lists of currencies, networks and types mean all.
CREATE TABLE merchants (
    n               bigint      GENERATED ALWAYS AS IDENTITY UNIQUE,
    merchant_id     text        PRIMARY KEY CHECK (char_length(merchant_id) BETWEEN 1 AND 50),
    name            text        NOT NULL,
    country         text        NOT NULL DEFAULT '' CHECK (country = '' OR country ~ '^[A-Z]{2}$'),
    contact_email   text        NOT NULL DEFAULT '',
    support_contact text        NOT NULL DEFAULT '',
    logo            bytea       CHECK (octet_length(logo) <= 1048576),
    logo_name       text        NOT NULL DEFAULT '',
    status          text        NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'active', 'suspended')),
    reason          text        NOT NULL DEFAULT '',
    currencies      text[]      NOT NULL DEFAULT '{}',
    networks        text[]      NOT NULL DEFAULT '{}',
    types           text[]      NOT NULL DEFAULT '{}',
    limits          jsonb       NOT NULL DEFAULT '{}',
    created_by      text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    approved_by     text        NOT NULL DEFAULT '',
    approved_at     timestamptz,
    suspended_by    text        NOT NULL DEFAULT '',
    suspended_at    timestamptz,
    version         bigint      NOT NULL DEFAULT 1,
    tell            bigint      NOT NULL DEFAULT 0,
    told            bigint      NOT NULL DEFAULT 0,
    tell_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX merchants_untold ON merchants (tell_at) WHERE told < tell;
CREATE INDEX merchants_status ON merchants (status, n);
CREATE INDEX merchants_logo ON merchants (logo_name) WHERE logo_name <> '';

-- A merchant who has a key was taken before there was anybody to approve.
INSERT INTO merchants (merchant_id, name, status, created_by, approved_by, approved_at)
SELECT merchant_id, merchant_id, 'active', 'migration', 'migration', now() FROM api_keys GROUP BY merchant_id ORDER BY min(id);

-- A key always has a merchant. A release that does not know the table makes drafts.
-- +goose StatementBegin
CREATE FUNCTION api_key_merchant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO merchants (merchant_id, name, created_by) VALUES (NEW.merchant_id, NEW.merchant_id, 'key') ON CONFLICT DO NOTHING;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER api_keys_merchant BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION api_key_merchant();

-- Gateways remember a merchant with its keys, and forget them on a change (00003_keys_told.sql).
-- +goose StatementBegin
CREATE FUNCTION merchant_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('api_keys', 'merchant:' || NEW.merchant_id);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER merchants_told AFTER UPDATE OF name, support_contact, logo_name, status, currencies, networks, types, limits ON merchants
    FOR EACH ROW EXECUTE FUNCTION merchant_told();

-- +goose Down
DROP TRIGGER api_keys_merchant ON api_keys;
DROP FUNCTION api_key_merchant();
DROP TABLE merchants;
DROP FUNCTION merchant_told();
