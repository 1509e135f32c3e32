package sweep

import "math/big"

// Authorization names an authorization (EIP-3009) to the contract that takes it.
type Authorization struct {
	Contract, Owner string
	Nonce           [32]byte
}

// Presented is the transaction that has presented an authorization.
type Presented struct {
	TxHash, Sender string
	Nonce          uint64 // of the sender
}

// CoinGas is the least gas of a transfer of the network's own coin, which a funding is.
const CoinGas = 21_000

// Authorized reports whether the gas station sends the sweep, with an authorization of the deposit address.
func (o Outgoing) Authorized() bool {
	return len(o.Attempts) > 0 && o.Attempts[0].Request.Owner() != ""
}

// Cheaper reports whether the gas station pays less, at the present price, for a transaction that presents an
// authorization than for a funding and the coins that it gives. The rest of those coins stays at the deposit
// address.
func (m Market) Cheaper(authorized uint64, given *big.Int) bool {
	fund := new(big.Int).Mul(m.Now(), big.NewInt(CoinGas))
	present := new(big.Int).Mul(m.Now(), new(big.Int).SetUint64(authorized))
	return present.Cmp(fund.Add(fund, given)) < 0
}
