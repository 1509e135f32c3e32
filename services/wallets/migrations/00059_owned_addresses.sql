-- +goose Up

-- Payments refuses an address of this system as a refund address. It knows the addresses that it hands out; wallets sends it the
-- others (wallets.addresses_owned.v1). Those of standalone wallets are sent in the order of seq; seq is the last one looked at.
CREATE TABLE told_addresses (
    mode   text   NOT NULL,
    family text   NOT NULL,
    seq    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (mode, family) -- no foreign key to counters: it would lock them while sweeps are read below
);
INSERT INTO told_addresses (mode, family) SELECT mode, family FROM counters;

-- Treasuries and gas stations: addresses of this system that are never handed out. A former one stays.
CREATE TABLE own_accounts (
    mode    text    NOT NULL,
    family  text    NOT NULL,
    address text    NOT NULL,
    told    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (mode, family, address)
);
INSERT INTO own_accounts (mode, family, address)
SELECT mode, family, address FROM house_addresses UNION SELECT mode, family, treasury FROM sweeps;
