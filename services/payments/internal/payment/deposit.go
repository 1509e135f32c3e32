package payment

import (
	"time"

	"github.com/shopspring/decimal"
)

// Deposit is one transfer to the payment's address: the newest snapshot that wallets sent, and four marks of our own.
// The marks change only through Mark facts; an upsert of a newer snapshot keeps them.
type Deposit struct {
	Key         string // network, transaction and ordinal in it: names the transfer for ever
	Version     int64
	Network     string // canonical name
	Asset       string // symbol
	Contract    string
	TxHash      string
	Amount      decimal.Decimal // in units of the asset, not base units
	Reverted    bool            // dropped, replaced or reorged away
	BlockHeight int64
	BlockTime   time.Time // zero while it is in no block
	FirstSeenAt time.Time
	Depth       int64 // confirmations when the snapshot was taken
	Finalized   bool
	Senders     []string
	Witness     Witness         // what endpoints of other hosts say about it
	Screening   Screening       // verdict on the senders of this transfer
	USD         decimal.Decimal // worth of a transfer of another asset than the quoted one when it was first seen; zero when unknown

	Booked       string          // ledger account that it is booked to: "", customer or suspense
	BookedAmount decimal.Decimal // the amount that was booked, which a transfer mined again may change
	Bookings     int             // how often it has been booked
	Counted      decimal.Decimal // how much of it is part of the frozen credit; zero when it is not
}

// Witness is what endpoints of other hosts say about a transfer. "" is of a wallets service that asks nobody; a contradicted
// transfer counts as reverted.
type Witness string

// The answers that matter: all others let a transfer count by its depth.
const (
	WitnessPending Witness = "pending" // not asked yet, or no answer
	WitnessAlone   Witness = "alone"   // one host serves the network: nobody can confirm it
)

// At is the time that decides whether the transfer is on time: the earlier of first sighting and block
// time (docs/architecture.md#deposits).
func (d Deposit) At() time.Time {
	if !d.BlockTime.IsZero() && (d.FirstSeenAt.IsZero() || d.BlockTime.Before(d.FirstSeenAt)) {
		return d.BlockTime
	}
	return d.FirstSeenAt
}

// Confirmations is the depth under a head of its network: head − height + 1, never less than the snapshot said, zero
// while it is in no block.
func (d Deposit) Confirmations(head int64) int64 {
	if d.Reverted || d.BlockHeight <= 0 {
		return 0
	}
	return max(d.Depth, head-d.BlockHeight+1, 0)
}

// Shown is the transfer whose hash and confirmations stand in the payment's own fields: the first one of the quoted
// asset that stands, else the first that stands. ok is false while nothing was seen.
func (p Payment) Shown(rows []Deposit) (shown Deposit, ok bool) {
	better := func(a, b Deposit) bool {
		if x, y := p.quoted(a), p.quoted(b); x != y {
			return x
		}
		if !a.At().Equal(b.At()) {
			return a.At().Before(b.At())
		}
		return a.Key < b.Key
	}
	for _, d := range rows {
		if !d.Reverted && (!ok || better(d, shown)) {
			shown, ok = d, true
		}
	}
	return shown, ok
}

// quoted reports whether the transfer is of the asset and network that were quoted.
func (p Payment) quoted(d Deposit) bool {
	return d.Asset == p.Quote.Crypto && d.Network == p.Quote.Network
}
