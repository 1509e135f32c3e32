-- Withdrawals from standalone wallets: refunds of another kind, whose money is the balance of a merchant.

-- +goose Up

-- charge is the fee that the balance pays besides the amount. A withdrawal that was refused before it was taken has no
-- merchant.
ALTER TABLE refunds ADD COLUMN kind text NOT NULL DEFAULT 'refund' CHECK (kind IN ('refund', 'withdrawal'));
ALTER TABLE refunds ADD COLUMN merchant_id text NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN charge numeric(78, 0) NOT NULL DEFAULT 0 CHECK (charge >= 0);

-- withdrawals is the money that left a balance and waits for its transaction, withdrawal_fees the charges.
ALTER TABLE custody_journals DROP CONSTRAINT custody_journals_event_check;
ALTER TABLE custody_journals ADD CONSTRAINT custody_journals_event_check CHECK (event IN ('deposit_confirmed', 'deposit_reverted', 'swept',
    'sweep_failed', 'funded', 'refunded', 'refund_failed', 'refund_reversed', 'withdrawal_booked'));
ALTER TABLE custody_entries DROP CONSTRAINT custody_entries_account_check;
ALTER TABLE custody_entries ADD CONSTRAINT custody_entries_account_check CHECK (account IN ('custody', 'merchant', 'payments', 'treasury',
    'gas_station', 'gas_float', 'fees', 'rent', 'refund_station', 'withdrawals', 'withdrawal_fees'));
