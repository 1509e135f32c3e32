package wallet

import (
	"math/big"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Status is the status of a standalone wallet in the API (docs/api-contract.md#wallets).
type Status string

// The statuses of a wallet.
const (
	StatusWatching  Status = "watching"
	StatusDetected  Status = "deposit_detected"
	StatusConfirmed Status = "confirmed"
	StatusSwept     Status = "swept"
	StatusExpired   Status = "expired"
)

// Statuses lists every status in the order of docs/api-contract.md#wallets.
func Statuses() []Status {
	return []Status{StatusWatching, StatusDetected, StatusConfirmed, StatusSwept, StatusExpired}
}

// Trigger is what can happen to a wallet.
type Trigger string

// The triggers. Only deposits of the wallet's own crypto on its own network count.
const (
	OnMoney  Trigger = "money came or went"           // what was received has changed and is not nothing
	OnDeep   Trigger = "every deposit is deep enough" // and there is at least one
	OnGone   Trigger = "the last deposit left the chain"
	OnWindow Trigger = "expiresAt has passed and is scanned" // the network is scanned past it, so nothing on time is missed
	OnSwept  Trigger = "the sweep is final"
)

// Triggers lists every trigger.
func Triggers() []Trigger { return []Trigger{OnMoney, OnDeep, OnGone, OnWindow, OnSwept} }

// life is docs/api-contract.md#wallets as a total table. An unchanged status is recorded without an event. Money on a
// wallet whose window has ended, or which was swept, brings it back, so late money is always reported. A reorganisation
// that removes money brings it back to watching, and the timer decides again.
var life = map[Status]map[Trigger]Status{
	StatusWatching: {
		OnMoney: StatusDetected, OnDeep: StatusWatching, OnGone: StatusWatching, OnWindow: StatusExpired, OnSwept: StatusWatching,
	},
	StatusDetected: {
		OnMoney: StatusDetected, OnDeep: StatusConfirmed, OnGone: StatusWatching, OnWindow: StatusDetected, OnSwept: StatusDetected,
	},
	StatusConfirmed: {
		OnMoney: StatusDetected, OnDeep: StatusConfirmed, OnGone: StatusWatching, OnWindow: StatusConfirmed, OnSwept: StatusSwept,
	},
	StatusSwept: {
		OnMoney: StatusDetected, OnDeep: StatusSwept, OnGone: StatusSwept, OnWindow: StatusSwept, OnSwept: StatusSwept,
	},
	StatusExpired: {
		OnMoney: StatusDetected, OnDeep: StatusExpired, OnGone: StatusExpired, OnWindow: StatusExpired, OnSwept: StatusExpired,
	},
}

// Next is the status after a trigger.
func Next(from Status, on Trigger) Status { return life[from][on] }

// Wallet is a standalone deposit wallet.
type Wallet struct {
	ID          string
	Mode        tenant.Mode
	MerchantID  string
	KeyID       int64
	Family      money.Family
	Network     string // canonical
	NetworkName string // as the caller called it
	Crypto      string
	Address     string
	Metadata    []byte // JSON object, as sent
	Status      Status
	Amount      *big.Int // base units received and still on the chain
	Deposits    int64    // how many transfers that is
	Newest      int64    // block of the newest of them; 0 for none
	Head        int64    // how far the network is scanned
	Sequence    int64    // events so far
	CreatedAt   time.Time
	ExpiresAt   time.Time
	Trace       string // of the request that made it, "" when nobody records it
}

// Confirmations is how deep the newest deposit is; 0 before any.
func (w Wallet) Confirmations() int64 {
	if w.Newest == 0 {
		return 0
	}
	return max(0, w.Head-w.Newest+1)
}

// Born makes the first state of a wallet.
func (w Wallet) Born() Wallet {
	w.Status, w.Amount, w.Sequence = StatusWatching, new(big.Int), 1
	return w
}

// Counts reports whether a deposit is money that the wallet was made for: its crypto on its network, on the chain.
func (w Wallet) Counts(d Deposit) bool {
	return d.State != Reverted && d.Network == w.Network && d.Asset == w.Crypto
}

// Deep reports whether a deposit has reached the deepest entry of its table, or is final. One that a host denies never
// counts as deep.
func (d Deposit) Deep() bool {
	return d.State == Confirmed && d.DueHeight == 0 && d.Witness != WitnessContradicted
}

// Take recomputes the wallet from all deposits to its address, for the chain's head. It returns the wallet and a
// snapshot for every status it entered on the way, in order.
func (w Wallet) Take(all []Deposit, head int64) (Wallet, []Wallet) {
	amount, count, newest, deep := new(big.Int), int64(0), int64(0), true
	for _, d := range all {
		if w.Counts(d) {
			amount.Add(amount, d.Amount)
			count++
			newest, deep = max(newest, d.BlockHeight), deep && d.Deep()
		}
	}
	changed := count != w.Deposits || amount.Cmp(w.Amount) != 0
	w.Amount, w.Deposits, w.Newest, w.Head = amount, count, newest, head
	var entered []Wallet
	switch {
	case count == 0 && changed:
		w, entered = w.enter(entered, OnGone)
	case count > 0:
		if changed {
			w, entered = w.enter(entered, OnMoney)
		}
		if deep {
			w, entered = w.enter(entered, OnDeep)
		}
	}
	return w, entered
}

// Sweep applies that money was swept: the wallet is swept once every deposit that counts is.
func (w Wallet) Sweep(all []Deposit, swept func(Deposit) bool) (Wallet, []Wallet) {
	counted := false
	for _, d := range all {
		if w.Counts(d) {
			if counted = true; !swept(d) {
				return w, nil
			}
		}
	}
	if !counted {
		return w, nil
	}
	return w.enter(nil, OnSwept)
}

// Close applies the end of the wallet's time.
func (w Wallet) Close() (Wallet, []Wallet) { return w.enter(nil, OnWindow) }

func (w Wallet) enter(entered []Wallet, on Trigger) (Wallet, []Wallet) {
	next := Next(w.Status, on)
	if next == w.Status {
		return w, entered
	}
	w.Status = next
	w.Sequence++
	return w, append(entered, w)
}
