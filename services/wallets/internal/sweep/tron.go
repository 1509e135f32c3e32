package sweep

import (
	"math/big"
)

// Rates are tron's present prices, in sun.
type Rates struct {
	Energy    int64 // of a unit of energy
	Byte      int64 // of a byte of bandwidth
	Open      int64 // that the first payer of an address pays, beyond the bytes
	FreeBytes int64 // that each account has a day
	// A stake of StakeOf sun has EnergyOf units of energy, of a whole network.
	StakeOf, EnergyOf *big.Int
}

// Stake is the staked TRX whose energy is at least so many units. A fiftieth more covers a change of the rate before
// the transaction is in a block.
func (r Rates) Stake(energy int64) int64 {
	n := new(big.Int).Mul(big.NewInt(energy), r.StakeOf)
	n.Mul(n, big.NewInt(51))
	n, left := n.DivMod(n, new(big.Int).Mul(r.EnergyOf, big.NewInt(50)), new(big.Int))
	if left.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	if !n.IsInt64() || n.Int64() > mostSun {
		return mostSun
	}
	return max(n.Int64(), leastStake)
}

const (
	leastStake = 1_000_000 // sun; the network lends no less
	mostSun    = 1 << 62
)

// bytes is the price of a transaction's bandwidth: nothing while the account has enough of its own.
func (r Rates) bytes(size, has int64) int64 {
	if has >= size {
		return 0
	}
	return size * r.Byte
}

// Means are what an account on tron can pay with.
type Means struct {
	Active    bool  // the network knows the account; its first TRX made it
	Contract  bool  // it is a contract, which takes no TRX by a transfer
	Coins     int64 // sun that may be spent; at a deposit address without merchants' money
	Energy    int64 // left today
	Bandwidth int64 // left today, of the larger of its own and the free one
	Lendable  int64 // staked sun whose energy can be lent
}

// Call is a token's transfer that a deposit address has to send.
type Call struct {
	Energy int64 // that it needs
	Size   int64 // in bytes of bandwidth
	Held   bool  // the address holds TRX of merchants, which a call must not burn
}

// TronTerms are the limits of sweeping tokens on tron, in sun.
type TronTerms struct {
	MaxFee   int64 // most that a call may burn
	MaxStake int64 // most staked TRX whose energy is lent at once; 0: energy is never lent
	Rent     int64 // sun for which a thousand units of the stake's energy could be sold elsewhere
	LendSize int64 // bytes of lending energy
	BackSize int64 // bytes of taking it back
}

// Step is the next transaction of a token's sweep: exactly one of FeeLimit, Give and Lend is positive.
type Step struct {
	FeeLimit int64 // sweep now, with this limit
	Give     int64 // sun that the gas station sends to the address first
	Lend     int64 // staked sun whose energy the gas station lends to the address first
	Cost     int64 // sun that the missing energy costs, burnt or lent; the price that the pace judges
}

// Next chooses the cheapest way to a sweep. An address sweeps as soon as it can pay for the energy and the bytes. Else
// the gas station gives it TRX to burn, or lends it energy where the two transactions for that, and the rent that the
// energy could bring, are cheaper. A new address always gets some TRX: only that makes it an account. Where the address
// holds merchants' TRX, the fee limit is covered by the station's coins, so that a call cannot burn anything else.
func (t TronTerms) Next(c Call, at, station Means, r Rates) (Step, error) {
	limit := c.Energy * r.Energy
	if limit > t.MaxFee {
		return Step{}, ErrDear
	}
	has := at.Bandwidth
	if !at.Active {
		has = r.FreeBytes
	}
	size := r.bytes(c.Size, has)
	short := max(0, c.Energy-at.Energy)
	burn := short * r.Energy
	cost := burn
	if c.Held {
		burn = limit
	}
	if at.Active && at.Coins >= size+burn {
		return Step{FeeLimit: max(limit, 1), Cost: cost}, nil
	}
	stake := r.Stake(short)
	lend := r.bytes(t.LendSize, station.Bandwidth) + r.bytes(t.BackSize, station.Bandwidth-t.LendSize) + short*t.Rent/1_000
	if short > 0 && !c.Held && stake <= t.MaxStake && stake <= station.Lendable && lend < burn-min(burn, max(0, at.Coins-size)) {
		if at.Active && at.Coins >= size {
			return Step{Lend: stake, Cost: lend}, nil
		}
		return Step{Give: max(1, size-at.Coins), Cost: lend}, nil // the energy is lent once the address is an account
	}
	return Step{Give: max(1, size+burn-at.Coins), Cost: cost}, nil
}

// Send is the part of a sum in TRX that can be sent after the fee of its own bytes.
func (r Rates) Send(amount *big.Int, size int64, at Means, share int64) (*big.Int, error) {
	fee := big.NewInt(r.bytes(size, at.Bandwidth))
	if new(big.Int).Mul(fee, big.NewInt(share)).Cmp(amount) > 0 {
		return nil, ErrSmall
	}
	return new(big.Int).Sub(amount, fee), nil
}

// Cost is what the station pays to give TRX to an address, beyond the given sum.
func (r Rates) Cost(size int64, station Means, active bool) int64 {
	cost := r.bytes(size, station.Bandwidth)
	if !active {
		cost += r.Open
	}
	return cost
}
