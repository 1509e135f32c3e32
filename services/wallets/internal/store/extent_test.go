//go:build integration && !long

package store_test

import (
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// crowded are the stocks from which all allocate at once: one of each kind of source, an extended key, a sandbox and a
// pool.
var crowded = map[tenant.Mode][]money.Family{tenant.Test: {money.EVM, money.Solana}, tenant.Live: {money.Solana}}
