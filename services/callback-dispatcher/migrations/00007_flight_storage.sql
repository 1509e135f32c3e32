-- +goose Up
-- What a flight names does not compress, being ids, and is gone in a moment: it stays in the row, as it is, where it fits.
ALTER TABLE flight
    ALTER COLUMN events SET STORAGE EXTERNAL,
    ALTER COLUMN slots SET STORAGE EXTERNAL,
    SET (toast_tuple_target = 8160);
