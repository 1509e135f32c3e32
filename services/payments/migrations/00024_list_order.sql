-- +goose Up
-- Lists of a merchant, newest first within a status, by equal columns. The order is one that the primary key cannot give, or
-- the planner would now and then walk that, which takes long to find a few payments of one merchant. A comparison of whole
-- rows, which the index before this one was read with, does not stop a scan at the end of a status: a list read past every
-- payment of the merchant's other statuses.
CREATE INDEX payments_list_order ON payments (merchant_id, mode, status, id DESC NULLS LAST);
DROP INDEX payments_list;
ALTER INDEX payments_list_order RENAME TO payments_list;
