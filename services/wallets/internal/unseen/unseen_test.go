package unseen

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/chain"
)

func TestJudge(t *testing.T) {
	n := big.NewInt
	for name, c := range map[string]struct {
		effect chain.Effect
		known  int64
		want   State
		left   int64
	}{
		"all of it is new":              {chain.Effect{Amount: n(100)}, 0, Credited, 100},
		"all of it is known":            {chain.Effect{Amount: n(100)}, 100, Nothing, 0},
		"a part of it is known":         {chain.Effect{Amount: n(100)}, 40, Unclear, 60},
		"more is known":                 {chain.Effect{Amount: n(100)}, 140, Unclear, -40},
		"something is missing":          {chain.Effect{Amount: n(-1)}, 0, Unclear, -1},
		"nothing came":                  {chain.Effect{Amount: n(0)}, 0, Nothing, 0},
		"in doubt":                      {chain.Effect{Amount: n(100), Doubt: "why"}, 0, Unclear, 100},
		"in doubt, and all is known":    {chain.Effect{Amount: n(100), Doubt: "why"}, 100, Nothing, 0},
		"failed":                        {chain.Effect{Amount: n(100), Failed: true}, 0, Nothing, 0},
		"plain, which the scan sees":    {chain.Effect{Amount: n(100), Plain: true}, 0, Nothing, 0},
		"sent by the address":           {chain.Effect{Amount: n(100), Ours: true}, 0, Nothing, 0},
		"an effect that says no amount": {chain.Effect{}, 0, Nothing, 0},
	} {
		if v := Judge(c.effect, n(c.known)); v.State != c.want || v.Amount.Int64() != c.left || (v.State != Credited) != (v.Reason != "") {
			t.Errorf("judge an effect, %s: got %+v, want %v with %d left", name, v, c.want, c.left)
		}
	}
}

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		has, should int64
		want        bool
	}{{10, 10, false}, {14, 10, false}, {15, 10, true}, {9, 10, true}, {0, 0, false}} {
		one := Compared{Balance: big.NewInt(c.has), Expected: big.NewInt(c.should)}
		if one.Differs(big.NewInt(5)) != c.want {
			t.Errorf("compare %+v: got another answer than %t", c, c.want)
		}
	}
}

// fixture plays database and chain for one hint.
type fixture struct {
	hint     Hint
	err      error
	deferred time.Duration
	ended    Verdict
}

func (d *fixture) FollowHints(context.Context) error { return nil }
func (d *fixture) DueHints(context.Context, []string, int) ([]Hint, error) {
	return []Hint{d.hint}, nil
}

func (d *fixture) TakeHint(context.Context, Hint, chain.Effect) (Verdict, error) {
	return Verdict{}, d.err
}
func (d *fixture) EndHint(_ context.Context, _ Hint, v Verdict) error { d.ended = v; return nil }
func (d *fixture) Effect(context.Context, string, []byte) (chain.Effect, error) {
	return chain.Effect{}, d.err
}
func (d *fixture) Balance(context.Context, string, int64) (*big.Int, error) { return nil, d.err }
func (d *fixture) DeferHint(_ context.Context, _ Hint, wait time.Duration, _ string) error {
	d.deferred = wait
	return nil
}

// A hint is inspected again after growing pauses, and ends after a day: as nothing when no block ever had it, else as
// unclear for an operator.
func TestLooker_waits(t *testing.T) {
	for _, c := range []struct {
		err    error
		tries  int
		waited time.Duration
		pause  time.Duration
		ended  State
	}{
		{chain.ErrNoTransaction, 0, 0, waitFirst, ""},
		{chain.ErrNoTransaction, 3, time.Minute, 8 * waitFirst, ""},
		{chain.ErrNoState, 1000, time.Hour, waitMost, ""},
		{ErrLater, 1, time.Hour, 2 * waitFirst, ""},
		{chain.ErrNoTransaction, 9, waitAll, 0, Nothing},
		{chain.ErrNoState, 9, waitAll, 0, Unclear},
		{errors.New("down"), 9, waitAll, 0, Unclear},
	} {
		d := &fixture{hint: Hint{Network: "base", Tries: c.tries, Waited: c.waited}, err: c.err}
		l := NewLooker(d, map[string]Chain{"base": d}, slog.New(slog.NewTextHandler(io.Discard, nil)), func(string, State) {})
		if err := l.Round(t.Context()); err != nil || d.deferred != c.pause || d.ended.State != c.ended {
			t.Errorf("%v after %d tries: %v, waits %v, ends %v", c.err, c.tries, err, d.deferred, d.ended)
		}
	}
}
