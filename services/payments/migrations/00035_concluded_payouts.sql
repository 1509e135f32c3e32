-- +goose Up
-- A payout that is stuck has a way out. first_sent_at is null in older rows, for which sent_at counts; stopped says that an
-- operator is concluding it and nothing is sent any more; answer is the rail's last one, in words for operators; concluded is
-- the outcome that an operator decided, and contradicted that the rail has since said otherwise.
ALTER TABLE payouts
    ADD COLUMN first_sent_at timestamptz,
    ADD COLUMN stopped       boolean NOT NULL DEFAULT false,
    ADD COLUMN answer        text    NOT NULL DEFAULT '',
    ADD COLUMN answer_at     timestamptz,
    ADD COLUMN concluded     text    NOT NULL DEFAULT '',
    ADD COLUMN concluded_at  timestamptz,
    ADD COLUMN contradicted  boolean NOT NULL DEFAULT false;
-- Frozen payouts were asked about no more, and no metric counted them. A binary of the version before this one looks at them
-- and leaves them as they are.
UPDATE payouts SET next_at = now() WHERE frozen AND next_at IS NULL;
