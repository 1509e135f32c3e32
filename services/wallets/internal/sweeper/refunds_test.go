package sweeper

import (
	"context"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/sweep"
)

// waiting is a book with refunds that wait, which keeps what is blocked and planned.
type waiting struct {
	RefundStore
	idle    []sweep.Sweep
	blocked map[string]string
}

func (b *waiting) Final(context.Context, string) (int64, error) { return 0, nil }

func (b *waiting) Underway(context.Context, string, int) ([]sweep.Outgoing, error) { return nil, nil }

func (b *waiting) Idle(context.Context, string, int) ([]sweep.Sweep, error) { return b.idle, nil }

func (b *waiting) Due(context.Context, string, Least, int) ([]Due, error) { return nil, nil }

func (b *waiting) Looked(context.Context, string, int64) error { return nil }

func (b *waiting) Searched(context.Context, string, string, int64) (int64, error) { return 0, nil }

func (b *waiting) StationOutputs(context.Context, string, string) ([]sweep.Input, error) {
	return nil, nil
}

func (b *waiting) Block(_ context.Context, w sweep.Sweep, reason string) error {
	b.blocked[w.ID] = reason
	return nil
}

// The chains below panic when they are asked anything.
type (
	muteEVM     struct{ EVM }
	muteTron    struct{ Tron }
	muteSolana  struct{ Solana }
	muteBitcoin struct{ Bitcoin }
)

// A refund of a contract that the scan does not read is blocked before any node is asked. It would answer that there is
// no such contract, and every other refund of the network would wait.
func TestRound_strangeContract(t *testing.T) {
	for name, c := range map[string]struct {
		chain         Chain
		token, listed string
	}{
		"ethereum": {muteEVM{}, "USDT", "0xusdt"},
		"tron":     {muteTron{}, "USDT", "Tusdt"},
		"solana":   {muteSolana{}, "USDC", "mint"},
		"bitcoin":  {muteBitcoin{}, "", ""},
	} {
		n, _ := money.NetworkOf(name)
		coin := n.Coin().Symbol
		tokens := map[string]string{}
		idle := []sweep.Sweep{
			{ID: "rfd_coin", Asset: coin, Contract: "strange", Amount: big.NewInt(5)},
			{ID: "rfd_unknown", Asset: "XYZ", Contract: "", Amount: big.NewInt(5)},
		}
		if c.token != "" {
			tokens[c.token] = c.listed
			idle = append(idle, sweep.Sweep{ID: "rfd_token", Asset: c.token, Contract: "strange", Amount: big.NewInt(5)},
				sweep.Sweep{ID: "rfd_none", Asset: c.token, Contract: "", Amount: big.NewInt(5)})
		}
		b := &waiting{idle: slices.Clone(idle), blocked: map[string]string{}}
		s := New(Config{Network: name, Chain: c.chain, Coin: coin, Tokens: tokens, Refunds: b}, b, nil, slog.New(slog.DiscardHandler), nil)
		if err := s.Round(t.Context()); err != nil {
			t.Errorf("make a round on %s: got %v, want no error", name, err)
		}
		for _, w := range idle {
			if reason := b.blocked[w.ID]; !strings.Contains(reason, w.Asset) || !strings.Contains(reason, "contract") {
				t.Errorf("read why %s on %s is blocked: got %q, want its contract and %s", w.ID, name, reason, w.Asset)
			}
		}
		good := []sweep.Sweep{{ID: "rfd_good", Asset: coin}, {ID: "rfd_token", Asset: c.token, Contract: c.listed}}
		if c.token == "" {
			good = good[:1]
		}
		if got := s.listed(t.Context(), good, func(string, error) {}); len(got) != len(good) {
			t.Errorf("list refunds of the contracts of %s: got %+v, want all of %+v", name, got, good)
		}
	}
}
