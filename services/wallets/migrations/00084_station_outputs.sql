-- Refunds on bitcoin: the outputs of the refund station, and inputs of transactions that belong to no sweep.

-- +goose Up

-- The height up to which the final blocks were searched for outputs of a station.
CREATE TABLE station_searches (
    network text   NOT NULL,
    station text   NOT NULL,
    height  bigint NOT NULL,
    PRIMARY KEY (network, station)
);

-- The outputs that pay a station and that no final refund has spent.
CREATE TABLE station_outputs (
    network text           NOT NULL,
    tx_hash text           NOT NULL,
    ordinal integer        NOT NULL,
    station text           NOT NULL,
    amount  numeric(78, 0) NOT NULL CHECK (amount > 0),
    height  bigint         NOT NULL,
    block   text           NOT NULL,
    PRIMARY KEY (network, tx_hash, ordinal)
);

-- The input of a refund is no deposit of a sweep.
ALTER TABLE outgoing_inputs ALTER COLUMN sweep DROP NOT NULL;
