-- Live keys that were made before the permission wallet:withdraw existed do not get it through their wildcards: the person
-- who made them granted the permissions of then. In test mode wildcards keep meaning everything, because no money moves there.

-- +goose Up
UPDATE api_keys SET permissions = array_remove(permissions, '*') || ARRAY[
    'payment:create', 'payment:read', 'refund:create', 'wallet:create', 'wallet:read', 'report:create', 'report:manage', 'webhook:manage',
    'settlement:manage', 'withdrawal:create']
WHERE mode = 'live' AND '*' = ANY (permissions);
UPDATE api_keys SET permissions = array_remove(permissions, 'wallet:*') || ARRAY['wallet:create', 'wallet:read']
WHERE mode = 'live' AND 'wallet:*' = ANY (permissions);
