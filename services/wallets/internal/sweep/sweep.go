// Package sweep holds the rules by which money leaves deposit addresses for the treasury: the life of an outgoing
// transaction, the cost that the next one may have and when it is worth that, and the journal of its end. It is pure:
// no I/O, no clock.
package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
)

// Sweep is one asset at one deposit address on its way to the treasury.
type Sweep struct {
	ID       string
	Mode     tenant.Mode
	Network  string
	Family   money.Family
	Account  uint32
	Index    uint32
	Address  string
	WalletID string
	Asset    string
	Contract string // "" for the network's own coin
	Amount   *big.Int
	Treasury string
	Age      time.Duration // since it was opened
	Failed   int           // transactions that ended without effect
	Together int           // sweeps that its next transaction may carry, after a refused batch; 0 for any number
	// Order makes it a refund: the asset goes from the refund station, which Address names, to Treasury, which is the
	// payer's address. Nil for a sweep.
	Order *intent.Ordered
	// Blocked says of a refund that it waits for an operator, who may end it: on tron it gets no further form.
	Blocked bool
	// Authorized is the height of the chain when its address signed its first authorization, which anybody may present
	// to the token's contract; 0 for none.
	Authorized int64
}

// Fits reports whether a sweep may enter a batch: the batch stays as small as the sweep and all of its sweeps want.
func (s Sweep) Fits(batch []Sweep) bool {
	for _, w := range append(slices.Clone(batch), s) {
		if w.Together > 0 && len(batch) >= w.Together {
			return false
		}
	}
	return true
}

// Native reports whether the network's own coin is swept, which then pays for itself.
func (s Sweep) Native() bool { return s.Contract == "" }

// Short fails with ErrThere unless the address of a sweep has less than the sweep.
func (s Sweep) Short(has *big.Int) error {
	if has.Cmp(s.Amount) < 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has %s of %s, and the sweep is of %s", ErrThere, s.Address, has, s.Asset, s.Amount)
}

// State is the state of an outgoing transaction.
type State string

// The states. Planned, signed and broadcast describe the newest signed form; an older one may be mined meanwhile.
const (
	Planned   State = "planned"   // sender, nonce and terms are fixed; nothing is signed
	Signed    State = "signed"    // the bytes are stored; no node has them
	Broadcast State = "broadcast" // a node has accepted them, or may have
	Mined     State = "mined"     // in a block of the chain
	Final     State = "final"     // in a final block, with its effect
	Failed    State = "failed"    // in a final block, without its effect
	Replaced  State = "replaced"  // it can land no more: a foreign transaction used its nonce, or it has expired
)

// moves are the allowed steps. A mined transaction goes back to broadcast when its block leaves the chain. A broadcast
// one goes back to planned for a signature with a higher fee, and forward again when the signer refuses that.
var moves = map[State][]State{
	Planned:   {Signed, Broadcast, Mined, Replaced},
	Signed:    {Broadcast, Mined, Replaced},
	Broadcast: {Planned, Broadcast, Mined, Replaced},
	Mined:     {Broadcast, Mined, Final, Failed},
	Final:     nil,
	Failed:    nil,
	Replaced:  nil,
}

// States lists every state.
func States() []State { return []State{Planned, Signed, Broadcast, Mined, Final, Failed, Replaced} }

