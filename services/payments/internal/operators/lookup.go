package operators

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// Lookup is a transaction that an operator named as a refund, with the answer of wallets. Sums are what it brought to
// the refund address, by asset.
type Lookup struct {
	change.Transaction
	State     wire.TransferState // "" without an answer
	AskedAt   time.Time
	Sums      map[string]decimal.Decimal
	BlockTime time.Time
}

var (
	errUnverified = fault.New(fault.Conflict, "refund_unverified",
		"The transaction is being looked up on its chain. Send the same request again.").After(lookupWait)
	errNothingOwed = fault.New(fault.Conflict, "nothing_owed", "No money of this payment is booked, so there is nothing to refund")
)

// The times of a look-up. wallets answers within seconds; a question without an answer is put again, and so is one
// whose answer may have changed.
const (
	lookupWait  = 3 * time.Second
	lookupAgain = 15 * time.Second
	lookupLost  = time.Minute
	// earlier is how much older than the payment a block may claim to be: a bitcoin block's time may be two hours off.
	earlier = 2 * time.Hour
	// onTheWay is how long a refund by hand may take from the operator's look at the payment to its block. Money that
	// comes meanwhile need not be in it.
	onTheWay = 2 * time.Hour
)

// differs is the refusal of a transaction that is not the refund.
func differs(format string, args ...any) error {
	return fault.New(fault.Conflict, "refund_differs", "The transaction is not the refund of this payment: "+format, args...)
}

// owing is what a payment owes the payer by asset of a network.
type owing map[asset]decimal.Decimal

type asset struct{ network, symbol string }

// owed adds up what is booked for the payer and not refunded.
func owed(rows []payment.Deposit) owing {
	out := owing{}
	for _, d := range rows {
		if left := d.BookedAmount.Sub(d.Refunded); d.Booked != "" && left.IsPositive() {
			a := asset{d.Network, d.Asset}
			out[a] = out[a].Add(left)
		}
	}
	return out
}

// networks are those on which money is owed, in order.
func (o owing) networks() []string {
	seen := map[string]bool{}
	for a := range o {
		seen[a.network] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// units are the amounts of a network in base units.
func (o owing) units(network string) []wire.Sum {
	n, _ := money.NetworkOf(network)
	var out []wire.Sum
	for _, each := range n.Assets {
		if sum, is := o[asset{network, each.Symbol}]; is {
			out = append(out, wire.Sum{Asset: each.Symbol, Amount: each.ToUnits(sum).String()})
		}
	}
	return out
}

// proof is what is known about the transactions that an order names.
type proof struct {
	address string
	hashes  []string
	known   []Lookup
}

// hashOf is the one form of a hash: hexadecimal digits ignore case, a signature of solana does not.
func hashOf(family money.Family, text string) string {
	if family == money.Solana {
		return text
	}
	return strings.ToLower(text)
}

// proofOf reads what is known about the transactions of an order. Every network on which money is owed is asked,
// because a hash does not name its network.
func (a *Operators) proofOf(ctx context.Context, v change.View, d Order) (p proof, err error) {
	n, ok := money.NetworkOf(v.Payment.Quote.Network)
	if d.Action != ActionRefunded || !ok || v.Payment.RefundAddress == "" {
		return p, nil
	}
	p.address = v.Payment.RefundAddress
	for _, hash := range d.hashes() {
		p.hashes = append(p.hashes, hashOf(n.Family, hash))
	}
	p.known, err = a.Store.Lookups(ctx, v.Payment.Mode, p.address, owed(v.Rows).networks(), p.hashes)
	return p, err
}

// proven is a refund that was found on its chain. later are the keys of the deposits that it does not return.
type proven struct {
	refunding []change.Transaction
	later     []string
}

// check decides whether the transactions are the refund of what was owed when they were made: final, to the refund
// address, with these amounts. Otherwise the result asks wallets, or refuses.
func (p proof) check(v change.View, now time.Time) (proven, *change.Result) {
	owed := owed(v.Rows)
	refuse := func(err error) *change.Result { return &change.Result{Payment: v.Payment, Refused: err} }
	switch {
	case len(owed) == 0:
		return proven{}, refuse(errNothingOwed)
	case p.address != v.Payment.RefundAddress:
		return proven{}, refuse(errUnverified)
	}
	asked := change.Result{Payment: v.Payment, Refused: errUnverified}
	found := owing{}
	var refunding []change.Transaction
	var problem error
	var at time.Time // of the last block
	for i, hash := range p.hashes {
		states := map[wire.TransferState]bool{}
		for _, network := range owed.networks() {
			t := change.Transaction{Network: network, TxHash: hash}
			l := p.of(t)
			if l.stale(now) {
				asked.Ask(change.Lookup{Transaction: t, Address: p.address, RequestID: id.New(id.Message, now)}, simulated(v.Payment.Mode, owed.units(network), i))
			}
			states[l.State] = true
			if l.State != wire.TransferFinal {
				continue
			}
			refunding = append(refunding, t)
			if l.BlockTime.After(at) {
				at = l.BlockTime
			}
			if l.BlockTime.Before(v.Payment.CreatedAt.Add(-earlier)) && v.Payment.Mode == tenant.Live {
				problem = differs("%s on %s is older than the payment", hash, network)
				asked.Differing = append(asked.Differing, t)
			}
			for symbol, sum := range l.Sums {
				found[asset{network, symbol}] = found[asset{network, symbol}].Add(sum)
			}
		}
		switch {
		case states[wire.TransferFinal]:
		case states[""], states[wire.TransferUnknown]:
			problem = errUnverified
		case states[wire.TransferNotFinal]:
			problem = differs("%s is not final yet", hash)
		default:
			problem = differs("%s is in no block", hash)
		}
	}
	if problem != nil {
		asked.Refused = problem
		return proven{}, &asked
	}
	if v.Payment.Mode == tenant.Test {
		at = now // the clock of a simulated chain is its own
	}
	later, differing := returned(v.Rows, found, at)
	for a, sum := range owed {
		if differing[a] {
			not := refuse(differs("it brought %s %s on %s to %s, and %s is owed", found[a], a.symbol, a.network, p.address, sum))
			not.Differing = refunding
			return proven{}, not
		}
	}
	return proven{refunding, later}, nil
}

// returned divides the deposits that are owed: found returned the oldest of each asset, one by one, and the later ones
// stay owed. Only deposits from about the time of the refund may be later, so that nobody can spoil a refund by sending
// more. differing are the assets of which found is another amount.
func returned(rows []payment.Deposit, found owing, at time.Time) (later []string, differing map[asset]bool) {
	rest, differing, more := maps.Clone(found), map[asset]bool{}, map[asset]bool{}
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b payment.Deposit) int { return a.At().Compare(b.At()) })
	some := false
	for _, d := range rows {
		sum := d.BookedAmount.Sub(d.Refunded)
		if d.Booked == "" || !sum.IsPositive() {
			continue
		}
		a := asset{d.Network, d.Asset}
		if more[a] = more[a] || sum.GreaterThan(rest[a]) || d.At().After(at.Add(earlier)); !more[a] {
			rest[a], some = rest[a].Sub(sum), true
			continue
		}
		later = append(later, d.Key)
		differing[a] = differing[a] || d.At().Before(at.Add(-onTheWay))
	}
	for a := range owed(rows) {
		differing[a] = differing[a] || !rest[a].IsZero() || !some
	}
	return later, differing
}

