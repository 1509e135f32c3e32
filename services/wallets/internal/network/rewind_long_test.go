//go:build integration && long

package network_test

import (
	"fmt"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/fixture"
)

// The headers around the fork were pruned: the verb finds the fork by the blocks of the deposits, or by the given
// height.
func TestConformance_rewindBelowTheKeptHeaders(t *testing.T) {
	on(t, servedForks, func(t *testing.T, s fixture.Subject) {
		l := fixture.NewChain(t, s, s.Start(t))
		below := l.Transfer(map[string]any{"to": l.Addresses[0], "amount": s.Coins, "token": false, "mine": 3})
		gone := l.Transfer(map[string]any{"to": l.Addresses[1], "amount": s.Coins, "token": false, "mine": 8})
		last := l.Found(below)
		l.Found(gone)
		l.CaughtUp()
		height := l.Scanned()
		l.Stop()
		if _, err := l.Pool.Exec(t.Context(), `DELETE FROM headers WHERE mode = 'live' AND height < $1`, height-2); err != nil {
			t.Fatal(err)
		}
		work(l)
		l.Do("/reorg", map[string]any{"depth": 8, "blocks": 12})
		fixture.Await(t, "the scan to halt", func() bool { return l.Metrics.Ready(t.Context()) != nil })
		_, err := tryRewind(l, "--network", s.Network, "--to", fmt.Sprint(height-1), "--reason", "too high")
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a height above the fork: %v", err)
		}
		if got := rewind(l, "--network", s.Network, "--reason", "deep"); got.To != last.BlockHeight || got.Reverted != 1 {
			t.Errorf("%+v, the last block known is %d", got, last.BlockHeight)
		}
		l.One(gone, "reverted", fixture.IsReverted)
		later := l.Transfer(map[string]any{"to": l.Addresses[2], "amount": s.Coins, "token": false, "mine": 1})
		l.Found(later)
		l.CaughtUp()
		if len(l.Last) != 3 {
			t.Errorf("%d deposits", len(l.Last))
		}
	})
}
