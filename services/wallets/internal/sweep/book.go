package sweep

import (
	"math/big"

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
)

// Event is the reason of a journal.
type Event string

// The events of sweeps.
const (
	Swept       Event = "swept"
	SweepFailed Event = "sweep_failed"
	Funded      Event = "funded"
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
}

// Book is the journal of a transaction that has ended. from is the account of the deposit address's money.
func Book(o Outgoing, end Outcome, coin string, from Account) (Event, []Entry) {
	zero := new(big.Int)
	debit := func(a Account, asset string, n *big.Int) Entry { return Entry{a, asset, n, zero} }
	credit := func(a Account, asset string, n *big.Int) Entry { return Entry{a, asset, zero, n} }
	amount, fee := end.Amount, end.Fee
	if !end.OK {
		amount = zero
	}
	event, entries := Swept, []Entry(nil)
	switch {
	case o.Kind == intent.Fund:
		event = Funded
		entries = []Entry{debit(GasFloat, coin, amount), debit(Fees, coin, fee), credit(GasStation, coin, new(big.Int).Add(amount, fee))}
	case o.Sweep.Native():
		entries = []Entry{debit(Treasury, coin, amount), debit(Fees, coin, fee), credit(from, coin, new(big.Int).Add(amount, fee))}
	default:
		entries = []Entry{
			debit(Treasury, o.Sweep.Asset, amount), credit(from, o.Sweep.Asset, amount),
			debit(Fees, coin, fee), credit(GasFloat, coin, fee),
		}
	}
	if !end.OK && o.Kind == intent.Sweep {
		event = SweepFailed
	}
	kept := entries[:0]
	for _, e := range entries {
		if e.Debit.Sign() > 0 || e.Credit.Sign() > 0 {
			kept = append(kept, e)
		}
	}
	return event, kept
}
