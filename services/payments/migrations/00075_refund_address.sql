-- A payer may propose the address of a refund, and each change of the address starts a time in which no refund leaves.
-- null is an address without such a time.

-- +goose Up
ALTER TABLE payments ADD COLUMN refund_address_from timestamptz,
    ADD COLUMN refund_address_proposed text NOT NULL DEFAULT '',
    ADD COLUMN refund_proposals integer NOT NULL DEFAULT 0;
