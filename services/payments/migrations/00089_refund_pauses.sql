-- +goose Up

-- The last list of the pauses of refunds that wallets was sent.
CREATE TABLE refund_pauses_sent (
    one     boolean     PRIMARY KEY DEFAULT true CHECK (one),
    version bigint      NOT NULL,
    sent_at timestamptz NOT NULL
);
INSERT INTO refund_pauses_sent (version, sent_at) VALUES (0, '-infinity');
