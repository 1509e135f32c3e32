-- +goose Up

-- Cancellations of refunds and withdrawals whose order was not here, since a restore: it may be lost, or on its way.
-- The order finds its row when it comes, and is not paid.
CREATE TABLE refund_cancellations (
    refund text        PRIMARY KEY,
    at     timestamptz NOT NULL DEFAULT now()
);
