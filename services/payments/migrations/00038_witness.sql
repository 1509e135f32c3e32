-- +goose Up

-- What endpoints of other hosts say about a transfer (wallets.deposit_changed); '' of a wallets that asks nobody.
ALTER TABLE deposits ADD COLUMN witness text NOT NULL DEFAULT '';
