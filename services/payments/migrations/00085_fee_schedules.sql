-- Fee schedules that operators publish. A row never changes: another version is another row. An empty mode is both modes,
-- an empty merchant_id every merchant. Without tiers a merchant pays again what every merchant pays.

-- +goose Up
CREATE TABLE fee_schedules (
    id          text        PRIMARY KEY,
    number      bigint      NOT NULL UNIQUE CHECK (number > 0),
    currency    text        NOT NULL,
    mode        text        NOT NULL CHECK (mode IN ('', 'live', 'test')),
    merchant_id text        NOT NULL CHECK (merchant_id = '' OR mode <> ''),
    tiers       jsonb       NOT NULL CHECK (jsonb_typeof(tiers) = 'array' AND (merchant_id <> '' OR tiers <> '[]')),
    valid_from  timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    created_by  text        NOT NULL,
    note        text        NOT NULL
);
CREATE INDEX fee_schedules_scope ON fee_schedules (merchant_id, currency, mode, valid_from, number);
CREATE TRIGGER fee_schedules_append_only BEFORE UPDATE OR DELETE ON fee_schedules FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER fee_schedules_never_emptied BEFORE TRUNCATE ON fee_schedules FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The fees of docs/api-contract.md#fees. Every payment of an earlier release was priced by them.
INSERT INTO fee_schedules (id, number, currency, mode, merchant_id, tiers, valid_from, created_at, created_by, note)
SELECT id, number, currency, '', '', tiers::jsonb, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'system', 'the first fees'
FROM (VALUES
    ('fee_ngn_1', 1, 'NGN', '[{"upTo":"100000","flat":"500"},{"upTo":"1000000","flat":"1000"},{"upTo":"2000000","flat":"1500"},{"basisPoints":"7.5"}]'),
    ('fee_ghs_1', 2, 'GHS', '[{"upTo":"1000","flat":"5"},{"upTo":"10000","flat":"10"},{"upTo":"20000","flat":"15"},{"basisPoints":"7.5"}]'),
    ('fee_kes_1', 3, 'KES', '[{"upTo":"10000","flat":"50"},{"upTo":"100000","flat":"100"},{"upTo":"200000","flat":"150"},{"basisPoints":"7.5"}]'),
    ('fee_zar_1', 4, 'ZAR', '[{"upTo":"1500","flat":"10"},{"upTo":"15000","flat":"20"},{"upTo":"30000","flat":"30"},{"basisPoints":"10"}]')
) AS first (id, number, currency, tiers);

-- The schedule that priced a payment, with its tiers, so that its money is converted by them whatever is published later.
-- An empty fee_schedule is the first one of the currency, whose tiers the program knows.
ALTER TABLE payments ADD COLUMN fee_schedule text NOT NULL DEFAULT '',
    ADD COLUMN fee_tiers json;
