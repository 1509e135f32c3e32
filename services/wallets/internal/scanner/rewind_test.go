package scanner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
)

// past is what a store still knows of a scan: the newest headers, and of older blocks those with deposits.
type past struct {
	Past
	at    Cursor
	known map[int64]chain.Header
}

func (p past) At(context.Context, Chain) (Cursor, bool, error) { return p.at, p.at.Hash != "", nil }

func (p past) Known(_ context.Context, _ Chain, height int64) (chain.Header, bool, error) {
	for ; height >= 0; height-- {
		if h, ok := p.known[height]; ok {
			return h, true, nil
		}
	}
	return chain.Header{}, false, nil
}

// scanned is the knowledge of a store that kept the headers from a height on and has deposits in some blocks below.
func scanned(n *node, kept int64, deposits ...int64) past {
	p := past{known: map[int64]chain.Header{}}
	for _, b := range n.blocks {
		if b.Height >= kept {
			p.known[b.Height] = b.Header
		}
	}
	for _, h := range deposits {
		p.known[h] = n.blocks[h].Header
	}
	p.at.Header = n.blocks[len(n.blocks)-1].Header
	return p
}

var rewound = Chain{Mode: tenant.Live, Network: "ethereum"}

func TestPlanRewind(t *testing.T) {
	ours := newNode()
	ours.mineMany(40) // heights 0 to 40
	forked := func(above, blocks int) *node {
		n := ours.clone()
		n.cut(40 - above)
		n.made += 1000
		n.mineMany(blocks)
		return n
	}
	for name, c := range map[string]struct {
		chain    *node
		past     past
		given    int64
		fork, to int64
		err      string
	}{
		"within the kept headers":                {forked(25, 30), scanned(ours, 10), -1, 25, 25, ""},
		"a height below the fork":                {forked(25, 30), scanned(ours, 10), 20, 25, 20, ""},
		"a height above the fork":                {forked(25, 30), scanned(ours, 10), 26, 0, 0, "at most 25"},
		"at the oldest header":                   {forked(10, 50), scanned(ours, 10), -1, 10, 10, ""},
		"below every header, by a deposit":       {forked(15, 50), scanned(ours, 30, 4, 9, 20), -1, 19, 9, ""},
		"below every header, nearer by a height": {forked(15, 50), scanned(ours, 30, 4, 9, 20), 15, 19, 15, ""},
		"below every header, no deposit":         {forked(5, 50), scanned(ours, 30), -1, 0, 0, "no scanned block that is still known"},
		"no deposit and a height":                {forked(5, 50), scanned(ours, 30), 5, 29, 5, ""},
		"nothing is wrong":                       {ours, scanned(ours, 10), -1, 0, 0, "on the node's chain"},
		"the node is only behind":                {forked(30, 0), scanned(ours, 10), -1, 0, 0, "shorter"},
		"behind, and a height":                   {forked(30, 0), scanned(ours, 10), 28, 30, 28, ""},
		"never scanned":                          {ours, past{}, -1, 0, 0, "never scanned"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := PlanRewind(t.Context(), rewound, c.chain, c.past, c.given)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("plan a rewind: got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || plan.Fork != c.fork || plan.To != c.chain.blocks[c.to].Header || plan.From.Hash != c.past.at.Hash {
				t.Errorf("plan a rewind: got %+v, %v, want the fork above %d", plan, err, c.fork)
			}
		})
	}
}

// The fork is never below a block that is still on the chain, and never above one that left it.
func TestPlanRewind_everyFork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours := newNode()
		ours.mineMany(rapid.IntRange(1, 60).Draw(t, "scanned"))
		top := int64(len(ours.blocks) - 1)
		kept := rapid.Int64Range(0, top).Draw(t, "kept from")
		p := scanned(ours, kept, rapid.SliceOfN(rapid.Int64Range(0, top), 0, 10).Draw(t, "deposits")...)
		theirs := ours.clone()
		fork := rapid.Int64Range(0, top).Draw(t, "fork")
		theirs.cut(int(top - fork))
		theirs.made += 1000
		theirs.mineMany(rapid.IntRange(0, 80).Draw(t, "branch"))
		plan, err := PlanRewind(t.Context(), rewound, theirs, p, -1)
		if err != nil {
			if !errors.Is(err, ErrOnChain) && !errors.Is(err, ErrShort) && !errors.Is(err, ErrNothingKnown) {
				t.Fatal(err)
			}
			return
		}
		if plan.To.Height > fork || theirs.blocks[plan.To.Height].Hash != plan.To.Hash {
			t.Errorf("goes on at %+v, the fork is at %d", plan.To, fork)
		}
		for height, h := range p.known {
			if on := height < int64(len(theirs.blocks)) && theirs.blocks[height].Hash == h.Hash; on != (height <= plan.Fork) {
				t.Errorf("block %d is on the chain: %v; the fork found is %d", height, on, plan.Fork)
			}
		}
	})
}
