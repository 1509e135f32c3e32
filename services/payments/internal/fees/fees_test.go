package fees

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

var start = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

func schedule(id string, number int64, scope Scope, from time.Duration, tiers string) Published {
	p := Published{Schedule: quote.Schedule{ID: id}, Scope: scope, Number: number, ValidFrom: start.Add(from)}
	if tiers != "" {
		parsed, err := quote.ParseTiers(tiers)
		if err != nil {
			panic(err)
		}
		p.Tiers = parsed
	}
	return p
}

// table is the table of schedules: it gives those with a greater number, as the database does.
type table struct {
	rows []Published
	down error
}

func (b *table) after(_ context.Context, number int64) (out []Published, _ error) {
	for _, p := range b.rows {
		if p.Number > number {
			out = append(out, p)
		}
	}
	return out, b.down
}

func TestSchedules_Of(t *testing.T) {
	live, acme := Scope{money.NGN, tenant.Live, ""}, Scope{money.NGN, tenant.Live, "acme"}
	now := start
	kept := &table{rows: []Published{
		{Schedule: quote.First(money.NGN), Scope: Scope{money.NGN, "", ""}, Number: 1},
		schedule("fee_all", 5, live, time.Minute, "rest=10"),
		schedule("fee_acme", 6, acme, 2*time.Minute, "rest=5"),
		schedule("fee_acme_end", 7, acme, 3*time.Minute, ""),
		schedule("fee_all_earlier", 8, live, 30*time.Second, "rest=20"),
		schedule("fee_all_again", 9, live, time.Minute, "rest=30"),
	}}
	s := NewSchedules(kept.after, func() time.Time { return now })
	if got := s.Of(tenant.Owner{MerchantID: "acme", Mode: tenant.Live}, money.NGN).ID; got != "fee_ngn_1" {
		t.Errorf("before the first load acme pays %s, want the first schedule", got)
	}
	for _, c := range []struct {
		at                       time.Duration
		acme, other, test, shops string
	}{
		{0, "fee_ngn_1", "fee_ngn_1", "fee_ngn_1", "fee_ghs_1"},
		{29 * time.Second, "fee_ngn_1", "fee_ngn_1", "fee_ngn_1", "fee_ghs_1"},
		{30 * time.Second, "fee_all_earlier", "fee_all_earlier", "fee_ngn_1", "fee_ghs_1"},
		{time.Minute, "fee_all_again", "fee_all_again", "fee_ngn_1", "fee_ghs_1"}, // of two from one moment the newer one
		{2 * time.Minute, "fee_acme", "fee_all_again", "fee_ngn_1", "fee_ghs_1"},
		{3 * time.Minute, "fee_all_again", "fee_all_again", "fee_ngn_1", "fee_ghs_1"},
	} {
		now = start.Add(c.at)
		if err := s.Load(t.Context()); err != nil {
			t.Fatalf("Load() = %v, want no error", err)
		}
		for _, who := range []struct {
			owner tenant.Owner
			cur   money.Currency
			want  string
		}{
			{tenant.Owner{MerchantID: "acme", Mode: tenant.Live, KeyID: 7}, money.NGN, c.acme},
			{tenant.Owner{MerchantID: "other", Mode: tenant.Live}, money.NGN, c.other},
			{tenant.Owner{MerchantID: "acme", Mode: tenant.Test}, money.NGN, c.test},
			{tenant.Owner{MerchantID: "acme", Mode: tenant.Live}, money.GHS, c.shops},
		} {
			if got := s.Of(who.owner, who.cur).ID; got != who.want {
				t.Errorf("after %s %+v pays %s in %s, want %s", c.at, who.owner, got, who.cur, who.want)
			}
		}
	}
}

// A process that cannot read the table goes on with what it knows, and learns of a new schedule when it can again.
func TestSchedules_Load(t *testing.T) {
	now := start
	kept := &table{rows: []Published{schedule("fee_a", 5, Scope{money.NGN, tenant.Live, ""}, -time.Minute, "rest=10")}}
	s := NewSchedules(kept.after, func() time.Time { return now })
	owner := tenant.Owner{MerchantID: "acme", Mode: tenant.Live}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept.down = errors.New("no database")
	kept.rows = append(kept.rows, schedule("fee_b", 6, Scope{money.NGN, tenant.Live, ""}, 0, "rest=20"))
	if err := s.Load(t.Context()); err == nil {
		t.Error("Load() without a database = nil, want its error")
	}
	if got := s.Of(owner, money.NGN).ID; got != "fee_a" {
		t.Errorf("without a database acme pays %s, want fee_a", got)
	}
	kept.down = nil
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Of(owner, money.NGN).ID; got != "fee_b" {
		t.Errorf("with the database again acme pays %s, want fee_b", got)
	}
	if n := len(s.held.Load().of[Scope{money.NGN, tenant.Live, ""}]); n != 1 {
		t.Errorf("%d schedules of one scope are kept, want the one in force", n)
	}
}

// However the schedules reach a process, in one load or in many, at each moment it uses the one with the latest
// valid_from, and of several from that moment the newest.
func TestSchedules_anyOrder(t *testing.T) {
	scope := Scope{money.NGN, tenant.Live, ""}
	rapid.Check(t, func(t *rapid.T) {
		now, kept := start, &table{}
		s := NewSchedules(kept.after, func() time.Time { return now })
		load := func() {
			if err := s.Load(t.Context()); err != nil {
				t.Fatalf("load the schedules: got %v, want no error", err)
			}
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pass")) * time.Minute)
			from := now.Sub(start) + time.Duration(rapid.IntRange(0, 5).Draw(t, "lead"))*time.Minute
			kept.rows = append(kept.rows, schedule("fee_"+string(rune('a'+i)), int64(i+1), scope, from, "rest=1"))
			if rapid.Bool().Draw(t, "load") {
				load()
			}
		}
		load()
		for range 8 {
			want := quote.First(money.NGN).ID
			var latest time.Time
			for _, p := range kept.rows {
				if !p.ValidFrom.After(now) && !p.ValidFrom.Before(latest) {
					want, latest = p.ID, p.ValidFrom
				}
			}
			if got := s.Of(tenant.Owner{Mode: tenant.Live}, money.NGN).ID; got != want {
				t.Fatalf("at %s the schedule is %s, want %s", now.Sub(start), got, want)
			}
			now = now.Add(time.Minute)
		}
	})
}
