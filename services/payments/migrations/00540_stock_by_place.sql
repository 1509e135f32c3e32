-- Statements change the addresses that they have just found in the stock where they lie, and nothing looks one up by
-- its id. Every version of a row paid for an entry in this index. The planner took it for the oldest free addresses of
-- a family, and read past those of all others. The key is (mode, family, address), as before; id keeps the order.

-- +goose Up
ALTER TABLE address_stock DROP CONSTRAINT address_stock_pkey;
