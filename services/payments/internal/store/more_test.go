//go:build integration

package store_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
)

func ownSettledCommand() payment.Command {
	c := command()
	c.Type, c.Receiver, c.BankRef = "bank_confirmation", nil, "B-1"
	return c
}

// token is the settlement token of the last event, opened as the dispatcher opens it.
func (w *fixture) token() string {
	w.t.Helper()
	body := ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1 ORDER BY id DESC LIMIT 1`, string(wire.PaymentStatusChangedV1))
	var m wire.StatusChanged
	if err := json.Unmarshal(body, &m); err != nil {
		w.t.Fatal(err)
	}
	if m.Type != "payment.confirmed" || strings.Count(string(m.Body), wire.TokenMask) != 1 {
		w.t.Fatalf("%s %s", m.Type, m.Body)
	}
	token, err := w.ring.Open(m.Token, wire.TokenPlace(m.EventID))
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(string(body), string(token)) {
		w.t.Error("the message holds the token in the clear")
	}
	return string(token)
}

func (w *fixture) settle(ref, token string) error {
	_, err := w.app.Settle(w.t.Context(), owner, ref, token, "TRF-1", noProblems(), idempotency.Key{})
	return err
}

// The caller pays out itself. The token of payment.confirmed settles once, and a new token voids the old one.
func TestSettle_byTheCaller(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(3)
	p := w.made(ownSettledCommand())
	if err := w.settle(p.Reference, "stl_x"); fault.As(err).Kind != fault.Conflict {
		t.Errorf("before it is confirmed: %v", err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "confirmed")
	first := w.token()
	if err := w.settle(p.Reference, "stl_wrong"); fault.As(err).Code != "invalid_settlement_token" {
		t.Errorf("a wrong token: %v", err)
	}
	key := idempotency.Key{Scope: "token", Key: "k"}
	a, err := w.app.IssueToken(t.Context(), owner, p.Reference, key)
	if err != nil {
		t.Fatal(err)
	}
	var issued struct{ SettlementToken, ExpiresAt string }
	if err := json.Unmarshal(a.Body, &issued); err != nil || issued.SettlementToken == "" || issued.SettlementToken == first {
		t.Fatalf("%s %v", a.Body, err)
	}
	if again, err := w.app.IssueToken(t.Context(), owner, p.Reference, key); err != nil || !again.Replayed || string(again.Body) != string(a.Body) {
		t.Errorf("replay %s %v", again.Body, err)
	}
	w.sql(`UPDATE idempotency SET secret = NULL`)
	if late, err := w.app.IssueToken(t.Context(), owner, p.Reference, key); err != nil || strings.Contains(string(late.Body), "stl_") {
		t.Errorf("a late replay shows the token: %s %v", late.Body, err)
	}
	if n := ask[int](w, `SELECT count(*) FROM idempotency WHERE encode(body, 'escape') LIKE '%stl_%'`); n != 0 {
		t.Error("a token is stored in the clear")
	}
	if err := w.settle(p.Reference, first); err == nil {
		t.Error("the old token is not void")
	}
	if err := w.settle(p.Reference, issued.SettlementToken); err != nil {
		t.Fatal(err)
	}
	w.want(p, "settled")
	if err := w.settle(p.Reference, issued.SettlementToken); fault.As(err).Code != "already_settled" {
		t.Errorf("a second time: %v", err)
	}
	if n := ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts", n)
	}
	w.balanced()

	c := ownSettledCommand()
	c.Type, c.BankRef = "merchant", ""
	p = w.made(c)
	w.see(p, coin{key: "t2", amount: "31.25", version: 1, depth: enough})
	if err := w.settle(p.Reference, w.token()); err != nil {
		t.Errorf("merchant without a receiver: %v", err)
	}
	p = w.made(ownSettledCommand())
	w.see(p, coin{key: "t3", amount: "31.25", version: 1, depth: enough})
	old := w.token()
	w.sql(`UPDATE payments SET token_expires_at = now() - interval '1 second' WHERE id = $1`, p.ID)
	if err := w.settle(p.Reference, old); fault.As(err).Code != "invalid_settlement_token" {
		t.Errorf("a token of yesterday: %v", err)
	}
}

// A gift that nobody claims and a payment that its caller does not settle go to review.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(2)
	for i, c := range []payment.Command{giftCommand(), ownSettledCommand()} {
		p := w.made(c)
		w.see(p, coin{key: fmt.Sprint("t", i), amount: "31.25", version: 1, depth: enough})
		w.want(p, "confirmed")
		days := ask[int](w, `SELECT round(extract(epoch FROM deadline_at - now()) / 86400)::int FROM payments WHERE id = $1`, p.ID)
		if want := []int{30, 7}[i]; days != want {
			t.Errorf("%s has %d days, want %d", c.Type, days, want)
		}
		w.sql(`UPDATE payments SET deadline_at = now() - interval '1 second', due_at = now() - interval '1 second' WHERE id = $1`, p.ID)
		if err := w.app.ExpireDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.want(p, "needs_review unclaimed")
	}
}

// A merchant cancels a payment without transfers. Money that arrives later goes to review.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(3)
	cancel := func(p payment.Payment, o tenant.Owner) error {
		_, err := w.app.Cancel(t.Context(), o, p.Reference, idempotency.Key{})
		return err
	}
	p := w.made(command())
	if err := cancel(p, tenant.Owner{MerchantID: "m2", Mode: tenant.Test}); fault.As(err).Kind != fault.NotFound {
		t.Errorf("another merchant: %v", err)
	}
	if err := cancel(p, owner); err != nil {
		t.Fatal(err)
	}
	w.want(p, "cancelled")
	if err := cancel(p, owner); fault.As(err).Kind != fault.Conflict {
		t.Errorf("twice: %v", err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review paid_late")
	p = w.made(command())
	w.see(p, coin{key: "t2", amount: "1", version: 1})
	if err := cancel(p, owner); fault.As(err).Message != "Payment can no longer be cancelled" {
		t.Errorf("after money: %v", err)
	}
	p = w.made(requestCommand())
	if err := cancel(p, owner); err != nil {
		t.Error(err)
	}
	w.want(p, "cancelled")
}

// An operator pays out to another account, accepts the received money, or marks a refund.
func TestResolve(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(3)
	resolve := func(p payment.Payment, d operators.Order) error {
		d.Operator, d.Reason = "ada", "because"
		_, err := w.app.Resolve(t.Context(), p.Reference, d, noProblems(), idempotency.Key{})
		return err
	}
	c := command()
	c.Receiver.AccountNumber = sim.AccountFails
	p := w.made(c)
	if err := resolve(p, operators.Order{Action: "accept"}); fault.As(err).Code != "not_in_review" {
		t.Errorf("not in review: %v", err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.work(func() bool { return w.status(p) == "needs_review payout_failed" })
	if err := resolve(p, operators.Order{Action: "retry_payout", Receiver: &payment.ReceiverInput{BankCode: "044", AccountNumber: "12"}}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("a receiver that is none: %v", err)
	}
	if err := resolve(p, operators.Order{Action: "retry_payout", Receiver: &payment.ReceiverInput{BankCode: "044", AccountNumber: "1111111111"}}); err != nil {
		t.Fatal(err)
	}
	w.work(func() bool { return w.status(p) == "settled" })
	if got := ask[string](w, `SELECT string_agg(account_number, ' ' ORDER BY ref) FROM sim_transfers`); got != sim.AccountFails+" 1111111111" {
		t.Errorf("the bank saw %s", got)
	}

	p = w.made(command())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.see(p, coin{key: "t2", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review paid_late")
	if err := resolve(p, operators.Order{Action: "accept"}); err != nil {
		t.Fatal(err)
	}
	w.work(func() bool { return w.status(p) == "settled paid_late" })

	p = w.made(command())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: %v", p.Reference, err)
	}
	w.see(p, coin{key: "t3", amount: "31.25", version: 1, depth: enough})
	if err := resolve(p, operators.Order{Action: "mark_refunded", TxHash: strings.Repeat("f0", 32)}); fault.As(err).Code != "no_refund_address" {
		t.Errorf("without an address: %v", err)
	}
	refund := func(to string) error {
		_, err := w.app.RefundAddress(t.Context(), owner, p.Reference, to, noProblems(), idempotency.Key{})
		return err
	}
	if err := refund("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"); fault.As(err).Kind != fault.Invalid {
		t.Errorf("an address of another family: %v", err)
	}
	if err := refund("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"); err != nil {
		t.Fatal(err)
	}
	if err := resolve(p, operators.Order{Action: "mark_refunded", TxHash: strings.Repeat("f0", 32)}); err != nil {
		t.Fatal(err)
	}
	w.want(p, "refunded paid_late")
	if got := ask[string](w, `SELECT string_agg(operator || ' ' || action || ' ' || reason, ', ' ORDER BY at) FROM decisions`); got !=
		"ada retry_payout because, ada accept because, ada mark_refunded because" {
		t.Errorf("kept: %s", got)
	}
	w.balanced()
}

type listed struct {
	Payments   []struct{ Reference, Status, ID string }
	Pagination struct {
		NextCursor *string
		HasMore    bool
	}
}

func (w *fixture) list(f views.Filter) (l listed) {
	w.t.Helper()
	f.Owner = owner
	body, err := w.app.List(w.t.Context(), f)
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// Pages of a list join without gap or repetition; filters choose; other merchants see nothing of it.
func TestList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(10)
	var made []string
	for i := range 10 {
		c := command()
		if i%3 == 0 {
			c = giftCommand()
		}
		p := w.made(c)
		made = append(made, p.Reference)
		if i == 4 {
			w.see(p, coin{key: "t", amount: "31.25", version: 1, depth: enough})
		}
		if i == 5 {
			if _, err := w.app.Cancel(t.Context(), owner, p.Reference, idempotency.Key{}); err != nil {
				t.Fatalf("cancel payment %s: %v", p.Reference, err)
			}
		}
		w.nextMillisecond()
	}
	slices.Reverse(made)
	var got []string
	f := views.Filter{Limit: 3}
	for {
		page := w.list(f)
		for _, p := range page.Payments {
			got = append(got, p.Reference)
		}
		if !page.Pagination.HasMore {
			break
		}
		before, ok := views.ReadCursor(*page.Pagination.NextCursor)
		if !ok || len(page.Payments) != 3 {
			t.Fatalf("%+v", page)
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
		if n := len(w.list(f).Payments); n != want {
			t.Errorf("%+v lists %d, want %d", f, n, want)
		}
	}
	body, err := w.app.List(t.Context(), views.Filter{Owner: tenant.Owner{MerchantID: "m2", Mode: tenant.Test}, Limit: 10})
	if err != nil || !strings.Contains(string(body), `"payments":[]`) {
		t.Errorf("another merchant: %s %v", body, err)
	}
	body, err = w.app.ListAll(t.Context(), views.Filter{Statuses: []payment.Status{payment.StatusCancelled}, Limit: 10})
	if err != nil || !strings.Contains(string(body), `"merchantId":"m1","mode":"test"`) || strings.Contains(string(body), `"rate":0,`) {
		t.Errorf("operators: %s %v", body, err)
	}
	if _, ok := views.ReadCursor("nonsense"); ok {
		t.Error("nonsense is read as a cursor")
	}
}

func (w *fixture) statement(name string) string {
	w.t.Helper()
	sql, ok := store.Statements()[name]
	if !ok {
		w.t.Fatalf("no statement %s", name)
	}
	return sql
}

// nextMillisecond waits for the clock to move on: two ids of one millisecond have no order.
func (w *fixture) nextMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		runtime.Gosched()
	}
}
