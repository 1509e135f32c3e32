//go:build integration

package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// standing adds an endpoint that has been at its URL for two days.
func standing(t *testing.T, db *pgxpool.Pool, s *Store, o tenant.Owner, id, url string) {
	t.Helper()
	e := app.Endpoint{ID: id, MerchantID: o.MerchantID, Mode: o.Mode, URL: url, Types: []string{}, Enabled: true, CreatedAt: time.Now()}
	if _, err := s.AddEndpoint(t.Context(), e, 100, idempotency.Key{}, nil); err != nil {
		t.Fatal(err)
	}
	do(t, db, `UPDATE endpoint SET url_since = now() - interval '2 days' WHERE id = $1`, id)
}

// places lists where the events of a merchant go: each URL, marked where an endpoint was earlier.
func places(t *testing.T, s *Store, o tenant.Owner) (urls []string) {
	t.Helper()
	found, err := s.Registered(t.Context(), []tenant.Owner{o})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found[o] {
		switch {
		case e.Earlier:
			urls = append(urls, "earlier "+e.URL)
		case e.Enabled:
			urls = append(urls, e.URL)
		}
	}
	return urls
}

// A live endpoint that is moved, disabled or deleted leaves its earlier URL to the events that warn of money.
func TestEarlier_places(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	live, test := tenant.Owner{MerchantID: "m", Mode: tenant.Live}, tenant.Owner{MerchantID: "m", Mode: tenant.Test}
	standing(t, db, s, live, "whe_a", "https://a")
	standing(t, db, s, live, "whe_b", "https://b")
	standing(t, db, s, test, "whe_t", "https://t")
	change := func(o tenant.Owner, id string, f func(e *app.Endpoint)) {
		t.Helper()
		if _, err := s.ChangeEndpoint(t.Context(), o, id, func(e app.Endpoint) app.Endpoint { f(&e); return e }); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(o tenant.Owner, id string) {
		t.Helper()
		if err := s.DeleteEndpoint(t.Context(), o, id); err != nil {
			t.Fatal(err)
		}
	}
	want := func(step string, o tenant.Owner, want ...string) {
		t.Helper()
		if got := places(t, s, o); !slices.Equal(got, want) {
			t.Errorf("%s: events go to %q, want %q", step, got, want)
		}
	}
	want("nothing was changed", live, "https://a", "https://b")
	change(live, "whe_a", func(e *app.Endpoint) { e.Types = []string{"report.created"} })
	want("a filter was changed", live, "https://a", "https://b")
	change(live, "whe_a", func(e *app.Endpoint) { e.URL = "https://thief" })
	want("a was moved", live, "earlier https://a", "https://thief", "https://b")
	change(live, "whe_a", func(e *app.Endpoint) { e.URL = "https://more" })
	want("a was moved again: nobody was there for a day", live, "earlier https://a", "https://more", "https://b")
	change(live, "whe_b", func(e *app.Endpoint) { e.Enabled = false })
	want("b was disabled", live, "earlier https://a", "https://more", "earlier https://b")
	change(live, "whe_b", func(e *app.Endpoint) { e.Enabled = true })
	want("b was enabled", live, "earlier https://a", "https://more", "https://b")
	remove(live, "whe_a")
	remove(live, "whe_b")
	want("both were deleted", live, "earlier https://a", "earlier https://b")
	change(test, "whe_t", func(e *app.Endpoint) { e.URL = "https://u" })
	want("a test endpoint was moved", test, "https://u")
	do(t, db, `UPDATE earlier_url SET until = now() WHERE url = 'https://a'`)
	want("two days have gone by", live, "earlier https://b")
	if err := s.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, `earlier_url`); n != 1 {
		t.Errorf("upkeep leaves %d earlier URLs, want 1", n)
	}
}

// warning is an event of a live merchant that warns of money that may leave, with its delivery to the endpoint where it
// is, and where earlier URLs are named to these.
func warning(n int, o tenant.Owner, endpoint, url string, earlier ...string) app.Arrival {
	a := arrival(n, "sac_1", 1, true)
	a.Event.Type, a.Event.MerchantID, a.Event.Mode = "settlement_account.added", o.MerchantID, o.Mode
	d := a.Deliveries[0]
	d.Type, d.MerchantID, d.Mode, d.EndpointID, d.Target, d.URL = a.Event.Type, o.MerchantID, o.Mode, endpoint, endpoint, url
	a.Deliveries[0] = d
	for _, u := range earlier {
		d.ID, d.Target, d.URL = d.ID+"e", delivery.EarlierTargetOf(endpoint, u), u
		a.Deliveries, a.Leased = append(a.Deliveries, d), append(a.Leased, true)
	}
	return a
}

