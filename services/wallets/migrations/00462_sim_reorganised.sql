-- +goose Up

-- A simulated transfer may leave the chain again, alone: once its block has leaves_after confirmations the transfer is in
-- no block, and where it returns a block from returns_at on holds it again.
ALTER TABLE sim_transfers
    ADD COLUMN leaves_after bigint  NOT NULL DEFAULT 0,
    ADD COLUMN returns      boolean NOT NULL DEFAULT false,
    ADD COLUMN returns_at   bigint  NOT NULL DEFAULT 0;
CREATE INDEX sim_transfers_leaving ON sim_transfers (network) WHERE leaves_after > 0;
