-- +goose Up
-- Lists of a merchant: newest first within a status; a list of all statuses merges one range for each of them, so that its
-- cost does not grow with the number of payments.
CREATE INDEX payments_list ON payments (merchant_id, mode, status, id);
-- The operators' list of what waits for a decision.
CREATE INDEX payments_review ON payments (id) WHERE status = 'needs_review';

-- What operators decided and why, for ever.
CREATE TABLE decisions (
    payment_id text        NOT NULL,
    version    bigint      NOT NULL,
    operator   text        NOT NULL,
    action     text        NOT NULL,
    reason     text        NOT NULL,
    tx_hash    text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (payment_id, version)
);
CREATE TRIGGER decisions_append_only BEFORE UPDATE OR DELETE ON decisions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER decisions_never_emptied BEFORE TRUNCATE ON decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
