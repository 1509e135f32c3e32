package sweep

import (
	"math/big"
	"time"
)

// Rate is a price on bitcoin, in satoshi for 1000 virtual bytes.
type Rate int64

// rateUnit is the virtual bytes of a rate.
const rateUnit = 1_000

// Fee is the price of so many virtual bytes, rounded up.
func (r Rate) Fee(size int64) int64 { return (int64(r)*size + rateUnit - 1) / rateUnit }

// RateOf is the rate of a fee, rounded down.
func RateOf(fee, size int64) Rate { return Rate(fee * rateUnit / size) }

// RelayStep is what nodes want for the bytes of a replacement, on top of the replaced fee (BIP-125).
const RelayStep Rate = 1_000

// Batches are the limits of collecting on bitcoin.
type Batches struct {
	Most      Rate  // above it nothing is collected
	Least     int64 // satoshi that young money must bring together
	InputSize int64 // virtual bytes that one more deposit costs
	Pace      Pace  // its price is a rate
}

// worthInput is how many times its own fee a deposit must bring, and a whole transaction.
const worthInput = 3

// leastDeposit is the smallest deposit at any rate: what it leaves of itself alone is no dust to a node.
const leastDeposit = 2_000

// Deposit is the smallest deposit that is worth its own fee at a rate. Smaller ones are left until the rate falls.
func (b Batches) Deposit(now Rate) int64 { return max(leastDeposit, worthInput*now.Fee(b.InputSize)) }

// Ready reports whether a sum is collected at a rate: nil, or the reason to wait. age is that of its oldest part: old
// money is collected even if the sum is small, since each deposit is worth its own fee.
func (b Batches) Ready(sum int64, now Rate, age time.Duration) error {
	if sum < b.Least && age < b.Pace.Latest {
		return ErrSmall
	}
	return b.Pace.Now(big.NewInt(int64(now)), big.NewInt(int64(b.Most)), age)
}

// Raise is the fee of a transaction that is stuck: the present rate or an eighth more, up to the cap and to what the
// sum is worth. It reports false when that is less than nodes want of a replacement: the price of its own bytes on top
// of the fee before.
func (b Batches) Raise(fee, size, sum int64, now Rate) (int64, bool) {
	return b.RaiseWithin(fee, size, sum/worthInput, now)
}

// RaiseWithin is Raise up to a fee that the transaction can pay.
func (b Batches) RaiseWithin(fee, size, purse int64, now Rate) (int64, bool) {
	old := RateOf(fee, size)
	step := fee + RelayStep.Fee(size)
	raised := min(max(now.Fee(size), (old+old/8).Fee(size), step), b.Most.Fee(size), purse)
	return raised, raised >= step
}

// Spending is a block with its transactions that spend certain outputs.
type Spending struct {
	Block, Parent string
	TxHashes      []string
}

// Paying is a block with its outputs to one script.
type Paying struct {
	Block   string
	Outputs []Input
}

// Point names an output.
type Point struct {
	TxHash string
	Output int64
}

// Payment is an output to an address.
type Payment struct {
	Point
	To     string
	Amount *big.Int
}

// Moves are a block's outputs to certain addresses, and all outputs that it spends.
type Moves struct {
	Block string
	Paid  []Payment
	Spent []Point
}
