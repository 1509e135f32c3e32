-- +goose Up
-- What was decided about the senders of each transfer: '' while nobody could say, 'earlier' for those from before anybody
-- asked, which are asked about before their payout.
ALTER TABLE deposits ADD COLUMN screening text NOT NULL DEFAULT 'earlier';
ALTER TABLE deposits ALTER COLUMN screening SET DEFAULT '';
CREATE INDEX deposits_unscreened ON deposits (created_at) WHERE screening = '' AND payment_id IS NOT NULL AND NOT reverted;

-- Every decision about senders, for ever: at the deposit, and again before each payout.
CREATE TABLE screenings (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode       text        NOT NULL,
    payment_id text,
    deposit    text,
    stage      text        NOT NULL CHECK (stage IN ('deposit', 'payout', 'refund')),
    verdict    text        NOT NULL CHECK (verdict IN ('clear', 'hit')),
    reason     text        NOT NULL,
    lists      text        NOT NULL,
    addresses  text[]      NOT NULL,
    at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX screenings_payment ON screenings (payment_id);
CREATE TRIGGER screenings_append_only BEFORE UPDATE OR DELETE ON screenings FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER screenings_never_emptied BEFORE TRUNCATE ON screenings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What operators have stopped, until it is resumed. '' stands for all.
CREATE TABLE pauses (
    what     text        NOT NULL CHECK (what IN ('quotes', 'payouts')),
    currency text        NOT NULL,
    network  text        NOT NULL,
    rail     text        NOT NULL,
    operator text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (what, currency, network, rail)
);
