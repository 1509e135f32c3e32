// Package magic holds the senders of simulated transfers that force what test mode would otherwise not show
// (docs/sandbox.md). They mean nothing in live mode.
package magic

import (
	"slices"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Sender is a sender of simulated transfers with a meaning.
type Sender string

// The senders.
const (
	Listed Sender = "screening_hold" // is on the list of sanctioned addresses
	Above  Sender = "over_limit"     // no limit has room for more of its money than the quote
)

// keyBytes are the lengths of addresses.
const (
	keyBytes       = 20
	solanaKeyBytes = 32
)

// addresses are those of each sender, by network family.
var addresses = func() map[Sender]map[money.Family]string {
	out := map[Sender]map[money.Family]string{}
	for _, s := range []Sender{Listed, Above} {
		out[s] = map[money.Family]string{}
		sum := address.Keccak256([]byte("causeway sandbox " + s))
		for _, family := range money.Families() {
			key := sum[:keyBytes]
			if family == money.Solana {
				key = sum[:solanaKeyBytes]
			}
			text, err := address.Encode(family, address.Testnet, key)
			if err != nil {
				panic(err) // a constant key of a known family
			}
			out[s][family] = text
		}
	}
	return out
}()

// Address is the sender's address on the networks of a family. Nobody has its key.
func (s Sender) Address(family money.Family) string { return addresses[s][family] }

// Sent reports whether the sender is among those of a transfer of test mode.
func (s Sender) Sent(mode tenant.Mode, senders []string) bool {
	return mode == tenant.Test && slices.ContainsFunc(senders, func(a string) bool {
		for _, own := range addresses[s] {
			if a == own {
				return true
			}
		}
		return false
	})
}
