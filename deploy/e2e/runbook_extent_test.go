//go:build integration && !long

package e2e

// slowPages are the runbooks whose commands only the long tests type: they wait for a bank's lease, or set chains back.
var slowPages = []string{"payout-unknown", "payments-restore", "wallets-restore"}
