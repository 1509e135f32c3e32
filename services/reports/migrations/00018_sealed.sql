-- +goose Up
-- Who files a report is sealed under the master keys (docs/runbooks/personal-data.md): person holds the session reference, the
-- name, the phone, the description, the confirmer and the notes, and the columns of these are then empty. phone_index is what
-- the phone is found by: an HMAC of it. A row whose person is null is in the clear, as earlier releases wrote it.
ALTER TABLE reports ADD COLUMN person bytea, ADD COLUMN phone_index bytea;
ALTER TABLE reports DROP CONSTRAINT reports_phone_or_wallet;
ALTER TABLE reports ADD CONSTRAINT reports_phone_or_wallet CHECK (num_nonnulls(phone, wallet, person) > 0) NOT VALID;