// A replay of an endpoint goes where the endpoint is. A retry by hand goes to an earlier URL for as long as new events
// do.
func TestEarlier_isNotReplayed(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	o := tenant.Owner{MerchantID: "m", Mode: tenant.Live}
	standing(t, db, s, o, "whe_a", "https://a")
	if _, err := s.ChangeEndpoint(t.Context(), o, "whe_a", func(e app.Endpoint) app.Endpoint { e.URL = "https://b"; return e }); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a := warning(1, o, "whe_a", "https://b", "https://a")
	for n := range a.Deliveries {
		a.Deliveries[n].ID = id.New(id.Delivery, now)
	}
	callback := warning(2, o, "", "https://c")
	callback.Deliveries[0].ID, callback.Deliveries[0].Target = id.New(id.Delivery, now), delivery.TargetOf(o, "https://c")
	accept(t, s, a, callback)
	own, earlier := a, a
	own.Deliveries, earlier.Deliveries = a.Deliveries[:1], a.Deliveries[1:]
	for _, one := range []app.Arrival{own, earlier, callback} {
		record(t, s, result(one, 1, "status", delivery.Exhausted, 0))
	}
	for _, step := range []struct{ endpoint, want string }{{"whe_a", a.Deliveries[0].ID}, {"", callback.Deliveries[0].ID}} {
		r := app.Replay{
			ID: "rpl_" + step.endpoint, MerchantID: o.MerchantID, Mode: o.Mode, EndpointID: step.endpoint, From: now.Add(-time.Hour),
			To: now.Add(time.Hour), States: []string{"exhausted"}, Types: []string{}, CreatedAt: now,
		}
		total, err := s.CountReplay(t.Context(), r)
		if err != nil || total != 1 {
			t.Errorf("deliveries in a replay of %q: got %d, %v; want 1", step.endpoint, total, err)
		}
		if _, err := s.AddReplay(t.Context(), r, 10, idempotency.Key{}, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Feed(t.Context(), "", 10, 10); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s); !slices.Equal(got, []string{step.want}) {
			t.Errorf("a replay of %q sends %q, want %q", step.endpoint, got, step.want)
		}
		do(t, db, `DELETE FROM replay`)
	}
	retry := func() error {
		_, err := s.Retry(t.Context(), o, a.Deliveries[1].ID, idempotency.Key{}, func(string) ([]byte, error) { return nil, nil })
		return err
	}
	if err := retry(); err != nil {
		t.Errorf("retry of a delivery to an earlier URL: %v", err)
	}
	do(t, db, `UPDATE earlier_url SET until = now()`)
	if err := retry(); !errors.Is(err, app.ErrURLLeft) {
		t.Errorf("retry of a delivery to an earlier URL after two days: got %v, want %v", err, app.ErrURLLeft)
	}
}

