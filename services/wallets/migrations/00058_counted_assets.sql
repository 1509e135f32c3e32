-- +goose Up

-- Amounts are stored in base units. This is how many decimals those of an asset were counted in, and the contract that they
-- were read from last ('' for a network's own coin, and on simulated networks). It is written when a network is first
-- scanned. A release with other decimals would read old money wrong by a power of ten: it closes the network.
CREATE TABLE counted_assets (
    mode     text    NOT NULL,
    network  text    NOT NULL,
    asset    text    NOT NULL,
    contract text    NOT NULL,
    decimals integer NOT NULL,
    PRIMARY KEY (mode, network, asset)
);
