//go:build integration

package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// BenchmarkBacklog is the way of one delivery through the table (taken in, claimed, recorded), beside nothing and
// beside a million rows of another merchant's target that is full here, or whose endpoint is disabled.
func BenchmarkBacklog(b *testing.B) {
	for _, rows := range []int{0, 1_000_000} {
		for _, held := range []bool{false, true} {
			b.Run(fmt.Sprintf("rows=%d/held=%v", rows, held), func(b *testing.B) { backlog(b, rows, held) })
		}
	}
}

func backlog(b *testing.B, rows int, held bool) {
	db := pg.New(b, migrations.FS)
	s := member(b, db, "a")
	statements := []string{fmt.Sprintf(`INSERT INTO lane (target, due_at, held) VALUES ('big', now() - interval '1 hour', %v)`, held)}
	const chunk = 50_000 // a statement may not take long
	for from := 0; from < rows; from += chunk {
		statements = append(statements, fmt.Sprintf(`INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, target, url, type, object_id,
				sequence, state, next_at)
			SELECT 'big' || n, 'e' || n, 0, 'm', 'test', 'big', 'http://x/', 'payment.pending', 'o' || n, 1, 'due', now() - interval '1 hour'
			FROM generate_series(%d, %d) AS n`, from+1, from+chunk))
	}
	for _, sql := range append(statements, `ANALYZE delivery`, `ANALYZE lane`) {
		if _, err := db.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	full := []string{"big"}
	if held {
		full = nil
	}
	var claims []time.Duration
	for n := 0; b.Loop(); n++ {
		a := arrival(n, fmt.Sprintf("o%d", n), 1, false)
		if _, err := s.Accept(b.Context(), []app.Arrival{a}); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		jobs, err := s.Claim(b.Context(), full, 100, 32)
		claims = append(claims, time.Since(began))
		if err != nil || len(jobs) != 1 {
			b.Fatalf("%d claimed, %v", len(jobs), err)
		}
		if _, err := s.Record(b.Context(), []app.Result{result(a, 1, "ok", delivery.Delivered, 0)}, app.Breaker{Failures: 10, Sample: 20, Wait: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(claims)
	b.ReportMetric(float64(claims[len(claims)/2].Microseconds()), "claim-p50-us")      //nolint:forbidigo // a figure of the benchmark, not money
	b.ReportMetric(float64(claims[len(claims)*99/100].Microseconds()), "claim-p99-us") //nolint:forbidigo // a figure of the benchmark, not money
}
