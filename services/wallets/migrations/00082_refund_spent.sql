-- A refund that cannot be given up, because the signer has signed a transaction for its order.

-- +goose Up

-- spent says that the signer knows a transaction for the refund's order that this database does not have, as after a
-- restore.
ALTER TABLE refunds ADD COLUMN spent boolean NOT NULL DEFAULT false;
