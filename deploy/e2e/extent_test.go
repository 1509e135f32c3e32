//go:build integration && !long

package e2e

// slowPages are the runbooks whose commands only the long tests type: they wait for a bank's lease, or set chains back.
var slowPages = []string{"payout-unknown", "payments-restore", "wallets-restore"}

// documentRounds is how many requests of each operation the walk of the document makes, on the shared stack and
// without the operations of operators.
const (
	documentRounds = 2
	documentWhole  = false
)

// killCases are one kill of each service on the way of a payment.
var killCases = []killCase{
	{"payments", "payment.settling"},
	{"wallets", "deposit"},
	{"callback-dispatcher", "payment.settling"},
	{"gateway", "payment.confirming"},
}
