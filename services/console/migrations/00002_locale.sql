-- +goose Up
-- The language of a person's pages, as in ?lang=; '' is the browser's.
ALTER TABLE people ADD COLUMN locale text NOT NULL DEFAULT '';
