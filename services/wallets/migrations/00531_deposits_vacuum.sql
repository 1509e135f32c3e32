-- +goose Up

-- Every deposit enters and leaves several indexes of what is due. A vacuum takes what has left out of them.
ALTER TABLE deposits SET (autovacuum_vacuum_scale_factor = 0.02);
