//go:build integration && long

package store_test

import (
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// crowded are all stocks, from which all allocate at once.
var crowded = map[tenant.Mode][]money.Family{tenant.Test: money.Families(), tenant.Live: money.Families()}
