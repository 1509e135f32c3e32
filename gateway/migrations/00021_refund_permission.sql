-- Live keys that were made before the permission refund:create existed do not get it through their *: who made them
-- granted the permissions of then. In test mode * keeps meaning everything, because no money moves there.

-- +goose Up
UPDATE api_keys SET permissions = array_remove(permissions, '*') || ARRAY[
    'payment:create', 'payment:read', 'wallet:create', 'wallet:read', 'report:create', 'report:manage', 'webhook:manage']
WHERE mode = 'live' AND '*' = ANY (permissions);
