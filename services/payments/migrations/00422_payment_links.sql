-- Reusable payment links: terms out of which anybody who has the link makes payments. uses counts the payments that a
-- link has made. Those that expired or were cancelled are taken out of it when the limit is reached.

-- +goose Up
CREATE TABLE payment_links (
    id             text        PRIMARY KEY,
    merchant_id    text        NOT NULL,
    mode           text        NOT NULL CHECK (mode IN ('live', 'test')),
    key_id         bigint      NOT NULL,
    type           text        NOT NULL,
    title          text        NOT NULL,
    description    text        NOT NULL,
    fiat_currency  text        NOT NULL,
    fiat_amount    numeric     NOT NULL DEFAULT 0,
    minimum        numeric     NOT NULL DEFAULT 0,
    maximum        numeric     NOT NULL DEFAULT 0,
    account_id     text        NOT NULL DEFAULT '',
    usage_limit    integer     NOT NULL DEFAULT 0,
    uses           integer     NOT NULL DEFAULT 0,
    expires_at     timestamptz,
    ended_at       timestamptz,
    created_at     timestamptz NOT NULL
);
CREATE INDEX payment_links_list ON payment_links (merchant_id, mode, id);
CREATE TABLE payment_link_uses (
    link_id    text NOT NULL,
    payment_id text NOT NULL,
    PRIMARY KEY (link_id, payment_id)
);
