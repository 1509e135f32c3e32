//go:build integration && !long

package e2e

// slowPages are the runbooks whose commands only the long tests type: they wait for a bank's lease, or set chains back.
var slowPages = []string{"payout-unknown", "payments-restore", "wallets-restore"}

// killCases are one kill of each service on the way of a payment, and one more of payments.
var killCases = []killCase{
	{"payments", "payment.confirming"},
	{"payments", "payment.settling"},
	{"wallets", "deposit"},
	{"callback-dispatcher", "payment.settling"},
	{"gateway", "payment.confirming"},
}
