-- +goose Up
-- How a payment belongs to its merchant's shop. A column with a constant default rewrites no row.
ALTER TABLE payments
    ADD COLUMN merchant_reference text NOT NULL DEFAULT '',
    ADD COLUMN description        text NOT NULL DEFAULT '',
    ADD COLUMN locale             text NOT NULL DEFAULT '',
    ADD COLUMN return_url         text NOT NULL DEFAULT '';

-- The payment that holds a merchant's reference. It cannot be a unique index of payments: one that has expired frees its
-- reference, and may come back with late money, which nothing may refuse. A create takes the row over where its payment
-- has ended without money, and else writes no payment: payment_id becomes null, which the constraint refuses.
CREATE TABLE merchant_references (
    merchant_id text NOT NULL,
    mode        text NOT NULL CHECK (mode IN ('live', 'test')),
    reference   text NOT NULL,
    payment_id  text,
    PRIMARY KEY (merchant_id, mode, reference),
    CONSTRAINT merchant_references_free CHECK (payment_id IS NOT NULL)
);
