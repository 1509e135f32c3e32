-- Addresses again in the form that a start loads: a hundred million rows would take minutes.

-- +goose Up
CREATE TABLE address_segments (
    mode       text        NOT NULL,
    family     text        NOT NULL,
    last_seq   bigint      NOT NULL,  -- of its addresses, which follow those of the segment before
    count      integer     NOT NULL,
    ends       bytea       NOT NULL,  -- the last eight bytes of each key, in the order of seq
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (mode, family, last_seq),
    CHECK (octet_length(ends) = 8 * count),
    FOREIGN KEY (mode, family) REFERENCES counters (mode, family)
);
ALTER TABLE address_segments ALTER COLUMN ends SET STORAGE EXTERNAL; -- hashes do not compress
