package wallet

import (
	"math/big"
	"strconv"
)

// The custody ledger: what we hold for merchants on standalone wallets. Each journal has two entries: the account
// custody (an asset of ours: coins at addresses that only we can spend from) against the account merchant (what we owe
// for them).

// CustodyEvent says why a journal was written.
type CustodyEvent string

// The events of custody.
const (
	DepositConfirmed CustodyEvent = "deposit_confirmed"
	DepositReverted  CustodyEvent = "deposit_reverted"
)

// CustodyAccount is a side of the ledger.
type CustodyAccount string

// The accounts of custody, one of each per merchant, mode, network and asset.
const (
	AccountCustody  CustodyAccount = "custody"  // debit: what we hold
	AccountMerchant CustodyAccount = "merchant" // credit: what we owe
)

// CustodyEntry is one line of a journal; exactly one of debit and credit is positive. Amounts are base units.
type CustodyEntry struct {
	Account       CustodyAccount
	Debit, Credit *big.Int
}

// CustodyJournal is a balanced set of entries about one deposit.
type CustodyJournal struct {
	Key     string // the same for the same change of the same deposit, so that it is written once
	Event   CustodyEvent
	Deposit Deposit
	Entries []CustodyEntry
}

// Book compares what is booked for a deposit with what should be, and returns the journal that makes up the difference.
// A deposit is booked once it is deep enough, and booked back should it ever leave the chain after that. journals is
// how many journals the deposit has already.
func Book(d Deposit, booked *big.Int, journals int64) (CustodyJournal, bool) {
	want := new(big.Int)
	switch {
	case d.Deep():
		want = d.Amount
	case d.State != Reverted:
		return CustodyJournal{}, false // not deep again yet; a reversal was booked when it happened
	}
	zero := new(big.Int)
	delta := new(big.Int).Sub(want, booked)
	j := CustodyJournal{Key: string(d.Mode) + ":" + d.Key() + ":" + strconv.FormatInt(journals+1, 10), Deposit: d}
	switch delta.Sign() {
	case 0:
		return CustodyJournal{}, false
	case 1:
		j.Event = DepositConfirmed
		j.Entries = []CustodyEntry{{AccountCustody, delta, zero}, {AccountMerchant, zero, delta}}
	default:
		delta.Neg(delta)
		j.Event = DepositReverted
		j.Entries = []CustodyEntry{{AccountMerchant, delta, zero}, {AccountCustody, zero, delta}}
	}
	return j, true
}

// Balance is what a merchant has of one asset on one network, in base units.
type Balance struct {
	Network   string
	Asset     string
	Available *big.Int // booked
	Pending   *big.Int // seen on chain and not deep enough yet
}
