package sweeper

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/trontx"
)

// contract is a chain on which every account is a contract.
type contract struct{ Tron }

func (contract) Means(context.Context, string) (sweep.Means, error) {
	return sweep.Means{Active: true, Contract: true}, nil
}

// endings keeps how a refund ended.
type endings struct {
	RefundStore
	restored bool
	ended    string
}

func (e *endings) Restored(context.Context, sweep.Sweep) (bool, error) { return e.restored, nil }

func (e *endings) Refuse(_ context.Context, _ sweep.Sweep, reason string) error {
	e.ended = "failed: " + reason
	return nil
}

func (e *endings) Block(_ context.Context, _ sweep.Sweep, reason string) error {
	e.ended = "blocked: " + reason
	return nil
}

// An address may become a contract after it was paid. So a refund of TRX to a contract does not fail once a restore may
// have forgotten its transaction: payments would owe the money again.
func TestRefundTron_contractAfterARestore(t *testing.T) {
	for restored, want := range map[bool]string{false: "failed: " + wire.RefundDestinationRefused, true: "blocked: " + errContract.Error()} {
		e := &endings{restored: restored}
		s := tronRefunds{tron{&Sweeper{cfg: Config{Refunds: e}, store: e, log: slog.New(slog.DiscardHandler)}, contract{}}}
		w := sweep.Sweep{ID: "rfd_1", Asset: "TRX", Amount: big.NewInt(5), Treasury: "T1"}
		if err := s.planOne(t.Context(), w, &tronPurse{}); err != nil || !strings.HasPrefix(e.ended, want) {
			t.Errorf("plan a refund to a contract, restored %t: got %q, %v, want %q", restored, e.ended, err, want)
		}
	}
}

// lacking is a chain that holds nothing of the station, which has a sum of TRX, and counts how often it is asked for a
// block.
type lacking struct {
	Tron
	coins int64
	asked int
}

func (*lacking) Receipt(context.Context, string) (r sweep.Receipt, found bool, err error) {
	return r, false, nil
}

func (*lacking) Head(context.Context) (h chain.Head, err error) {
	h.Header = formBlock(10)
	return h, nil
}

func (*lacking) Rates(context.Context, string) (sweep.Rates, error) {
	return sweep.Rates{Energy: 100, Byte: 1_000}, nil
}

func (l *lacking) Means(context.Context, string) (sweep.Means, error) {
	return sweep.Means{Active: true, Coins: l.coins}, nil
}

func (*lacking) Lendable(context.Context, string) (int64, error) { return 0, nil }

func (l *lacking) Lacks(_ context.Context, height int64, _ string) (chain.Header, bool, error) {
	l.asked++
	return formBlock(height), true, nil
}

// formBlock is a block of a chain with one in three seconds.
func formBlock(height int64) chain.Header {
	return chain.Header{Height: height, Hash: fmt.Sprintf("%016x%048d", height, 0), Time: time.Unix(1_700_000_000+3*height, 0)}
}

// carrying is a book with one refund under way on a chain whose newest final block is the tenth.
type carrying struct {
	waiting
	o     sweep.Outgoing
	did   []string
	renew int
}

func (c *carrying) Underway(context.Context, string, int) ([]sweep.Outgoing, error) {
	return []sweep.Outgoing{c.o}, nil
}

func (*carrying) FinalBlock(context.Context, string) (chain.Header, bool, error) {
	return formBlock(10), true, nil
}

func (*carrying) Canonical(context.Context, string, int64, string) (bool, error) { return true, nil }

func (c *carrying) Wait(_ context.Context, _ sweep.Sweep, _ time.Duration, reason string) error {
	c.did = append(c.did, "wait: "+reason)
	return nil
}

func (c *carrying) Again(context.Context, sweep.Outgoing, sweep.Attempt) error {
	c.renew++
	return ErrStale
}

