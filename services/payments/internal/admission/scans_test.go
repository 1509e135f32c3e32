package admission

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// TestScan_closed: which scans close their network, and why.
func TestScan_closed(t *testing.T) {
	const silence = time.Minute
	for name, x := range map[string]struct {
		state wire.ScanState
		quiet time.Duration
		want  Closed
	}{
		"follows":                            {wire.ScanFollowing, time.Second, ""},
		"was heard of as long ago as may be": {wire.ScanFollowing, silence, ""},
		"was heard of longer ago":            {wire.ScanFollowing, silence + 1, Silent},
		"of an older wallets":                {"", time.Second, ""},
		"of an older wallets that is silent": {"", silence + 1, Silent},
		"behind":                             {wire.ScanBehind, 0, Behind},
		"stalled":                            {wire.ScanStalled, 0, Stalled},
		"unreachable":                        {wire.ScanUnreachable, 0, NotReachable},
		"halted":                             {wire.ScanHalted, 0, Halted},
		"of a newer wallets":                 {"resting", 0, CannotBeJudged},
		"halted and silent":                  {wire.ScanHalted, silence + 1, Silent},
	} {
		if got := (Scan{State: x.state, Quiet: x.quiet}).closed(silence); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// scanList is a table of scans.
type scanList struct {
	scans []Scan
	err   error
}

func (l *scanList) Scans(context.Context) ([]Scan, error) { return l.scans, l.err }

// TestScans: the copy in memory closes a network that it does not know, or has not read again for too long.
func TestScans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := &scanList{scans: []Scan{
			{Mode: tenant.Live, Network: "tron", State: wire.ScanFollowing, Quiet: 5 * time.Second},
			{Mode: tenant.Live, Network: "base", State: wire.ScanHalted},
		}}
		told := map[string]bool{}
		s := NewScans(list.Scans, time.Minute, func(mode tenant.Mode, network string, open bool) { told[string(mode)+" "+network] = open },
			slog.New(slog.NewTextHandler(io.Discard, nil)))
		want := func(mode tenant.Mode, network string, why Closed) {
			t.Helper()
			if got := s.Closed(mode, network); got != why {
				t.Errorf("%s %s: %q, want %q", mode, network, got, why)
			}
		}
		want(tenant.Live, "tron", NotFollowed)
		load := func() {
			t.Helper()
			if err := s.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		load()
		want(tenant.Live, "tron", "")
		want(tenant.Test, "tron", NotFollowed)
		want(tenant.Live, "base", Halted)
		if !maps.Equal(told, map[string]bool{"live tron": true, "live base": false}) {
			t.Errorf("announced: got %v, want live tron open and live base closed", told)
		}
		list.err = errors.New("the database is down")
		if s.Load(t.Context()) == nil {
			t.Error("a failure was swallowed")
		}
		time.Sleep(55 * time.Second)
		want(tenant.Live, "tron", "")
		time.Sleep(time.Second)
		want(tenant.Live, "tron", Silent)
		list.err = nil
		load()
		want(tenant.Live, "tron", "")
	})
	if (*Scans)(nil).Closed(tenant.Live, "tron") != "" {
		t.Error("without a list a network is closed")
	}
}

// TestScans_rests: money rests while every network that holds some of it is followed.
func TestScans_rests(t *testing.T) {
	s := NewScans(nil, time.Minute, nil, nil)
	p := payment.Payment{Quote: quote.Quote{Network: "ethereum"}}
	follows, halted, silent := change.Head{State: wire.ScanFollowing}, change.Head{State: wire.ScanHalted}, change.Head{State: wire.ScanFollowing, Quiet: 2 * time.Minute}
	counted, ignored := payment.Deposit{Network: "base", Counted: decimal.NewFromInt(1)}, payment.Deposit{Network: "base"}
	for name, x := range map[string]struct {
		v    change.View
		want bool
	}{
		"followed":                        {change.View{Payment: p, Heads: map[string]change.Head{"ethereum": follows}}, true},
		"never followed":                  {change.View{Payment: p}, false},
		"halted":                          {change.View{Payment: p, Heads: map[string]change.Head{"ethereum": halted}}, false},
		"silent":                          {change.View{Payment: p, Heads: map[string]change.Head{"ethereum": silent}}, false},
		"another network is halted":       {change.View{Payment: p, Heads: map[string]change.Head{"ethereum": follows, "base": halted}}, true},
		"which has money that counts":     {change.View{Payment: p, Rows: []payment.Deposit{counted}, Heads: map[string]change.Head{"ethereum": follows, "base": halted}}, false},
		"which has money that is ignored": {change.View{Payment: p, Rows: []payment.Deposit{ignored}, Heads: map[string]change.Head{"ethereum": follows, "base": halted}}, true},
	} {
		if got := s.Rests(x.v); got != x.want {
			t.Errorf("Rests(%s) = %t, want %t", name, got, x.want)
		}
	}
}
