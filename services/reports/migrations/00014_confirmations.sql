-- +goose Up
-- Reports from before a gift's reference could be told from another's by its shape: nobody but their merchants is shown
-- any payment's reference of theirs. The rows that are here get true without being written.
ALTER TABLE reports ADD COLUMN earlier boolean NOT NULL DEFAULT true;
ALTER TABLE reports ALTER COLUMN earlier SET DEFAULT false;

-- What an operator has decided about an accused address. Only a confirmed one blocks payments; one waits for a decision
-- while more merchants have a resolved fraud report against it than at the last decision.
ALTER TABLE accused ADD COLUMN confirmed boolean NOT NULL DEFAULT false;
ALTER TABLE accused ADD COLUMN reviewed int NOT NULL DEFAULT 0;

-- Who decided what, and why; kept for ever.
CREATE TABLE accused_decisions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode       text        NOT NULL CHECK (mode IN ('live', 'test')),
    address    text        NOT NULL,
    confirmed  boolean     NOT NULL,
    merchants  int         NOT NULL,
    operator   text        NOT NULL,
    reason     text        NOT NULL,
    request_id text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX accused_decisions_address ON accused_decisions (mode, address, id DESC);