// form is the first form of a refund of TRX, which is on the first block and expires with the block at a height.
func form(t *testing.T, expires int64, blocked bool) sweep.Outgoing {
	t.Helper()
	var station, payer trontx.Account
	station[0], payer[0] = 1, 2
	w := sweep.Sweep{
		ID: "rfd_1", Asset: "TRX", Amount: big.NewInt(5_000_000), Address: station.String(), Treasury: payer.String(), Blocked: blocked, Order: &intent.Ordered{},
	}
	return sweep.Outgoing{ID: "out_1", Kind: intent.Refund, Sweep: w, Sender: station.String(), State: sweep.Broadcast, Attempts: []sweep.Attempt{{
		Number: 1, TxHash: "first", Raw: []byte("raw"), Sent: true, SignedAgo: time.Hour, Request: intent.Request{
			Kind: intent.Refund, Network: "tron", Asset: "TRX", Amount: "5000000", To: payer.String(),
			Tron: &intent.Tron{Block: formBlock(1).Hash, Timestamp: formBlock(1).Time.UnixMilli(), Expiration: formBlock(expires).Time.UnixMilli()},
		},
	}}}
}

// A blocked refund gets no further form, so no round proves again that the blocks lack the expired one, and none says
// that the station is short: the reason of the hold stays.
func TestRefundTron_blockedAndExpired(t *testing.T) {
	for name, c := range map[string]struct {
		blocked bool
		coins   int64
		want    string
	}{
		"open":                           {coins: 100_000_000, want: "8 blocks, 2 forms, []"},
		"open, and the station is short": {coins: 1, want: "0 blocks, 0 forms, [wait: " + ErrStation.Error() + " wait: " + ErrStation.Error() + "]"},
		"held":                           {blocked: true, coins: 100_000_000, want: "0 blocks, 0 forms, []"},
		"held, and the station is short": {blocked: true, coins: 1, want: "0 blocks, 0 forms, []"},
	} {
		node, book := &lacking{coins: c.coins}, &carrying{o: form(t, 5, c.blocked)}
		cfg := Config{Network: "tron", Chain: node, Coin: "TRX", Station: book.o.Sender, Refunds: book, Resend: time.Hour, Tron: TronConfig{Expiry: time.Minute}}
		s := New(cfg, book, nil, slog.New(slog.DiscardHandler), nil)
		for range 2 {
			if err := s.Round(t.Context()); err != nil {
				t.Errorf("make a round with an expired refund that is %s: got %v, want no error", name, err)
			}
		}
		if got := fmt.Sprintf("%d blocks, %d forms, %v", node.asked, book.renew, book.did); got != c.want {
			t.Errorf("make two rounds with an expired refund that is %s: got %s, want %s", name, got, c.want)
		}
	}
}

// A blocked refund keeps nothing of the station from others once its form has expired: it gets no other form.
func TestRefundTron_purse(t *testing.T) {
	for name, c := range map[string]struct {
		expires int64
		blocked bool
		keeps   bool
	}{
		"an open refund that may land":          {expires: 20, keeps: true},
		"an open refund whose form has expired": {expires: 5, keeps: true},
		"a held refund that may land":           {expires: 20, blocked: true, keeps: true},
		"a held refund whose form has expired":  {expires: 5, blocked: true},
	} {
		node, book := &lacking{coins: 100_000_000}, &carrying{o: form(t, c.expires, c.blocked)}
		cfg := Config{Network: "tron", Coin: "TRX", Station: book.o.Sender, Refunds: book, Tron: TronConfig{Expiry: time.Minute}}
		p, err := (tronRefunds{tron{&Sweeper{cfg: cfg, store: book}, node}}).purse(t.Context(), nil, "")
		if err != nil {
			t.Fatalf("read the purse beside %s: got %v, want no error", name, err)
		}
		if left := p.station.Coins; (left <= 95_000_000) != c.keeps || !c.keeps && left != 100_000_000 {
			t.Errorf("read the purse beside %s: got %d sun of 100000000, want its 5000000 kept back: %t", name, left, c.keeps)
		}
	}
}