// simulated is what the first of several transactions brings on a simulated chain: everything that is owed.
func simulated(mode tenant.Mode, owed []wire.Sum, place int) []wire.Sum {
	if mode == tenant.Test && place == 0 {
		return owed
	}
	return nil
}

func (p proof) of(t change.Transaction) Lookup {
	for _, l := range p.known {
		if l.Transaction == t {
			return l
		}
	}
	return Lookup{Transaction: t}
}

// stale reports a question that has to be put, or put again. A final answer stays.
func (l Lookup) stale(now time.Time) bool {
	age := now.Sub(l.AskedAt)
	switch l.State {
	case wire.TransferFinal:
		return false
	case "":
		return age > lookupLost
	case wire.TransferNotFinal, wire.TransferMissing, wire.TransferUnknown:
	}
	return age > lookupAgain
}

// Found hands the answer of wallets about a transaction to keep.
func Found(keep func(ctx context.Context, requestID string, state wire.TransferState, sums map[string]decimal.Decimal, at time.Time) error,
) func(ctx context.Context, messageID string, m wire.TransferFound) error {
	return func(ctx context.Context, _ string, m wire.TransferFound) error {
		n, ok := money.NetworkOf(m.Network)
		if !ok || m.RequestID == "" || !slices.Contains(transferStates, m.State) {
			return fault.Permanent(fmt.Errorf("answer about a transaction on %.20q in state %.20q cannot be read", m.Network, m.State))
		}
		sums := map[string]decimal.Decimal{}
		for _, s := range m.Sums {
			a, ok := n.Asset(s.Asset)
			if !ok {
				return fault.Permanent(fmt.Errorf("answer about transaction %s: %.20q is not listed on %s", m.TxHash, s.Asset, n.Name))
			}
			sum, err := change.BaseUnits(a, s.Amount)
			if err != nil {
				return fault.Permanent(fmt.Errorf("answer about transaction %s: %w", m.TxHash, err))
			}
			sums[s.Asset] = sums[s.Asset].Add(sum)
		}
		return keep(ctx, m.RequestID, m.State, sums, m.BlockTime)
	}
}

var transferStates = []wire.TransferState{wire.TransferFinal, wire.TransferNotFinal, wire.TransferMissing, wire.TransferUnknown}
