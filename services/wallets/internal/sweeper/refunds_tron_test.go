package sweeper

import (
	"context"
	"log/slog"
	"math/big"
	"strings"
	"testing"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/sweep"
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
