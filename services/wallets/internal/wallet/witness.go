package wallet

import "causeway.internal/libs/tenant"

// Witness is the answer of endpoints of other hosts about a deposit, in the deposit's block.
type Witness string

// The answers. Rows of releases without witnesses have none.
const (
	WitnessPending      Witness = "pending"      // not asked yet, or no answer
	WitnessConfirmed    Witness = "confirmed"    // two hosts have the block with the transfer; a simulated chain needs none
	WitnessContradicted Witness = "contradicted" // a host has the height without the transfer, and no two have it
	WitnessAlone        Witness = "alone"        // one host serves the network
)

// asked is the answer before any host was asked.
func asked(mode tenant.Mode) Witness {
	if mode == tenant.Test {
		return WitnessConfirmed
	}
	return WitnessPending
}

// Witnessed records an answer, as a new version if it differs.
func (d Deposit) Witnessed(w Witness) (Deposit, bool) {
	if d.State != Confirmed || d.Witness == w {
		return d, false
	}
	d.Witness = w
	d.Version++
	return d, true
}
