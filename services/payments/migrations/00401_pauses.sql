-- +goose Up

-- A pause has an id by which it ends, a reason, a merchant ('' for all) and perhaps an end. An earlier release reads a
-- pause of a merchant as one of everybody, and none as ended.
ALTER TABLE pauses
    ADD COLUMN id          bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN merchant_id text NOT NULL DEFAULT '',
    ADD COLUMN reason      text NOT NULL DEFAULT '',
    ADD COLUMN until       timestamptz,
    ADD CONSTRAINT pauses_refunds_of_all CHECK (what <> 'refunds' OR merchant_id = '');
-- unused since: v0.1.0, which inserts ON CONFLICT of any key
ALTER TABLE pauses DROP CONSTRAINT pauses_pkey;
ALTER TABLE pauses ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX pauses_scope ON pauses (what, currency, network, rail, merchant_id);
