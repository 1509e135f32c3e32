-- The last four digits of the receiver's account, keyed, by which operators find a payment. Payments from before have none
-- until they change, or until `payments rotate-master` seals them again.

-- +goose Up
ALTER TABLE payments ADD COLUMN account_index bytea;
