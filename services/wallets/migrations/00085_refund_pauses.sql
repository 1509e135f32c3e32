-- +goose Up

-- The pauses of refunds as payments last sent them; '' stands for all.
CREATE TABLE refund_pauses (
    currency text NOT NULL,
    network  text NOT NULL,
    PRIMARY KEY (currency, network)
);
CREATE TABLE refund_pauses_known (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
);
INSERT INTO refund_pauses_known (version) VALUES (0);

-- The currency of the payment, '' where payments has not said it.
ALTER TABLE refunds ADD COLUMN currency text NOT NULL DEFAULT '';

-- asked says that the signer may have been asked for a signature. Earlier releases do not say, so it may have been.
ALTER TABLE outgoing_tx ADD COLUMN asked boolean NOT NULL DEFAULT true;
