package sweep

import (
	"math/big"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// SolanaAccount is an account of solana; without coins it does not exist.
type SolanaAccount struct {
	Coins   uint64 // lamports
	Program string // that owns it
	Data    []byte
}

// Fault is why a transaction of solana would fail: the call, counted from 0, or the account that is at fault; -1 where
// it is neither.
type Fault struct {
	Call, Account int
	Text          string
}

// Compute units of a transaction: for each move about twice what the programs use, and for all the others together.
const (
	unitsBase  = 2_000
	unitsCoin  = 1_000
	unitsToken = 20_000
)

// Units is the limit of compute units of a transaction with so many moves.
func Units(native bool, moves int) uint32 {
	each := unitsToken
	if native {
		each = unitsCoin
	}
	return uint32(unitsBase + each*moves) //nolint:gosec // a transaction has at most a few moves
}

// Leave is the part of a sum of lamports that an address with a balance can send: what stays is nothing, or enough for
// the network to let the address exist. It is nothing when the balance is too small.
func Leave(balance, sum uint64) uint64 {
	switch {
	case balance < sum:
		return 0
	case balance == sum || balance-sum >= soltx.Bare:
		return sum
	case balance > soltx.Bare:
		return balance - soltx.Bare
	}
	return 0
}

// UnitPrice is the price per compute unit that a transaction offers: the network's. ErrDear means that it would take
// the whole fee above the cap.
func (t Terms) UnitPrice(tx soltx.Transaction, market uint64) (uint64, error) {
	tx.UnitPrice = market
	if tx.Fee().Cmp(t.MaxFee) > 0 {
		return 0, ErrDear
	}
	return market, nil
}

// RefundUnits is the limit of compute units of a refund. Opening a token account searches for its address, which takes
// more for some owners than for others.
func RefundUnits(native bool) uint32 {
	const open = 60_000
	if native {
		return Units(true, 1)
	}
	return Units(false, 1) + open
}

// RefundPrice is the price per compute unit of a refund. It has one form for ever, so it offers four times the
// network's price and a step. The network's price counts what earlier refunds of the station have offered. So none
// offers more than the dearest kind of refund can pay, or else refunds of coin would make those of tokens too dear.
func (t Terms) RefundPrice(tx soltx.Refund, market uint64) (uint64, error) {
	const times, step = 4, 10_000
	tx.UnitPrice = market
	if tx.Fee().Cmp(t.MaxFee) > 0 {
		return 0, ErrDear
	}
	most := max(market, unitMost(t.MaxFee, RefundUnits(false)))
	if market > most/times { // four times the price could be more than a number holds
		return most, nil
	}
	return min(market*times+step, most), nil
}

// unitMost is the highest price per unit that keeps the fee of one signature within a cap.
func unitMost(fee *big.Int, limit uint32) uint64 {
	most := new(big.Int).Sub(fee, big.NewInt(soltx.FeePerSignature))
	most.Mul(most, big.NewInt(1_000_000)).Div(most, big.NewInt(int64(limit)))
	return most.Uint64()
}

// RaiseUnit is the price of a transaction that no block takes: a quarter more and a step, or the network's present
// price if that is higher, and at most the highest price that keeps the whole fee within the cap. It reports false when
// the cap is too low for the step.
func (t Terms) RaiseUnit(tx soltx.Transaction, market uint64) (uint64, bool) {
	const step, micro = 1_000, 1_000_000
	least := tx.UnitPrice + tx.UnitPrice/4 + step
	if _, err := t.UnitPrice(tx, least); err != nil || tx.UnitLimit == 0 {
		return 0, false
	}
	tx.UnitPrice = 0
	most := new(big.Int).Sub(t.MaxFee, tx.Fee())
	most.Mul(most, big.NewInt(micro)).Div(most, big.NewInt(int64(tx.UnitLimit)))
	if most.Cmp(new(big.Int).SetUint64(market)) < 0 {
		return most.Uint64(), true
	}
	return max(least, market), true
}

// sharedTries is how many transactions of a sweep may fail for a reason outside of it. On solana a batch fails as a
// whole, also by what happens to another address of it between the trial and the block. An authorization may end before
// a block takes it.
const sharedTries = 3

// Tries is how many transactions of a sweep may fail until it is blocked.
func (o Outgoing) Tries() int {
	if o.moves() != nil || o.Authorized() {
		return sharedTries
	}
	return 1
}

// moves are the shares of the addresses in a transaction of solana, which all of its forms have in common.
func (o Outgoing) moves() []intent.SolanaMove {
	if len(o.Attempts) == 0 || o.Attempts[0].Request.Solana == nil {
		return nil
	}
	return o.Attempts[0].Request.Solana.Moves
}

// solanaParts are the parts of a transaction of solana: each address's share is its move, the fee is split by the
// moves, which cost alike, and the rent by the accounts that were closed.
func (o Outgoing) solanaParts(out Outcome) []Part {
	moves := o.moves()
	owners := map[string]Sweep{}
	for _, s := range o.Sweeps() {
		owners[s.Address] = s
	}
	alike, closed := make([]*big.Int, len(moves)), make([]*big.Int, len(moves))
	all := new(big.Int)
	for i, m := range moves {
		alike[i], closed[i] = big.NewInt(1), new(big.Int)
		if m.Close {
			closed[i].SetInt64(1)
			all.Add(all, closed[i])
		}
	}
	if all.Sign() == 0 {
		closed = alike
	}
	fees, rents, parts := Split(out.Fee, alike), Split(returned(out), closed), make([]Part, len(moves))
	for i, m := range moves {
		amount := new(big.Int)
		if out.OK {
			amount, _ = intent.Units(m.Amount) // the signer has read it
		}
		parts[i] = Part{Sweep: owners[m.Owner], Outcome: Outcome{OK: out.OK, Amount: amount, Fee: fees[i], Returned: rents[i]}}
	}
	return parts
}

func rent(o Outcome) *big.Int {
	if o.Rent == nil {
		return new(big.Int)
	}
	return o.Rent
}

func returned(o Outcome) *big.Int {
	if o.Returned == nil {
		return new(big.Int)
	}
	return o.Returned
}
