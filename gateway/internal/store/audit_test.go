//go:build integration

package store_test

import (
	"fmt"
	"testing"
	"time"

	"causeway.internal/gateway/internal/audit"
)

// Months older than 24 are dropped whole, and no other.
func TestAudit_retention(t *testing.T) {
	w := start(t)
	month := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day())
	for back, kept := range map[int]bool{23: true, 24: true, 25: false, 40: false} {
		from := month.AddDate(0, -back, 0)
		name := "audit_" + from.Format("200601")
		if _, err := w.pool.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE %s PARTITION OF audit FOR VALUES FROM ('%s') TO ('%s')`,
			name, from.Format("2006-01-02"), from.AddDate(0, 1, 0).Format("2006-01-02"))); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if there := w.count(t, `SELECT count(*) FROM pg_class WHERE relname = $1`, name) == 1; there != kept {
				t.Errorf("%s, %d months old, is kept: %v", name, back, there)
			}
		}()
	}
	if err := w.store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Filters narrow a page by actor, object and act, alone and together.
func TestActs_filters(t *testing.T) {
	w := start(t)
	rows := make([]audit.Record, 2000)
	for i := range rows {
		rows[i] = audit.Record{At: time.Now(), Entry: audit.Entry{
			Actor: fmt.Sprint("key:", i%200), Act: "POST /v1/payments", Object: fmt.Sprint("merchant:", i%100), RequestID: fmt.Sprint(i), Detail: map[string]string{"status": "201"},
		}}
	}
	if err := w.store.Append(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		f    audit.Filter
		want int
	}{
		{audit.Filter{Limit: 100}, 100},
		{audit.Filter{Actor: "key:7", Limit: 100}, 10},
		{audit.Filter{Object: "merchant:7", Limit: 100}, 20},
		{audit.Filter{Actor: "key:7", Object: "merchant:8", Limit: 100}, 0},
		{audit.Filter{Act: "key.created", Limit: 100}, 0},
	} {
		acts, more, err := w.store.Acts(t.Context(), tc.f)
		if err != nil || len(acts) != tc.want || more != (tc.want == 100) {
			t.Errorf("%+v: %d acts, more %v, %v", tc.f, len(acts), more, err)
		}
	}
}
