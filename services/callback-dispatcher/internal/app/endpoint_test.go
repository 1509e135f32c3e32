package app

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// silence has test events at an endpoint that never answers.
type silence struct {
	EndpointStore
	Log

	mu    sync.Mutex
	looks int
}

func (*silence) Test(context.Context, tenant.Owner, string, idempotency.Key, func(Endpoint, int64) (Arrival, []byte, error)) (idempotency.Answer, error) {
	return idempotency.Answer{Body: []byte("pending")}, nil
}

func (s *silence) Deliveries(context.Context, tenant.Owner, DeliveryFilter, int) ([]DeliveryView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return nil, nil
}

// A merchant's test events hold few requests open. The others are answered at once, as they began, and other merchants
// and the other mode wait for their own.
func TestEndpoints_testsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silence{}
		u := NewEndpoints(s, s, shard.First, time.Now)
		acme := tenant.Owner{MerchantID: "acme", Mode: tenant.Live}
		took := map[tenant.Owner][]time.Duration{}
		var mu sync.Mutex
		var all sync.WaitGroup
		send := func(o tenant.Owner, times int) {
			for range times {
				all.Go(func() {
					began := time.Now()
					a, err := u.Test(t.Context(), o, "ep", idempotency.Key{}, nil)
					if err != nil || string(a.Body) != "pending" {
						t.Errorf("test an endpoint that does not answer: got %s, %v, want it as it began", a.Body, err)
					}
					mu.Lock()
					defer mu.Unlock()
					took[o] = append(took[o], time.Since(began))
				})
			}
		}
		for range 2 { // once more when all have ended
			send(acme, 100)
			synctest.Wait()
			if waiting := 100 - len(took[acme]); waiting != testsMost {
				t.Errorf("%d tests of a merchant wait, want %d", waiting, testsMost)
			}
			send(tenant.Owner{MerchantID: "acme", Mode: tenant.Test}, 1)
			send(tenant.Owner{MerchantID: "bola", Mode: tenant.Live}, 1)
			all.Wait()
			for o, times := range took {
				if last := times[len(times)-1]; last != testWait {
					t.Errorf("the last test of %s in mode %s waited %s, want %s", o.MerchantID, o.Mode, last, testWait)
				}
			}
			clear(took)
		}
		if most := 2 * (testsMost + 2) * int(testWait/testLook); s.looks > most {
			t.Errorf("%d looks at deliveries, want %d at most", s.looks, most)
		}
		if len(u.tests.of) != 0 {
			t.Errorf("%d merchants are remembered without a test", len(u.tests.of))
		}
	})
}
