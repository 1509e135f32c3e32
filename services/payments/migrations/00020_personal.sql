-- +goose Up
-- payer and receiver are sealed under the master keys (docs/runbooks/personal-data.md). This is what a payer is found by: an
-- HMAC of its id. It has no index, which every create would pay for: a merchant's payments are walked instead, when a person
-- is to be forgotten.
ALTER TABLE payments ADD COLUMN payer_index bytea;

-- What operators did beside deciding on payments, for ever: pauses, erasures. The detail names no person.
CREATE TABLE audit (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text        NOT NULL,
    action   text        NOT NULL,
    detail   jsonb       NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
