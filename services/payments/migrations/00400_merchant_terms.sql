-- +goose Up

-- The terms, from the gateway, of merchants that operators bound (docs/architecture.md#merchants): the newest version
-- wins. Empty lists mean all; limits has the most of one payment by currency.
CREATE TABLE merchant_terms (
    merchant_id text        PRIMARY KEY,
    version     bigint      NOT NULL,
    suspended   boolean     NOT NULL,
    reason      text        NOT NULL,
    operator    text        NOT NULL,
    currencies  text[]      NOT NULL,
    networks    text[]      NOT NULL,
    types       text[]      NOT NULL,
    limits      jsonb       NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);
-- Every process reads those that bind anything once a second.
CREATE INDEX merchant_terms_binding ON merchant_terms (merchant_id)
WHERE suspended OR currencies <> '{}' OR networks <> '{}' OR types <> '{}' OR limits <> '{}';

-- +goose Down
DROP TABLE merchant_terms;