// May reports whether a step is allowed.
func May(from, to State) bool {
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// Over reports whether a transaction has ended.
func (s State) Over() bool { return s == Final || s == Failed || s == Replaced }

// Attempt is one signed form of a transaction.
type Attempt struct {
	Number    int
	Request   intent.Request
	TxHash    string
	Raw       []byte // nil until it is signed
	Sent      bool   // a node received it, or may have
	SignedAgo time.Duration
	SentAgo   time.Duration // since the last time
}

// Queue is what a sender has planned and sent.
type Queue struct {
	Next   uint64 // lowest nonce that it has not planned yet
	Unsent int    // transactions that no node has yet
	Sent   int    // those that wait for a block
}

// Open reports whether a sender that has at most so many transactions under way may plan another one. Where nonces have
// no gaps, each transaction is sent before the next one is planned: a refused one gives its nonce back.
func (q Queue) Open(most int) bool { return q.Unsent == 0 && q.Sent < most }

// Outgoing is one transaction that leaves deposit addresses or the gas station.
type Outgoing struct {
	ID     string
	Kind   intent.Kind
	Sweep  Sweep   // the only one, or the first of a batch
	Batch  []Sweep // all of them, in one asset, on a network whose transactions may carry several
	Inputs []Input // the outputs that it spends, on a network with outputs
	From   int64   // height of the chain when it was planned: no earlier block holds a form
	Sender string
	Nonce  uint64
	// Presented means that another party has sent it, with an authorization that it took from one of the product's
	// transactions: its bytes are unknown.
	Presented bool
	State     State
	Version   int64
	Attempts  []Attempt // oldest first, at least one
	TxHash    string    // of the form that is mined
	Height    int64
	Block     string
}

// Input is an output of a deposit that a transaction spends.
type Input struct {
	Sweep  string // id
	TxHash string
	Output int
	Amount *big.Int
	Index  uint32
	Block  string // that holds the deposit
}

// Sweeps are the sweeps that the transaction carries.
func (o Outgoing) Sweeps() []Sweep {
	if len(o.Batch) > 0 {
		return o.Batch
	}
	return []Sweep{o.Sweep}
}

// Parts splits an outcome among the sweeps, in proportion to their sums. The parts add up exactly. Where the swept coin
// paid the fee, a part's amount and its fee are the whole sweep.
func (o Outgoing) Parts(end Outcome) []Part {
	if o.moves() != nil {
		return o.solanaParts(end)
	}
	sweeps, weights, sum := o.Sweeps(), []*big.Int(nil), new(big.Int)
	if len(sweeps) == 1 {
		return []Part{{sweeps[0], end, o.Authorized()}}
	}
	for _, s := range sweeps {
		weights = append(weights, s.Amount)
		sum.Add(sum, s.Amount)
	}
	parts, fees, amounts := make([]Part, len(sweeps)), Split(end.Fee, weights), Split(end.Amount, weights)
	paid := new(big.Int).Add(end.Amount, end.Fee).Cmp(sum) == 0
	for i, s := range sweeps {
		parts[i] = Part{Sweep: s, Outcome: Outcome{OK: end.OK, Amount: amounts[i], Fee: fees[i]}}
		if paid {
			parts[i].Amount = new(big.Int).Sub(s.Amount, fees[i])
		}
	}
	return parts
}

// Split divides a total by positive weights. The shares add up to the total, and each differs from its exact share by
// less than one.
func Split(total *big.Int, weights []*big.Int) []*big.Int {
	sum, shares := new(big.Int), make([]*big.Int, len(weights))
	for _, w := range weights {
		sum.Add(sum, w)
	}
	until, given := new(big.Int), new(big.Int)
	for i, w := range weights {
		until.Add(until, w)
		upTo := new(big.Int).Mul(total, until)
		upTo.Div(upTo, sum)
		shares[i] = new(big.Int).Sub(upTo, given)
		given = upTo
	}
	return shares
}

// Newest is the last attempt.
func (o Outgoing) Newest() Attempt { return o.Attempts[len(o.Attempts)-1] }

// Sent are the hashes that a block may hold, newest first. A form that was never signed has none.
func (o Outgoing) Sent() (hashes []string) {
	for i := len(o.Attempts) - 1; i >= 0; i-- {
		if o.Attempts[i].Sent && o.Attempts[i].TxHash != "" {
			hashes = append(hashes, o.Attempts[i].TxHash)
		}
	}
	return hashes
}

// Signed are the hashes of every signed form, whether a node has it or not.
func (o Outgoing) Signed() (hashes []string) {
	for _, a := range o.Attempts {
		if a.TxHash != "" {
			hashes = append(hashes, a.TxHash)
		}
	}
	return hashes
}

// By is the attempt with a hash.
func (o Outgoing) By(hash string) (Attempt, bool) {
	for _, a := range o.Attempts {
		if a.TxHash == hash {
			return a, true
		}
	}
	return Attempt{}, false
}

// Market is the network's present price, in wei per gas.
type Market struct {
	Base, Tip *big.Int
	At        time.Time // of the newest block
}

// Now is the lowest price that gets a transaction into the next block.
func (m Market) Now() *big.Int { return new(big.Int).Add(m.Base, m.Tip) }

// Wish is the price that holds while the base fee doubles.
func (m Market) Wish() *big.Int { return new(big.Int).Add(m.Now(), m.Base) }

// Terms are the limits of sweeping on a network.
type Terms struct {
	MaxFee  *big.Int            // the highest price per gas; above it sweeps wait
	Reserve *big.Int            // kept for the data fee of a rollup
	Least   map[string]*big.Int // smallest sum worth a sweep, by asset
	Share   int64               // a sweep of the coin must be worth this many times its fee
	Pace    Pace                // its price is wei per gas
}

// The temporary reasons to wait.
var (
	ErrDear  = errors.New("the network's gas price is above the cap")
	ErrSmall = errors.New("not worth its fee at present")
)

// A chain's answers about transactions.
var (
	ErrReverts = errors.New("the transfer would fail")
	ErrRefused = errors.New("the node refuses the transaction")
)

// Price is the highest cost of a transaction.
type Price struct {
	Gas         uint64
	MaxFee, Tip *big.Int
}

// Most is the highest possible cost.
func (p Price) Most() *big.Int { return new(big.Int).Mul(new(big.Int).SetUint64(p.Gas), p.MaxFee) }

// Price offers the network's price with twice its base fee, up to the cap.
func (t Terms) Price(m Market, gas uint64) (Price, error) {
	if m.Now().Cmp(t.MaxFee) > 0 {
		return Price{}, ErrDear
	}
	return Price{Gas: gas, MaxFee: least(m.Wish(), t.MaxFee), Tip: m.Tip}, nil
}

// Within lowers a price to the funds of a purse, or returns the missing sum.
func (t Terms) Within(p Price, m Market, purse *big.Int) (Price, *big.Int) {
	purse = new(big.Int).Sub(purse, t.Reserve)
	affordable := new(big.Int)
	if purse.Sign() > 0 {
		affordable.Div(purse, new(big.Int).SetUint64(p.Gas))
	}
	if affordable.Cmp(m.Now()) < 0 {
		// Twice the needed sum, so that a raised fee can be paid as well.
		missing := new(big.Int).Lsh(p.Most(), 1)
		return Price{}, missing.Sub(missing, purse)
	}
	p.MaxFee = least(p.MaxFee, affordable)
	return p, nil
}

// Coins is the part of a sum in the network's coin that can be sent after its own fee.
func (t Terms) Coins(amount *big.Int, p Price) (*big.Int, error) {
	fee := new(big.Int).Add(p.Most(), t.Reserve)
	if new(big.Int).Mul(fee, big.NewInt(t.Share)).Cmp(amount) > 0 {
		return nil, ErrSmall
	}
	return new(big.Int).Sub(amount, fee), nil
}

// Raise makes the price of a transaction that is stuck: an eighth more on both fees, or the network's present price if
// that is higher; nodes accept a replacement from a tenth more. It reports false when the cap is too low for that.
func (t Terms) Raise(old Price, m Market) (Price, bool) {
	step := func(n *big.Int) *big.Int {
		up := new(big.Int).Rsh(n, 3)
		up.Add(up, n)
		return up.Add(up, big.NewInt(1))
	}
	p := Price{Gas: old.Gas, MaxFee: most(step(old.MaxFee), m.Wish()), Tip: most(step(old.Tip), m.Tip)}
	if p.MaxFee.Cmp(t.MaxFee) > 0 {
		p.MaxFee = new(big.Int).Set(t.MaxFee)
	}
	p.Tip = least(p.Tip, p.MaxFee)
	return p, enough(old.MaxFee, p.MaxFee) && enough(old.Tip, p.Tip)
}

// enough reports whether a fee is at least a tenth above another.
func enough(old, next *big.Int) bool {
	want := new(big.Int).Mul(old, big.NewInt(110))
	return new(big.Int).Mul(next, big.NewInt(100)).Cmp(want) >= 0
}

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func most(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// Receipt is a block's record of a transaction.
type Receipt struct {
	TxHash string
	Height int64
	Block  string
	OK     bool
	Fee    *big.Int // in the network's coin, including a rollup's data fee
	Moved  []Move   // of tokens
	// Returned is the rent of closed token accounts that the station received, on solana; else nil.
	Returned *big.Int
	// Rent is the part of the fee that opened the payer's token account, in a refund on solana; else nil.
	Rent    *big.Int
	Starved bool // it ran out of tron's energy: the same transfer with a higher limit may succeed
}

// Same reports whether two answers about a transaction name the same block, result and movements.
func (r Receipt) Same(as Receipt) bool {
	return r.TxHash == as.TxHash && r.Height == as.Height && r.Block == as.Block && r.OK == as.OK &&
		slices.EqualFunc(r.Moved, as.Moved, func(a, b Move) bool {
			return a.Contract == b.Contract && a.From == b.From && a.To == b.To && a.Amount.Cmp(b.Amount) == 0
		})
}

// Move is a token's movement as its contract logged it.
type Move struct {
	Contract, From, To string
	Amount             *big.Int
}

// Arrived reports whether a mined transaction had its effect. A token's transfer counts by its log alone: some tokens
// return false instead of failing.
func (o Outgoing) Arrived(r Receipt) (amount *big.Int, ok bool) {
	a, known := o.By(r.TxHash)
	if !known {
		return new(big.Int), false
	}
	amount, err := intent.Units(a.Request.Amount)
	if err != nil || !r.OK {
		return new(big.Int), false
	}
	contract, from := a.Request.Contract(), cmp.Or(a.Request.Owner(), o.Sender)
	if contract == "" {
		return amount, true
	}
	for _, m := range r.Moved {
		if m.Contract == contract && m.From == from && m.To == a.Request.To && m.Amount.Cmp(amount) == 0 {
			return amount, true
		}
	}
	return new(big.Int), false
}

// RequestID names an attempt to the signer: the same attempt, requested again, gets the same bytes.
func RequestID(outgoing string, attempt int) string { return fmt.Sprintf("%s-%d", outgoing, attempt) }
