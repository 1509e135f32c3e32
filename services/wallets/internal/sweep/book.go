package sweep

import (
	"math/big"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
)

// Account is an account of the ledger that sweeps move money between.
type Account string

// The accounts. Custody and payments are credited when money leaves a deposit address: the first for standalone
// wallets, the second where the payments service keeps the books.
const (
	Custody    Account = "custody"
	Payments   Account = "payments"
	Treasury   Account = "treasury"
	GasStation Account = "gas_station" // the product's own coins at the gas station
	GasFloat   Account = "gas_float"   // the product's own coins on deposit addresses, to pay for sweeps
	Fees       Account = "fees"        // paid to the network
	Rent       Account = "rent"        // of token accounts: refunds paid it for new ones, closed ones gave it back
	// RefundStation is what refunds took from the station. Its account falls below zero: operators fill the station from
	// the treasury outside of the books.
	RefundStation Account = "refund_station"
	// Withdrawals is money that left the balance of a merchant, and waits for the transaction of its withdrawal.
	Withdrawals Account = "withdrawals"
)

// Event is the reason of a journal.
type Event string

// The events of sweeps.
const (
	Swept       Event = "swept"
	SweepFailed Event = "sweep_failed"
	Funded      Event = "funded" // coins or energy from the gas station

	Refunded       Event = "refunded"
	RefundFailed   Event = "refund_failed"
	RefundReversed Event = "refund_reversed" // its final block left the chain, and an operator rewound the scan
)

// Entry is one line; exactly one of debit and credit is positive.
type Entry struct {
	Account       Account
	Asset         string
	Debit, Credit *big.Int
}

// Outcome is the result of a transaction that has ended.
type Outcome struct {
	OK     bool     // it had its effect
	Amount *big.Int // that arrived
	Fee    *big.Int // in the network's coin
	// Returned is the rent of closed token accounts that the station received, on solana; else nil.
	Returned *big.Int
	// Rent is the part of the fee that opened the payer's token account, in a refund on solana; else nil.
	Rent *big.Int
}

// Part is a sweep's share of the outcome of its transaction.
type Part struct {
	Sweep Sweep
	Outcome
	Station bool // the gas station sent the sweep, and paid for it
}

// Book is the journal of a sweep's part in a transaction that has ended. from is the account of the deposit address's
// money.
func Book(kind intent.Kind, p Part, coin string, from Account) (Event, []Entry) {
	zero, amount, fee := new(big.Int), p.Amount, p.Fee
	debit := func(a Account, asset string, n *big.Int) Entry { return Entry{a, asset, n, zero} }
	credit := func(a Account, asset string, n *big.Int) Entry { return Entry{a, asset, zero, n} }
	if !p.OK {
		amount = zero
	}
	event, entries := Swept, []Entry(nil)
	switch {
	case kind == intent.Refund:
		event = Refunded
		entries = []Entry{
			debit(from, p.Sweep.Asset, amount), credit(RefundStation, p.Sweep.Asset, amount),
			debit(Fees, coin, new(big.Int).Sub(fee, rent(p.Outcome))), debit(Rent, coin, rent(p.Outcome)), credit(RefundStation, coin, fee),
		}
	case p.Sweep.Family == money.Solana: // the station pays for everything
		entries = []Entry{
			debit(Treasury, p.Sweep.Asset, amount), credit(from, p.Sweep.Asset, amount),
			debit(Fees, coin, fee), credit(GasStation, coin, fee),
			debit(GasStation, coin, returned(p.Outcome)), credit(Rent, coin, returned(p.Outcome)),
		}
	case kind == intent.Delegate || kind == intent.Undelegate: // energy moves no money
		event = Funded
		entries = []Entry{debit(Fees, coin, fee), credit(GasStation, coin, fee)}
	case kind == intent.Fund:
		event = Funded
		entries = []Entry{debit(GasFloat, coin, amount), debit(Fees, coin, fee), credit(GasStation, coin, new(big.Int).Add(amount, fee))}
	case p.Sweep.Native():
		entries = []Entry{debit(Treasury, coin, amount), debit(Fees, coin, fee), credit(from, coin, new(big.Int).Add(amount, fee))}
	default:
		payer := GasFloat
		if p.Station {
			payer = GasStation
		}
		entries = []Entry{
			debit(Treasury, p.Sweep.Asset, amount), credit(from, p.Sweep.Asset, amount),
			debit(Fees, coin, fee), credit(payer, coin, fee),
		}
	}
	switch {
	case !p.OK && kind == intent.Sweep:
		event = SweepFailed
	case !p.OK && kind == intent.Refund:
		event = RefundFailed
	}
	kept := entries[:0]
	for _, e := range entries {
		if e.Debit.Sign() > 0 || e.Credit.Sign() > 0 {
			kept = append(kept, e)
		}
	}
	return event, kept
}
