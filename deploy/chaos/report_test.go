package main

import (
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/chaos/internal/audit"
)

// The report has one line for each network, and one for each law, which names a broken one.
func TestPrintReport_networksAndLaws(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	f := newField(nil, nil, 1, t.Logf)
	f.struck["bitcoin"], f.struck[audit.Draws] = 3, 4
	printReport(&out, audit.Report{
		Networks: []audit.Network{{
			Name: "bitcoin", Sweeps: 60, Transactions: 77, Refunds: 17, Draws: 5, Collected: "$21326.74", Cost: "0.0003 BTC = $29.71",
			CostPerUSD: "$0.001393", RefundCost: "0.00007 BTC = $6.71", Held: "0.18 BTC",
		}},
		Kinds:  []audit.Kind{{Name: audit.Draws, Counts: "3 asked for, 2 confirmed", Sent: "70 USDT", Cost: "0.1 ETH"}},
		Proofs: []audit.Proof{{Law: "sum per asset 0", Of: "8 assets"}, {Law: "clearing accounts empty", Of: "4", Faults: 1}},
	}, f, 0, options{}, 0)
	for _, want := range []string{
		"bitcoin   60 sweeps, 17 refunds, 5 withdrawals, 77 transactions, 3 kills; sweeps brought $21326.74 and cost 0.0003 BTC = $29.71, " +
			"$0.001393 per collected $; refunds and withdrawals cost 0.00007 BTC = $6.71; holds 0.18 BTC\n",
		"out of      wallets   3 asked for, 2 confirmed, 4 kills; sent 70 USDT; the networks took 0.1 ETH\n",
		"law         sum per asset 0: 8 assets\n",
		"law         BROKEN clearing accounts empty: 4, 1 faults\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("print a report: got\n%swant the line %q", out.String(), want)
		}
	}
}

func TestFailoverTable(t *testing.T) {
	t.Parallel()
	got := failoverTable(map[string][]gaps{"PostgreSQL: primary killed": {
		{creates: 3 * time.Second, changes: 9 * time.Second}, {creates: time.Second, changes: 4 * time.Second}, {creates: 2 * time.Second, changes: 5 * time.Second},
	}})
	const want = "  PostgreSQL: primary killed       3  2.00       3.00        5.00       9.00      \n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("print failovers: got\n%swant the line\n%s", got, want)
	}
}
