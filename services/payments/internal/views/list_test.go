//go:build integration

package views_test

import (
	"encoding/json"
	"slices"
	"strconv"
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

// A list by payer, address, transaction and several statuses holds exactly those payments of its owner, in pages that
// join, and also under a master key that another has replaced.
func TestList_filters(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(12)
	of := func(chat string) payment.Payment {
		t.Helper()
		c := fixture.Command()
		c.Payer.ChatID = chat
		p := w.Make(c)
		w.NextMillisecond()
		return p
	}
	ada, ben, again := of("ada"), of("ben"), of("ada")
	gift := w.Make(fixture.Gift())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, again.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", again.Reference, err)
	}
	hash := fixture.Hash("one transaction of two transfers")
	for i, p := range []payment.Payment{ada, ben} {
		m := w.Message(p, fixture.Coin{Key: "t" + strconv.Itoa(i), Amount: "40", Version: 1, Depth: fixture.Enough})
		m.TxHash = hash
		w.Deliver(m)
	}
	w.Want(ada, "confirmed overpaid")
	other := tenant.Owner{MerchantID: "m2", Mode: tenant.Test}
	for name, c := range map[string]struct {
		filter views.Filter
		want   []payment.Payment
	}{
		"a payer":                   {views.Filter{Payer: "ada"}, []payment.Payment{again, ada}},
		"a payer page by page":      {views.Filter{Payer: "ada", Limit: 1}, []payment.Payment{again, ada}},
		"a payer that nobody knows": {views.Filter{Payer: "Ada"}, nil},
		"a payer and a status":      {views.Filter{Payer: "ada", Statuses: []payment.Status{payment.StatusCancelled}}, []payment.Payment{again}},
		"a payer and a type":        {views.Filter{Payer: "ada", Type: payment.Gift}, nil},
		"a payer and a time":        {views.Filter{Payer: "ada", To: again.CreatedAt.Truncate(time.Millisecond)}, []payment.Payment{ada}},
		"an address":                {views.Filter{Address: ben.Address}, []payment.Payment{ben}},
		"an address of another payer": {
			views.Filter{Address: ben.Address, Payer: "ada"}, nil,
		},
		"a transaction":                 {views.Filter{TxHash: hash}, []payment.Payment{ben, ada}},
		"a transaction and a payer":     {views.Filter{TxHash: hash, Payer: "ada"}, []payment.Payment{ada}},
		"a transaction that nobody saw": {views.Filter{TxHash: fixture.Hash("none")}, nil},
		"several statuses": {
			views.Filter{Statuses: []payment.Status{payment.StatusPending, payment.StatusCancelled}}, []payment.Payment{gift, again},
		},
		"another merchant's payer":       {views.Filter{Owner: other, Payer: "ada"}, nil},
		"another merchant's address":     {views.Filter{Owner: other, Address: ada.Address}, nil},
		"another merchant's transaction": {views.Filter{Owner: other, TxHash: hash}, nil},
		"the other mode's address":       {views.Filter{Owner: tenant.Owner{MerchantID: "m1", Mode: tenant.Live}, Address: ada.Address}, nil},
		"operators: a transaction":       {views.Filter{Operated: true, TxHash: hash}, []payment.Payment{ben, ada}},
		"operators: an address":          {views.Filter{Operated: true, Address: gift.Address}, []payment.Payment{gift}},
		"operators: a reference":         {views.Filter{Operated: true, Reference: ben.Reference}, []payment.Payment{ben}},
		"operators: an exception":        {views.Filter{Operated: true, Exception: payment.ExceptionOverpaid}, []payment.Payment{ben, ada}},
		"operators: an exception of another merchant": {
			views.Filter{Operated: true, Owner: other, Exception: payment.ExceptionOverpaid}, nil,
		},
		"operators: a merchant":       {views.Filter{Operated: true, Owner: tenant.Owner{MerchantID: "m1"}, Limit: 2}, []payment.Payment{gift, again, ben, ada}},
		"operators: another merchant": {views.Filter{Operated: true, Owner: other}, nil},
		"operators: a mode":           {views.Filter{Operated: true, Owner: tenant.Owner{Mode: tenant.Test}, Limit: 3}, []payment.Payment{gift, again, ben, ada}},
		"operators: the other mode":   {views.Filter{Operated: true, Owner: tenant.Owner{Mode: tenant.Live}}, nil},
		"operators: a merchant's other mode": {
			views.Filter{Operated: true, Owner: tenant.Owner{MerchantID: "m1", Mode: tenant.Live}}, nil,
		},
	} {
		f := c.filter
		if f.Owner == (tenant.Owner{}) && !f.Operated {
			f.Owner = fixture.Owner
		}
		if f.Limit == 0 {
			f.Limit = 10
		}
		var got, want []string
		for _, p := range c.want {
			want = append(want, p.ID)
		}
		for {
			page, err := w.Store.List(t.Context(), f)
			if err != nil {
				t.Fatalf("list by %s: %v", name, err)
			}
			for _, v := range page {
				got = append(got, v.Payment.ID)
			}
			if len(page) < f.Limit {
				break
			}
			f.Before = page[len(page)-1].Payment.ID
		}
		if !slices.Equal(got, want) {
			t.Errorf("list by %s: got %v, want %v", name, got, want)
		}
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
