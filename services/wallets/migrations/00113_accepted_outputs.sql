-- Outputs of bitcoin that somebody else has spent, and that an operator has explained.

-- +goose Up
ALTER TABLE holding_outputs ADD COLUMN accepted boolean NOT NULL DEFAULT false;
