package payment

import (
	"time"

	"github.com/shopspring/decimal"
)

// Deposit is one transfer to the payment's address: the newest snapshot that wallets sent, and six marks of payments.
// Only Mark facts change the marks; an upsert of a newer snapshot keeps them.
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
	BlockHash   string
	BlockTime   time.Time // zero while it is in no block
	FirstSeenAt time.Time
	Depth       int64 // confirmations when the snapshot was taken
	Finalized   bool
	Senders     []string
	Witness     Witness         // answer of endpoints of other hosts
	Screening   Screening       // verdict on the senders of this transfer
	USD         decimal.Decimal // worth of a transfer of another asset than the quoted one when it was first seen; zero when unknown

	Booked       string          // ledger account of the transfer: "", customer or suspense
	BookedAmount decimal.Decimal // booked amount, which changes when the transfer is mined again with another one
	BookedBlock  string          // hash of its block when it was booked; "" when unknown
	Bookings     int             // number of bookings
	Counted      decimal.Decimal // amount in the frozen credit; zero when it is not part of it
	Refunded     decimal.Decimal // amount that refunds hold or have returned to the payer
}

// Witness is the answer of endpoints of other hosts about a transfer. "" comes from a wallets service that asks no
// other host. A contradicted transfer counts as reverted.
type Witness string

// The answers that delay a payment. With any other answer a transfer counts by its depth.
const (
	WitnessPending Witness = "pending" // not asked yet, or no answer
	WitnessAlone   Witness = "alone"   // one host serves the network, so no other host can confirm the transfer
)

// Doubt is the weakest answer about transfers that are on their chain: alone if one host alone has shown one of them,
// pending if another host has not answered about one; "" where nothing is in doubt.
func Doubt(rows []Deposit) (w Witness) {
	for _, d := range rows {
		switch {
		case d.Reverted:
		case d.Witness == WitnessAlone:
			return WitnessAlone
		case d.Witness == WitnessPending:
			w = WitnessPending
		}
	}
	return w
}

// At is the time by which the transfer is on time or late: the earlier of first sighting and block time
// (docs/architecture.md#deposits).
func (d Deposit) At() time.Time {
	if !d.BlockTime.IsZero() && (d.FirstSeenAt.IsZero() || d.BlockTime.Before(d.FirstSeenAt)) {
		return d.BlockTime
	}
	return d.FirstSeenAt
}

// Confirmations is the depth under a head of its network: head − height + 1, and at least the depth of the snapshot. It
// is zero while no block holds the transfer.
func (d Deposit) Confirmations(head int64) int64 {
	if d.Reverted || d.BlockHeight <= 0 {
		return 0
	}
	return max(d.Depth, head-d.BlockHeight+1, 0)
}

// Shown is the transfer whose hash and confirmations answers show for the payment: the first valid one of the quoted
// asset, else the first valid one. ok is false without a valid transfer.
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

// quoted reports whether the transfer has the quoted asset and network.
func (p Payment) quoted(d Deposit) bool {
	return d.Asset == p.Quote.Crypto && d.Network == p.Quote.Network
}
