package wallet

import (
	"math/big"
	"strconv"
)

// The custody ledger: the money that the product holds for merchants on standalone wallets. Each journal has two
// entries: the account custody (an asset: coins at addresses that only the product can spend from) against the account
// merchant (the debt to them).

// CustodyEvent is the reason of a journal.
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
	AccountCustody  CustodyAccount = "custody"  // debit: held for merchants
	AccountMerchant CustodyAccount = "merchant" // credit: owed to the merchant
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

// Book compares the booked sum of a deposit with the sum that should be booked, and returns the journal of the
// difference. A deposit is booked once it is deep enough and the hosts have answered, because its merchant can withdraw
// it then. It is reversed if it leaves the chain after that, or a host denies it. journals is how many journals the
// deposit has already.
func Book(d Deposit, booked *big.Int, journals int64) (CustodyJournal, bool) {
	want := new(big.Int)
	switch {
	case d.State == Reverted, d.Witness == WitnessContradicted:
	case d.Deep() && d.Witness != WitnessPending:
		want = d.Amount
	default:
		return CustodyJournal{}, false // its reversal, if it had a booking, is booked already
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

// Balance is a merchant's balance of one asset on one network, in base units.
type Balance struct {
	Network   string
	Asset     string
	Available *big.Int // booked
	Pending   *big.Int // seen on chain, and not deep enough yet or not confirmed by a second host
}
