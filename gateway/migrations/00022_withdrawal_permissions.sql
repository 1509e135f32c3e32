-- Live keys that were made before the permissions settlement:manage and withdrawal:create existed do not get them through
-- their *: who made them granted the permissions of then. In test mode * keeps meaning everything, because no money moves there.

-- +goose Up
UPDATE api_keys SET permissions = array_remove(permissions, '*') || ARRAY[
    'payment:create', 'payment:read', 'refund:create', 'wallet:create', 'wallet:read', 'report:create', 'report:manage', 'webhook:manage']
WHERE mode = 'live' AND '*' = ANY (permissions);
