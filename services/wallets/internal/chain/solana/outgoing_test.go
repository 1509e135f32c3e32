package solana

import (
	"fmt"
	"testing"

	"causeway.internal/services/wallets/internal/chain/rpctest"
)

// A transaction is absent only if every endpoint has all blocks in which it could be, and none knows it.
func TestAbsent(t *testing.T) {
	node := func(first, seen int64, status string) *rpctest.Node {
		n := serving(t)
		n.Set("getFirstAvailableBlock", fmt.Sprint(first))
		n.Set("getSignatureStatuses", fmt.Sprintf(`{"context":{"slot":%d},"value":[%s]}`, seen, status))
		return n
	}
	const landed = `{"slot":8,"confirmationStatus":"finalized"}`
	for name, c := range map[string]struct {
		nodes         []*rpctest.Node
		absent, fails bool
	}{
		"one endpoint without it":            {[]*rpctest.Node{node(0, 9, "null")}, true, false},
		"two endpoints without it":           {[]*rpctest.Node{node(7, 9, "null"), node(0, 10, "null")}, true, false},
		"the first endpoint knows it":        {[]*rpctest.Node{node(0, 9, landed), node(0, 9, "null")}, false, false},
		"the second endpoint knows it":       {[]*rpctest.Node{node(0, 9, "null"), node(0, 9, landed)}, false, false},
		"an endpoint is behind":              {[]*rpctest.Node{node(0, 9, "null"), node(0, 8, "null")}, false, false},
		"an endpoint of a later snapshot":    {[]*rpctest.Node{node(8, 9, "null")}, false, true},
		"one of two has a later snapshot":    {[]*rpctest.Node{node(0, 9, "null"), node(8, 9, "null")}, false, true},
		"an endpoint does not say its first": {[]*rpctest.Node{node(0, 9, "null"), serving(t)}, false, true},
	} {
		absent, err := newDriver(t, c.nodes...).Absent(t.Context(), signature, 7, 9)
		if absent != c.absent || (err != nil) != c.fails {
			t.Errorf("%s: Absent gives %v, %v, want %v and a failure %v", name, absent, err, c.absent, c.fails)
		}
	}
}
