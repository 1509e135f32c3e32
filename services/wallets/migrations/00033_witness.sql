-- +goose Up

-- What endpoints of other hosts say about a deposit: '' before anybody was asked (rows of earlier releases), pending,
-- confirmed, contradicted, or alone where one host serves the network.
ALTER TABLE deposits ADD COLUMN witness text NOT NULL DEFAULT '';
CREATE INDEX deposits_to_witness ON deposits (mode, network, height)
WHERE state = 'confirmed' AND witness IN ('pending', 'contradicted', 'alone');
