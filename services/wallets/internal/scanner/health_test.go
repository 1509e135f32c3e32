package scanner

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/wallet"
)

// TestJudge: which scans follow their chain, to the second.
func TestJudge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	block := func(height int64, age time.Duration) chain.Header {
		return chain.Header{Height: height, Time: ago(age)}
	}
	c := Config{Behind: 3 * time.Minute, Stall: 30 * time.Minute}
	slow := Config{Behind: 30 * time.Minute, Stall: 3 * time.Hour}
	for name, x := range map[string]struct {
		cfg     Config
		s       sight
		scanned chain.Header
		want    wallet.ScanState
	}{
		"at the head":                               {c, sight{head: block(9, 0), askedAt: now, caughtUp: now}, block(9, 0), wallet.ScanFollowing},
		"the node never named a head":               {c, sight{}, block(9, 0), wallet.ScanUnreachable},
		"the node named its head half a minute ago": {c, sight{head: block(9, 0), askedAt: ago(headFresh)}, block(9, 0), wallet.ScanFollowing},
		"the node named its head longer ago":        {c, sight{head: block(9, 0), askedAt: ago(headFresh + 1)}, block(9, 0), wallet.ScanUnreachable},
		"as far behind as it may be":                {c, sight{head: block(9, 0), askedAt: now}, block(5, 3*time.Minute), wallet.ScanFollowing},
		"further behind":                            {c, sight{head: block(9, 0), askedAt: now}, block(5, 3*time.Minute+1), wallet.ScanBehind},
		"has trailed for as long as it may":         {c, sight{head: block(9, 0), askedAt: now, caughtUp: ago(3 * time.Minute)}, block(5, time.Hour), wallet.ScanFollowing},
		"has trailed for longer":                    {c, sight{head: block(9, 0), askedAt: now, caughtUp: ago(3*time.Minute + 1)}, block(5, time.Hour), wallet.ScanBehind},
		"a block after an hour's pause":             {slow, sight{head: block(9, 0), askedAt: now, caughtUp: ago(5 * time.Second)}, block(8, time.Hour), wallet.ScanFollowing},
		"an hour without a block on bitcoin":        {slow, sight{head: block(9, time.Hour), askedAt: now, caughtUp: now}, block(9, time.Hour), wallet.ScanFollowing},
		"a head as old as the chain ever pauses":    {c, sight{head: block(9, 30*time.Minute), askedAt: now}, block(9, 30*time.Minute), wallet.ScanFollowing},
		"an older head":                             {c, sight{head: block(9, 30*time.Minute+1), askedAt: now}, block(9, 30*time.Minute+1), wallet.ScanStalled},
		"a head of the future":                      {c, sight{head: block(9, -time.Hour), askedAt: now}, block(9, -time.Hour), wallet.ScanFollowing},
		"a node that went back":                     {c, sight{head: block(7, time.Minute), askedAt: now}, block(9, 0), wallet.ScanFollowing},
		"halted":                                    {c, sight{head: block(9, 0), askedAt: now, caughtUp: now, halted: true}, block(9, 0), wallet.ScanHalted},
		"halted, and the node does not answer":      {c, sight{halted: true}, block(9, 0), wallet.ScanHalted},
		"catching up from far behind a stale head":  {c, sight{head: block(9, time.Hour), askedAt: now}, block(5, 2*time.Hour), wallet.ScanBehind},
	} {
		if got := x.cfg.judge(x.s, x.scanned, now); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

// Scans that stand still are announced at the same moments, whenever each of them began, so that their messages travel
// together.
func TestScan_quietOnesTellTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		period := stillMost * cfg.Announce
		var stores []*memory
		for range 4 {
			n, m := newNode(), newMemory(ours)
			b := start(t, n, m, cfg, 1)
			defer b.end()
			n.mineMany(3)
			b.settle(period/3 + time.Second)
			stores = append(stores, m)
		}
		time.Sleep(period)
		var before []int
		for _, m := range stores {
			_, told := m.fares()
			before = append(before, told)
		}
		var moments, told int
		for range 3 * period / testPoll {
			time.Sleep(testPoll)
			synctest.Wait()
			anybody := false
			for i, m := range stores {
				if _, now := m.fares(); now > before[i] {
					told, before[i], anybody = told+now-before[i], now, true
				}
			}
			if anybody {
				moments++
			}
		}
		if moments != 3 || told != 3*len(stores) {
			t.Errorf("in three periods %d announcements came at %d moments, want %d at 3", told, moments, 3*len(stores))
		}
	})
}

// A scan without progress is announced at longer intervals. An unreachable node, a halt and the recovery from each are
// announced at once.
func TestScan_tellsHowItFares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, m := newNode(), newMemory(ours)
		cfg := testConfig()
		b := start(t, n, m, cfg, 1)
		defer b.end()
		n.mine(pay("a", ours))
		n.mineMany(19)
		b.settle(time.Second)
		want := func(when string, states ...wallet.ScanState) {
			t.Helper()
			if got, _ := m.fares(); !slices.Equal(got, states) {
				t.Fatalf("%s: announced %v, want %v", when, got, states)
			}
		}
		want("at the head", wallet.ScanFollowing)
		_, before := m.fares()
		b.settle(10 * stillMost * cfg.Announce)
		if _, told := m.fares(); told < before+9 || told > before+11 {
			t.Errorf("announced %d times in thirty periods without a block, want about ten", told-before)
		}
		_, before = m.fares()
		for range 10 {
			n.mine()
			b.settle(cfg.Announce)
		}
		if _, told := m.fares(); told < before+9 || told > before+11 {
			t.Errorf("announced %d times in ten periods with a block each, want about ten", told-before)
		}

		n.setFail(func(string, int64) error { return errNode })
		b.settle(headFresh / 2)
		want("away for a moment", wallet.ScanFollowing)
		b.settle(headFresh)
		want("away", wallet.ScanFollowing, wallet.ScanUnreachable)
		n.setFail(nil)
		b.settle(retryMost + time.Second)
		want("back", wallet.ScanFollowing, wallet.ScanUnreachable, wallet.ScanFollowing)

		n.mu.Lock()
		good := append([]nodeBlock(nil), n.blocks...)
		n.finalized = 25
		n.mu.Unlock()
		n.mine()
		b.settle(time.Second)
		n.mu.Lock()
		n.finalized = 0
		n.mu.Unlock()
		n.cut(10)
		n.mineMany(20)
		b.settle(time.Second)
		want("halted", wallet.ScanFollowing, wallet.ScanUnreachable, wallet.ScanFollowing, wallet.ScanHalted)
		_, before = m.fares()
		b.settle(time.Minute)
		if _, told := m.fares(); told < before+5 {
			t.Errorf("a halted scan was announced %d times in a minute", told-before)
		}
		n.mu.Lock()
		n.blocks = good
		n.mu.Unlock()
		n.mine()
		b.settle(time.Minute)
	})
}
