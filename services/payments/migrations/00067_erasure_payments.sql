-- +goose Up
-- The payments of an erasure (00057) that are still to be erased. They are looked for when it is asked for, and a minute
-- later, in batches: walk_of is the time of that, walk_after the payment after which the next batch begins, null once all were
-- looked at.
ALTER TABLE erasures
    ADD COLUMN walk_of    timestamptz,
    ADD COLUMN walk_after text;

-- wait says why a payment is not erased yet, and since is the time from which that wait counts; how long it takes is a setting.
-- open: it is not over, and is looked at again. law: it is kept by law. copies: other services may hold copies.
CREATE TABLE erasure_payments (
    erasure_id bigint      NOT NULL,
    payment_id text        NOT NULL,
    wait       text        NOT NULL DEFAULT 'open' CHECK (wait IN ('open', 'law', 'copies')),
    since      timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (erasure_id, payment_id)
);
CREATE INDEX erasure_payments_wait ON erasure_payments (wait, since);
