//go:build integration && long

package e2e

var slowPages []string

// documentRounds is how many requests of each operation the walk of the document makes, those of operators too,
// on a stack of its own.
const (
	documentRounds = 25
	documentWhole  = true
)

// killCases are kills of every service, also of the one that no payment needs.
var killCases = []killCase{
	{"payments", "deposit"},
	{"payments", "payment.confirming"},
	{"payments", "payment.settling"},
	{"wallets", "deposit"},
	{"wallets", "payment.confirming"},
	{"callback-dispatcher", "deposit"},
	{"callback-dispatcher", "payment.settling"},
	{"gateway", "payment.confirming"},
	{"reports", "payment.confirming"},
}
