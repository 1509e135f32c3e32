-- +goose Up

-- ANALYZE counts the values of each column that has statistics, and reads wide values for it. Where a condition names
-- one of these columns, it finds its rows by another column or reads them all, so no plan needs their statistics.
-- In the order in which running pods lock these tables (dispatcher_rotate).
ALTER TABLE attempt
    ALTER COLUMN remote SET STATISTICS 0,
    ALTER COLUMN dns_us SET STATISTICS 0,
    ALTER COLUMN connect_us SET STATISTICS 0,
    ALTER COLUMN tls_us SET STATISTICS 0,
    ALTER COLUMN wait_us SET STATISTICS 0,
    ALTER COLUMN total_us SET STATISTICS 0,
    ALTER COLUMN headers SET STATISTICS 0,
    ALTER COLUMN excerpt SET STATISTICS 0,
    ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE delivery_done
    ALTER COLUMN url SET STATISTICS 0,
    ALTER COLUMN remote SET STATISTICS 0,
    ALTER COLUMN dns_us SET STATISTICS 0,
    ALTER COLUMN connect_us SET STATISTICS 0,
    ALTER COLUMN tls_us SET STATISTICS 0,
    ALTER COLUMN wait_us SET STATISTICS 0,
    ALTER COLUMN total_us SET STATISTICS 0,
    ALTER COLUMN headers SET STATISTICS 0,
    ALTER COLUMN excerpt SET STATISTICS 0,
    ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE event
    ALTER COLUMN occurred_at SET STATISTICS 0,
    ALTER COLUMN trace SET STATISTICS 0,
    ALTER COLUMN body SET STATISTICS 0,
    ALTER COLUMN token SET STATISTICS 0,
    ALTER COLUMN fan SET STATISTICS 0;
