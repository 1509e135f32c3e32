-- The outputs of bitcoin at the addresses of this system, for the report of the treasury: nodes tell no balance.

-- +goose Up

-- The height up to which the final blocks were read for an address, and under the name '' for all deposit addresses.
CREATE TABLE holding_follows (
    network text   NOT NULL,
    address text   NOT NULL,
    height  bigint NOT NULL,
    PRIMARY KEY (network, address)
);

-- What a block paid to an address. A deposit that its block does not have has an amount of zero.
CREATE TABLE holding_outputs (
    network text           NOT NULL,
    tx_hash text           NOT NULL,
    ordinal bigint         NOT NULL,
    address text           NOT NULL,
    amount  numeric(78, 0) NOT NULL CHECK (amount >= 0),
    height  bigint         NOT NULL,
    spent   bigint, -- the height of the block that spends it
    PRIMARY KEY (network, tx_hash, ordinal)
);
CREATE INDEX holding_outputs_by_address ON holding_outputs (network, address);
