// Package wallet holds the rules of incoming money: a deposit, how it deepens, is reverted and comes back, and at which
// depths it is published. It is pure: no I/O, no clock, no randomness.
package wallet

import (
	"math/big"
	"strconv"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// State is how far a deposit has come.
type State string

// The states of a deposit.
const (
	Seen      State = "seen"      // in a block of the chain, or in a node's mempool
	Confirmed State = "confirmed" // at the first depth of its table, or final
	Reverted  State = "reverted"  // its block left the chain, or it left the mempool, and no later block holds it
)

// ID names a transfer for ever: the transaction and the transfer's ordinal inside it, both of which survive when the
// transaction moves to another block.
type ID struct {
	TxHash  string
	Ordinal int
}

// Sighting is one transfer as one block of the chain holds it.
type Sighting struct {
	ID
	Address     string
	WalletID    string
	Asset       string
	Contract    string // "" for the network's own coin
	Amount      *big.Int
	Senders     []string
	BlockHeight int64
	BlockHash   string
	BlockTime   time.Time
	Trace       string // of the payment that carries the address, "" when nobody records it or it is not known
}

// Deposit is the present state of one transfer to one deposit address. Version grows by one with every published
// change.
type Deposit struct {
	Sighting
	Mode        tenant.Mode
	Family      money.Family
	Network     string
	Version     int64
	State       State
	Depth       int64 // blocks on top of and including its own, at Head; 0 while reverted
	Head        int64 // height of the chain when this version was made
	Finalized   bool
	DueHeight   int64 // height of the chain at which the next version is due by depth; 0 for never
	FirstSeenAt time.Time
	Witness     Witness
}

// Waits reports whether a node's mempool holds the deposit and no block does. Such a deposit has no block, no depth,
// and is never final.
func (d Deposit) Waits() bool { return d.State == Seen && d.BlockHeight == 0 }

// Key is the name under which other services know the deposit.
func (d Deposit) Key() string { return d.Network + ":" + d.TxHash + ":" + strconv.Itoa(d.Ordinal) }

// Tip is a chain's position when deposits are judged: the newest scanned block and the newest final one.
type Tip struct{ Height, Finalized int64 }

// See makes the deposit of a transfer's first sighting.
func See(mode tenant.Mode, n money.Network, s Sighting, tip Tip, depths []int64, now time.Time) Deposit {
	d := Deposit{Sighting: s, Mode: mode, Family: n.Family, Network: n.Name, FirstSeenAt: now, Witness: asked(mode)}
	return d.judged(tip, depths)
}

// Wait makes the deposit of a transfer that is in no block yet. The sighting names no block.
func Wait(mode tenant.Mode, n money.Network, s Sighting, head int64, now time.Time) Deposit {
	return Deposit{
		Sighting: s, Mode: mode, Family: n.Family, Network: n.Name, Version: 1, State: Seen, Head: head, FirstSeenAt: now,
		Witness: asked(mode),
	}
}

// WaitAgain takes in that the mempool holds a known deposit. Only one that was reverted changes by it: a block says
// more.
func (d Deposit) WaitAgain(s Sighting, head int64) (Deposit, bool) {
	if d.State != Reverted {
		return d, false
	}
	if s.Trace == "" {
		s.Trace = d.Trace
	}
	d.Sighting, d.Witness = s, asked(d.Mode)
	d.State, d.Depth, d.Head, d.Finalized, d.DueHeight = Seen, 0, head, false, 0
	d.Version++
	return d, true
}

// SeeAgain takes in a further sighting of a known deposit. The same block seen again changes nothing; another block is
// a re-inclusion: a new version that keeps the key and the time of the first sighting.
func (d Deposit) SeeAgain(s Sighting, tip Tip, depths []int64) (Deposit, bool) {
	if d.State != Reverted && d.BlockHash == s.BlockHash {
		return d, false
	}
	if s.Trace == "" {
		s.Trace = d.Trace
	}
	d.Sighting, d.Witness = s, asked(d.Mode)
	return d.judged(tip, depths), true
}

// Deepen takes in the progress of the chain. It reports whether to publish the deposit: the depth has reached a next
// entry of the table, or the block has become final.
func (d Deposit) Deepen(tip Tip, depths []int64) (Deposit, bool) {
	if d.State == Reverted || d.Finalized || d.Waits() {
		return d, false
	}
	due := d.DueHeight > 0 && tip.Height >= d.DueHeight
	if !due && d.BlockHeight > tip.Finalized {
		return d, false
	}
	return d.judged(tip, depths), true
}

// Revert takes in that the deposit's block has left the chain, which now ends at head, or that the deposit has left the
// mempool.
func (d Deposit) Revert(head int64) (Deposit, bool) {
	if d.State == Reverted {
		return d, false
	}
	d.State, d.Depth, d.Head, d.Finalized, d.DueHeight = Reverted, 0, head, false, 0
	d.Version++
	return d, true
}

// judged sets everything that follows from the deposit's block and the tip, as a new version.
func (d Deposit) judged(tip Tip, depths []int64) Deposit {
	d.Depth = tip.Height - d.BlockHeight + 1
	d.Head = tip.Height
	d.Finalized = d.BlockHeight <= tip.Finalized
	d.State, d.DueHeight = Seen, 0
	if d.Finalized || (len(depths) > 0 && d.Depth >= depths[0]) {
		d.State = Confirmed
	}
	for _, depth := range depths {
		if depth > d.Depth && !d.Finalized {
			d.DueHeight = d.BlockHeight + depth - 1
			break
		}
	}
	d.Version++
	return d
}
