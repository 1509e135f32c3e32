-- After a refused batch, its sweeps are planned in smaller ones.

-- +goose Up

-- The sweeps that the next transaction of a sweep may carry; 0 for any number.
ALTER TABLE sweeps ADD COLUMN together integer NOT NULL DEFAULT 0;
