package wallet

import (
	"crypto/sha256"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// Simulated is a transfer that somebody wants to see on a simulated chain of test mode.
type Simulated struct {
	RequestID     string
	Network       string
	TxHash        string
	To            []byte // address key
	Asset         string
	Contract      string
	Amount        *big.Int
	Sender        string
	Confirmations int64 // depth to reach at the fast pace
	LeavesAfter   int64 // depth at which its block leaves the chain, alone; 0 for never
	Returns       bool  // a later block holds it again
}

// Spelling is an address as each mode writes it.
type Spelling struct {
	Family     money.Family
	Test, Live string
}

// SimulatedHash is the hash of a request's transaction on a simulated chain, the same each time.
func SimulatedHash(family money.Family, network, request string) string {
	return address.TxHash(family, sha256.Sum256([]byte("simulated/"+network+"/"+request)))
}

// lags say how far the final block of a simulated chain is below its head: short versions of the real delays.
var lags = map[string]int64{
	"bitcoin": 6, "ethereum": 24, "bsc": 3, "polygon": 5, "base": 24, "arbitrum": 60, "tron": 24, "solana": 12,
}

// SimulatedLag is how far the final block of a simulated chain is below its head.
func SimulatedLag(network string) int64 { return lags[network] }

// Enough is the number of confirmations after which a simulated deposit counts: its deepest table entry, or the depth
// at which its block is final, whichever comes first.
func (d Depths) Enough(network, asset string) int64 {
	return min(d.Deepest(network, asset), lags[network]+1)
}
