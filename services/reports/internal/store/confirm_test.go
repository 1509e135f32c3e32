//go:build integration

package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// condemn has so many merchants find fraud reports against an address right.
func (w *fixture) condemn(mode tenant.Mode, address string, merchants int) {
	w.t.Helper()
	for i := range merchants {
		o := tenant.Owner{MerchantID: fmt.Sprintf("%s-%d", address, i), KeyID: int64(i + 1), Mode: mode}
		made := w.file(o, report.Filing{Phone: "111111", Fraudster: address})
		for _, to := range []report.Status{report.Processing, report.Resolved} {
			if err := w.move(o, made.ReportID, to); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// suspects are the addresses of a list, read page by page.
func (w *fixture) suspects(confirmed bool) (all []string) {
	w.t.Helper()
	q := app.Suspects{Modes: tenant.Modes(), Confirmed: confirmed, Limit: 1}
	for {
		body, err := w.Suspects(w.t.Context(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		var a struct {
			Subjects   []struct{ WalletAddress string }
			Pagination struct{ NextCursor *string }
		}
		if err := json.Unmarshal(body, &a); err != nil {
			w.t.Fatal(err)
		}
		for _, s := range a.Subjects {
			all = append(all, s.WalletAddress)
		}
		if a.Pagination.NextCursor == nil {
			return all
		}
		var ok bool
		if q.After, ok = app.ParseSuspectsAfter(*a.Pagination.NextCursor); !ok {
			w.t.Fatal("the cursor cannot be read")
		}
	}
}

// Addresses that enough merchants accuse wait, those of most merchants first, until an operator decides. Payments
// receives each decision, and each is kept. A further merchant reopens a withdrawn confirmation, and an answer is given
// once for its key.
func TestJudge(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Merchants = 2
	w.condemn(tenant.Test, "0xOne", 1)
	w.condemn(tenant.Test, "0xTwo", 2)
	w.condemn(tenant.Test, "TxThree", 3)
	lists := func(waiting, confirmed []string) {
		t.Helper()
		if got := w.suspects(false); !slices.Equal(got, waiting) {
			t.Errorf("%v wait, want %v", got, waiting)
		}
		if got := w.suspects(true); !slices.Equal(got, confirmed) {
			t.Errorf("%v are confirmed, want %v", got, confirmed)
		}
		if n, err := w.store.Waiting(t.Context(), w.Merchants); err != nil || n[tenant.Test] != int64(len(waiting)) || n[tenant.Live] != 0 {
			t.Errorf("%v %v are counted, want %d", n, err, len(waiting))
		}
	}
	judge := func(address string, confirmed bool, k idempotency.Key) idempotency.Answer {
		t.Helper()
		a, err := w.Judge(t.Context(), app.Judgement{
			Mode: tenant.Test, Address: address, Confirmed: confirmed, Operator: "ann", Reason: "why", RequestID: "req_1",
		}, k)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	last := func() wire.FraudSignal {
		all := messages[wire.FraudSignal](w, wire.FraudSignalV1)
		return all[len(all)-1]
	}
	lists([]string{"TxThree", "0xtwo"}, nil)
	if s := last(); s.Confirmed == nil || *s.Confirmed {
		t.Errorf("merchants alone confirm: %+v", s)
	}
	before := last().Version
	k := idempotency.Key{Scope: "operator/ann", Key: "k1"}
	first := judge(" 0XTWO ", true, k)
	lists([]string{"TxThree"}, []string{"0xtwo"})
	if s := last(); s.Address != "0xtwo" || s.Confirmed == nil || !*s.Confirmed || s.Merchants != 2 || s.Version <= before {
		t.Errorf("message to payments: got %+v", s)
	}
	if again := judge(" 0XTWO ", true, k); !again.Replayed || string(again.Body) != string(first.Body) {
		t.Errorf("the same key is answered %+v", again)
	}
	w.condemn(tenant.Test, "0xTwo", 3) // one more
	if s := last(); s.Confirmed == nil || !*s.Confirmed || s.Merchants != 3 {
		t.Errorf("a further merchant takes the confirmation away: %+v", s)
	}
	judge("0xtwo", false, idempotency.Key{})
	judge("TxThree", false, idempotency.Key{})
	lists(nil, nil)
	if s := last(); s.Confirmed == nil || *s.Confirmed {
		t.Errorf("message to payments: got %+v", s)
	}
	w.condemn(tenant.Test, "TxThree", 4)
	lists([]string{"TxThree"}, nil)
	if n := ask[int](w, `SELECT count(*) FROM accused_decisions WHERE operator = 'ann' AND reason = 'why' AND request_id = 'req_1'`); n != 3 {
		t.Errorf("%d decisions are kept, want 3", n)
	}
	for _, address := range []string{"nobody", "0xtwo "} {
		_, err := w.Judge(t.Context(), app.Judgement{Mode: tenant.Live, Address: address, Confirmed: true, Operator: "ann", Reason: "why"}, idempotency.Key{})
		if !isCode(err, "not_accused") {
			t.Errorf("%q in the other mode: %v", address, err)
		}
	}
	w.checkCounts()
}

// One operator confirms a live address, and two end that: the first one's word changes nothing, is kept for the second
// one, and is of no use once a further merchant has a resolved report.
func TestJudge_twoOperators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Merchants = 1
	w.condemn(tenant.Live, "0xOne", 1)
	judge := func(operator string, confirmed bool) (waits string, err error) {
		t.Helper()
		a, err := w.Judge(t.Context(), app.Judgement{
			Mode: tenant.Live, Address: "0xOne", Confirmed: confirmed, Operator: operator, Reason: operator + " looked", RequestID: "req_1",
		}, idempotency.Key{})
		if err != nil {
			return "", err
		}
		var body struct {
			Data struct {
				Approval struct{ Action, RequestedBy string }
			}
		}
		if err := json.Unmarshal(a.Body, &body); err != nil {
			t.Fatal(err)
		}
		return body.Data.Approval.Action, nil
	}
	want := func(operator string, confirmed bool, waits, code string, blocked bool) {
		t.Helper()
		got, err := judge(operator, confirmed)
		if got != waits || (err == nil) != (code == "") || (code != "" && !isCode(err, code)) {
			t.Errorf("%s: %q %v, want %q %q", operator, got, err, waits, code)
		}
		all := messages[wire.FraudSignal](w, wire.FraudSignalV1)
		if s := all[len(all)-1]; s.Confirmed == nil || *s.Confirmed != blocked {
			t.Errorf("message to payments after %s: got %+v, want %t", operator, s, blocked)
		}
	}
	want("ann", false, "", "", false) // the reports do not suffice
	want("ann", true, "", "", true)
	want("ann", false, "withdraw", "", true)
	w.condemn(tenant.Live, "0xOne", 1) // the same merchant again
	want("Ann", false, "", "second_operator_required", true)
	w.condemn(tenant.Live, "0xOne", 2)
	want("bob", false, "", "approval_outdated", true)
	want("bob", false, "withdraw", "", true)
	if n := ask[int](w, `SELECT count(*) FROM accused_decisions`); n != 2 {
		t.Errorf("%d decisions are kept before the second operator, want 2", n)
	}
	want("ann", false, "", "", false)
	if reason := ask[string](w, `SELECT reason FROM accused_decisions WHERE NOT confirmed ORDER BY id DESC LIMIT 1`); reason != "ann looked (asked for by bob: bob looked)" {
		t.Errorf("the decision is kept with %q", reason)
	}
	want("ann", true, "", "", true)
	want("bob", false, "withdraw", "", true) // an earlier request allows one decision
	if _, err := w.pool.Exec(t.Context(), `UPDATE approvals SET at = at - interval '1 day'`); err != nil {
		t.Fatal(err)
	}
	want("ann", false, "withdraw", "", true)
	want("cy", true, "", "", true) // a new decision ends what was asked for
	want("bob", false, "withdraw", "", true)
}
