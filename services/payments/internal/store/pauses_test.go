//go:build integration

package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/fixture"
)

// Wallets is sent every change of the pauses of refunds, and the list again every minute. Of two lists the one with the
// larger version is the newer one, also after the database was restored.
func TestPause_sent(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	ctx := t.Context()
	last := int64(0)
	sent := func(what string, want ...string) {
		t.Helper()
		bodies := fixture.Ask[string](w, `SELECT coalesce(json_agg(convert_from(body, 'UTF8')::json ORDER BY id), '[]')::text FROM outbox WHERE name = $1`,
			string(wire.RefundsPausedV1))
		var list []wire.RefundsPaused
		if err := json.Unmarshal([]byte(bodies), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			if p.Version <= last {
				t.Errorf("%s: got version %d after %d, want a larger one", what, p.Version, last)
			}
			got, last = append(got, fmt.Sprint(p.Pauses)), p.Version
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the lists %q, want %q", what, got, want)
		}
		w.SQL(`DELETE FROM outbox WHERE name = $1`, string(wire.RefundsPausedV1))
	}
	change := func(what string, currency money.Currency, resume bool) {
		t.Helper()
		p := admission.Pause{What: what, Currency: currency, Operator: "ada"}
		if resume {
			w.Resume(p)
		} else {
			w.Pause(p)
		}
	}
	again := func() {
		t.Helper()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := w.Store.SendPauses(ctx); err != nil {
					t.Errorf("send the pauses again: got %v, want no error", err)
				}
			})
		}
		wg.Wait()
	}
	again()
	sent("start", "[]")
	change(admission.PauseRefunds, money.NGN, false)
	sent("pause refunds", "[{NGN }]")
	again()
	sent("send the pauses again at once")
	change(admission.PausePayouts, money.NGN, false)
	change(admission.PauseQuotes, money.NGN, false)
	sent("pause payouts and quotes")
	w.SQL(`UPDATE refund_pauses_sent SET sent_at = sent_at - interval '2 minutes'`)
	again()
	sent("send the pauses again after a minute", "[{NGN }]")
	w.SQL(`UPDATE refund_pauses_sent SET version = 7`) // an older backup
	change(admission.PauseRefunds, "", false)
	change(admission.PauseRefunds, money.NGN, true)
	sent("pause and resume refunds after a restore", "[{ } {NGN }]", "[{ }]")
}
