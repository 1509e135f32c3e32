-- +goose Up
-- Where the request that created a payment stands in its trace (a W3C trace parent of 55 characters), so that what happens to
-- the payment hours later goes on in the same one. Null where nobody records the trace: such a create pays nothing for it.
ALTER TABLE payments ADD COLUMN trace text;
