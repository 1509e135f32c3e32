-- The shard that this database belongs to (libs/placed). One with objects from before shards is in the first.

-- +goose Up
CREATE TABLE placed (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    shard text    NOT NULL
);
INSERT INTO placed (shard) SELECT 'AA' WHERE EXISTS (SELECT FROM secret);
