-- +goose NO TRANSACTION
-- +goose Up
-- Look-ups by the index of a phone, as reports_phone and reports_phone_filtered serve those by the phone itself. Nothing here
-- holds up writes. What an attempt that was cut short has left is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS reports_phone_index;
CREATE INDEX CONCURRENTLY reports_phone_index ON reports (mode, phone_index, created_at DESC, id DESC) WHERE phone_index IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS reports_phone_index_filtered;
CREATE INDEX CONCURRENTLY reports_phone_index_filtered ON reports (mode, phone_index, status, kind, created_at DESC, id DESC)
    WHERE phone_index IS NOT NULL;
ALTER TABLE reports VALIDATE CONSTRAINT reports_phone_or_wallet;
