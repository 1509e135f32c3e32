package limit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/gateway/internal/limit"
	"causeway.internal/libs/fault"
)

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := limit.NewInFlight(2, 2*time.Second)
		leave := func() func(int) {
			done, err := gate.Admit(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		first, second := leave(), leave()
		start := time.Now()
		if _, err := gate.Admit(t.Context(), nil); fault.As(err).Kind != fault.Unavailable || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %s, want a 503 after two seconds", err, time.Since(start))
		}
		var wg sync.WaitGroup
		wg.Go(func() { leave()(200) })
		synctest.Wait()
		first(200)
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		third := leave()
		if _, err := gate.Admit(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's own end", err)
		}
		second(200)
		third(200)
		leave()(200)
	})
}
