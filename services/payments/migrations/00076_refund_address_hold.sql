-- Nobody was notified of the refund addresses that were set before this version, so none of them is used at once.

-- +goose Up
UPDATE payments SET refund_address_from = now() + interval '24 hours' WHERE mode = 'live' AND refund_address <> '';
