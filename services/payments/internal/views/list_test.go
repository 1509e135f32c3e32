//go:build integration

package views_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type listed struct {
	Payments   []struct{ Reference, Status, ID string }
	Pagination struct {
		NextCursor *string
		HasMore    bool
	}
}

func list(w *fixture.Payments, f views.Filter) (l listed) {
	w.T.Helper()
	f.Owner = fixture.Owner
	body, err := w.Reader.List(w.T.Context(), f)
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return l
}

// Pages of a list join without gap or repetition; filters choose; other merchants see nothing of it.
func TestList(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(10)
	var made []string
	for i := range 10 {
		c := fixture.Command()
		if i%3 == 0 {
			c = fixture.Gift()
		}
		p := w.Make(c)
		made = append(made, p.Reference)
		if i == 4 {
			w.See(p, fixture.Coin{Key: "t", Amount: "31.25", Version: 1, Depth: fixture.Enough})
		}
		if i == 5 {
			if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
				t.Fatalf("cancel payment %s: %v", p.Reference, err)
			}
		}
		w.NextMillisecond()
	}
	slices.Reverse(made)
	var got []string
	f := views.Filter{Limit: 3}
	for {
		page := list(w, f)
		for _, p := range page.Payments {
			got = append(got, p.Reference)
		}
		if !page.Pagination.HasMore {
			break
		}
		before, ok := views.ReadCursor(*page.Pagination.NextCursor)
		if !ok || len(page.Payments) != 3 {
			t.Fatalf("page = %+v, want 3 payments and a readable cursor", page)
		}
		f.Before = before
	}
	if !slices.Equal(got, made) {
		t.Errorf("listed %v, made %v", got, made)
	}
	for want, f := range map[int]views.Filter{
		4:  {Type: payment.Gift},
		1:  {Statuses: []payment.Status{payment.StatusCancelled}},
		8:  {Statuses: []payment.Status{payment.StatusPending}},
		10: {From: time.Now().Add(-time.Minute), To: time.Now().Add(time.Minute)},
		0:  {From: time.Now().Add(time.Minute)},
	} {
		f.Limit = 100
		if n := len(list(w, f).Payments); n != want {
			t.Errorf("%+v lists %d, want %d", f, n, want)
		}
	}
	body, err := w.Reader.List(t.Context(), views.Filter{Owner: tenant.Owner{MerchantID: "m2", Mode: tenant.Test}, Limit: 10})
	if err != nil || !strings.Contains(string(body), `"payments":[]`) {
		t.Errorf("another merchant: %s %v", body, err)
	}
	body, err = w.Operators.ListAll(t.Context(), views.Filter{Statuses: []payment.Status{payment.StatusCancelled}, Limit: 10})
	if err != nil || !strings.Contains(string(body), `"merchantId":"m1","mode":"test"`) || strings.Contains(string(body), `"rate":0,`) {
		t.Errorf("operators: %s %v", body, err)
	}
	if _, ok := views.ReadCursor("nonsense"); ok {
		t.Error("nonsense is read as a cursor")
	}
}

// Payments with and without the code of a shard are in one list, by time.
func TestList_namesOfAllForms(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(6)
	var want []string
	for _, in := range []shard.Code{"", "ZZ", shard.First, "", "22", ""} {
		w.With(func(d *fixture.Deps) { d.Shard = in })
		want = append(want, w.Make(fixture.Command()).Reference)
		w.NextMillisecond()
	}
	slices.Reverse(want)
	var got []string
	for f := (views.Filter{Limit: 1}); ; {
		l := list(w, f)
		for _, p := range l.Payments {
			got = append(got, p.Reference)
		}
		if !l.Pagination.HasMore {
			break
		}
		var ok bool
		if f.Before, ok = views.ReadCursor(*l.Pagination.NextCursor); !ok {
			t.Fatalf("read the cursor after %s: got none, want the id of a payment", l.Payments[0].Reference)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("list payments of several forms one by one: got %v, want the newest first: %v", got, want)
	}
	from := fixture.Ask[time.Time](w, `SELECT created_at FROM payments WHERE reference = $1`, want[4])
	to := fixture.Ask[time.Time](w, `SELECT created_at FROM payments WHERE reference = $1`, want[1])
	got = nil
	for _, p := range list(w, views.Filter{Limit: 10, From: from.Truncate(time.Millisecond), To: to.Truncate(time.Millisecond)}).Payments {
		got = append(got, p.Reference)
	}
	if !slices.Equal(got, want[2:5]) {
		t.Errorf("list payments of several forms from %s to %s: got %v, want %v", from, to, got, want[2:5])
	}
}
