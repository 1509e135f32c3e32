-- +goose NO TRANSACTION
-- +goose Up
-- Lists by every filter. One lane holds the payments of a status, a type, a mode and a merchant, newest first; a list merges
-- the newest of its lanes, of which there are as many as statuses and types, whatever is filtered by and however many payments
-- there are. The index payments_list before it had no type: a page of a rare one read past all others. Operators' lists skip
-- from lane to lane of all merchants, and what is open is the lanes of the open statuses, so that payments_review is needed no
-- more.
--
-- The collation is one that the primary key does not have, or the planner would now and then walk that in search of a few
-- payments of one lane.
--
-- Nothing here holds up writes. What an attempt that was cut short has left is dropped first. A replica of the version before
-- this one still answers, if slowly, until it is replaced.
DROP INDEX CONCURRENTLY IF EXISTS payments_lanes;
CREATE INDEX CONCURRENTLY payments_lanes ON payments (status, type, mode, merchant_id, id COLLATE "C" DESC);
-- Settlements of a time, in their order. A create has no entry in it.
DROP INDEX CONCURRENTLY IF EXISTS payments_settled;
CREATE INDEX CONCURRENTLY payments_settled ON payments (merchant_id, mode, settled_at, id) WHERE status = 'settled';
DROP INDEX CONCURRENTLY IF EXISTS payments_list;
DROP INDEX CONCURRENTLY IF EXISTS payments_review;
