-- +goose Up
-- What a conversion counts against a daily limit beside the quote: more on the day of the conversion, less on the day of the
-- quote. An operator may let a conversion pass a limit; that part is waived, so that it uses up the limit and stops nobody
-- else's payout. The rows of days that are over are dropped. Nothing is written where no limit is configured.
CREATE TABLE limit_differences (
    payment_id text    NOT NULL,
    kind       text    NOT NULL,
    day        date    NOT NULL,
    subject    bytea   NOT NULL,
    currency   text    NOT NULL,
    amount     numeric NOT NULL,
    waived     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (payment_id, kind)
);
CREATE INDEX limit_differences_day ON limit_differences (day);
ALTER TABLE limit_usage ADD COLUMN waived numeric NOT NULL DEFAULT 0;
