package sweeper

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// lagging has used the nonce of a transaction, and shows its receipt from the given look on.
type lagging struct {
	EVM
	looks, shows int
}

func (l *lagging) Nonce(context.Context, string, int64) (uint64, error) { return 8, nil }

func (l *lagging) Receipt(_ context.Context, hash string) (sweep.Receipt, bool, error) {
	l.looks++
	return sweep.Receipt{TxHash: hash}, l.shows > 0 && l.looks >= l.shows, nil
}

// ended counts the transactions that were given up.
type ended struct {
	Store
	replaced int
}

func (e *ended) Replaced(context.Context, sweep.Outgoing) error {
	e.replaced++
	return nil
}

// Nodes behind one address may show the nonce of a block before its receipt. A transaction is replaced only when no
// node has shown it for as long as a stuck one waits.
func TestEVM_replaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck = 3 * time.Minute
		begin := func(shows int) (func(), *ended) {
			store, chain := &ended{}, &lagging{shows: shows}
			s := evm{New(Config{Network: "ethereum", Chain: chain, Stuck: stuck}, store, nil, slog.New(slog.DiscardHandler), nil), chain}
			o := sweep.Outgoing{
				ID: "o1", Kind: intent.Sweep, Sender: "0x1", Nonce: 7, State: sweep.Broadcast,
				Attempts: []sweep.Attempt{{Number: 1, TxHash: "0xa", Raw: []byte{1}, Sent: true}},
			}
			return func() {
				t.Helper()
				if _, found, err := s.find(t.Context(), o); err != nil || found {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err := s.wait(t.Context(), o, 100); err != nil {
					t.Error(err)
				}
			}, store
		}

		round, store := begin(5) // a node that lags shows it in the third round
		for range 10 {
			round()
			time.Sleep(stuck / 2)
		}
		if store.replaced != 0 {
			t.Errorf("a transaction whose receipt came late was given up %d times", store.replaced)
		}

		round, store = begin(0)
		for range 10 {
			round()
			time.Sleep(stuck / 10)
		}
		if store.replaced != 0 {
			t.Errorf("a transaction was given up within %s", stuck)
		}
		round()
		if store.replaced != 1 {
			t.Errorf("a transaction that no node shows for %s was given up %d times, want once", stuck, store.replaced)
		}
	})
}