// A delivery to an earlier URL outlives its endpoint, goes to that URL, and is signed with the secrets of that time,
// though they were revoked.
func TestEarlier_delivers(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	o := tenant.Owner{MerchantID: "m", Mode: tenant.Live}
	standing(t, db, s, o, "whe_a", "https://a")
	owner := app.SecretOwnerOf(o, "whe_a")
	if err := s.Create(t.Context(), owner, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rotate(t.Context(), owner, app.SealedSecret{Sealed: []byte("second")}, true, idempotency.Key{}, idempotency.Answer{}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteEndpoint(t.Context(), o, "whe_a"); err != nil {
		t.Fatal(err)
	}
	a := arrival(1, "sac_1", 1, false)
	d := &a.Deliveries[0]
	a.Event.MerchantID, a.Event.Mode, d.MerchantID, d.Mode, d.EndpointID = "m", tenant.Live, "m", tenant.Live, "whe_a"
	d.Target, d.URL = delivery.EarlierTargetOf("whe_a", "https://a"), "https://a"
	accept(t, s, a)
	if err := s.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Claim(t.Context(), nil, 100, 32)
	if err != nil || len(jobs) != 1 || jobs[0].URL != "https://a" || !jobs[0].Earlier() {
		t.Fatalf("claim after the endpoint was deleted: got %v, %v; want the delivery to its earlier URL", jobs, err)
	}
	for _, earlier := range []bool{false, true} {
		owner.Earlier = earlier
		secrets, err := s.Valid(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, one := range secrets {
			texts = append(texts, string(one.Sealed))
		}
		want := []string{"second"}
		if earlier {
			want = []string{"first", "second"}
		}
		if !slices.Equal(texts, want) {
			t.Errorf("secrets that sign, at an earlier URL %t: got %q, want %q", earlier, texts, want)
		}
	}
}

// An endpoint that leaves a URL again, after it came back for a moment, leaves it as it did before. It leaves two at a
// time.
func TestEarlier_again(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	s := member(t, db, "a")
	o := tenant.Owner{MerchantID: "m", Mode: tenant.Live}
	standing(t, db, s, o, "whe_a", "https://a")
	move := func(url string) {
		t.Helper()
		if _, err := s.ChangeEndpoint(t.Context(), o, "whe_a", func(e app.Endpoint) app.Endpoint { e.URL = url; return e }); err != nil {
			t.Fatal(err)
		}
	}
	move("https://thief")
	do(t, db, `UPDATE earlier_url SET until = now() + interval '1 hour'`)
	move("https://a")
	move("https://thief")
	if n := count(t, db, `earlier_url WHERE until > now() + interval '47 hours'`); n != 1 || count(t, db, `earlier_url`) != 1 {
		t.Errorf("an earlier URL that was left again: %d have two days anew, want 1 and no other", n)
	}
	move("https://a")
	do(t, db, `DELETE FROM earlier_url`) // two days have gone by
	move("https://thief")
	if got, want := places(t, s, o), []string{"earlier https://a", "https://thief"}; !slices.Equal(got, want) {
		t.Errorf("left again, two days after it was left first: events go to %q, want %q", got, want)
	}
	for _, url := range []string{"https://b", "https://c", "https://a", "https://d"} {
		do(t, db, `UPDATE endpoint SET url_since = now() - interval '2 days'`)
		move(url)
	}
	if got, want := places(t, s, o), []string{"earlier https://a", "earlier https://c", "https://d"}; !slices.Equal(got, want) {
		t.Errorf("an endpoint left four URLs: events go to %q, want %q", got, want)
	}
}

// Events that warn of money and wait for an endpoint, or are on their way, as it leaves a URL go to that URL too, once.
func TestEarlier_waiting(t *testing.T) {
	t.Parallel()
	db := pg.New(t, migrations.FS)
	live, test := tenant.Owner{MerchantID: "m", Mode: tenant.Live}, tenant.Owner{MerchantID: "m", Mode: tenant.Test}
	move := func(url string) func(app.Endpoint) app.Endpoint {
		return func(e app.Endpoint) app.Endpoint { e.URL = url; return e }
	}
	disable := func(e app.Endpoint) app.Endpoint { e.Enabled = false; return e }
	for n, c := range []struct {
		name   string
		owner  tenant.Owner
		before []func(app.Endpoint) app.Endpoint
		event  func(*app.Arrival)
		leased bool                              // its first attempt is under way, and may fail
		after  []func(app.Endpoint) app.Endpoint // none: the endpoint is deleted
		want   []string
	}{
		{name: "moved", owner: live, after: []func(app.Endpoint) app.Endpoint{move("https://thief")}, want: []string{"https://a", "https://thief"}},
		{name: "disabled", owner: live, after: []func(app.Endpoint) app.Endpoint{disable}, want: []string{"https://a"}},
		{name: "deleted", owner: live, want: []string{"https://a"}},
		{name: "moved meanwhile", owner: live, leased: true, after: []func(app.Endpoint) app.Endpoint{move("https://thief")}, want: []string{"https://a"}},
		{
			name: "moved there and back before", owner: live, before: []func(app.Endpoint) app.Endpoint{move("https://thief"), move("https://a")},
			after: []func(app.Endpoint) app.Endpoint{move("https://more")}, want: []string{"https://a", "https://more"},
		},
		{
			name: "sent there already", owner: live, before: []func(app.Endpoint) app.Endpoint{move("https://thief")},
			event: func(a *app.Arrival) { *a = warning(9, live, a.Deliveries[0].EndpointID, "https://thief", "https://a") },
			after: []func(app.Endpoint) app.Endpoint{move("https://a"), move("https://more")}, want: []string{"https://a", "https://more"},
		},
		{
			name: "moved after an hour", owner: live, before: []func(app.Endpoint) app.Endpoint{move("https://new")},
			after: []func(app.Endpoint) app.Endpoint{move("https://more")}, want: []string{"https://more"},
		},
		{
			name: "another event", owner: live,
			event: func(a *app.Arrival) { a.Event.Type, a.Deliveries[0].Type = "payment.settled", "payment.settled" },
			after: []func(app.Endpoint) app.Endpoint{move("https://new")}, want: []string{"https://new"},
		},
		{name: "test mode", owner: test, after: []func(app.Endpoint) app.Endpoint{move("https://new")}, want: []string{"https://new"}},
	} {
		s := member(t, db, string(rune('a'+n)))
		endpoint := id.New(id.Endpoint, time.Now())
		standing(t, db, s, c.owner, endpoint, "https://a")
		change := func(changes []func(app.Endpoint) app.Endpoint) {
			for _, f := range changes {
				if _, err := s.ChangeEndpoint(t.Context(), c.owner, endpoint, f); err != nil {
					t.Fatal(err)
				}
			}
		}
		change(c.before)
		a := warning(n, c.owner, endpoint, "https://a")
		if c.event != nil {
			c.event(&a)
		}
		for n := range a.Leased {
			a.Leased[n] = c.leased // or else the breaker is open
		}
		accept(t, s, a)
		if change(c.after); c.after == nil {
			if err := s.DeleteEndpoint(t.Context(), c.owner, endpoint); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
		jobs, err := s.Claim(t.Context(), nil, 100, 32)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range jobs {
			if got = append(got, d.URL); d.Earlier() != (d.URL == "https://a") || len(d.Body) == 0 || d.EndpointID != endpoint {
				t.Errorf("%s: the delivery to %s is %+v", c.name, d.URL, d)
			}
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: an event that waited goes to %q, want %q", c.name, got, c.want)
		}
	}
}
