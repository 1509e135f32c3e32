//go:build integration

package admission_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/deposits"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
)

// seeFrom delivers a snapshot of a transfer that names its sender.
func seeFrom(w *fixture.Payments, p payment.Payment, sender string, c fixture.Coin) {
	w.T.Helper()
	m := w.Message(p, c)
	m.Senders = []string{sender}
	w.Deliver(m)
}

func decisions(w *fixture.Payments, p payment.Payment) []string {
	return fixture.Ask[[]string](w, `SELECT coalesce(array_agg(stage || ' ' || verdict || ' ' || reason || ' ' || lists ORDER BY id), '{}') FROM screenings WHERE payment_id = $1`, p.ID)
}

func TestScreening_clearMoneyIsPaidOut(t *testing.T) {
	t.Parallel()
	w, _ := fixture.Screened(t)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1})
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	w.Pay(p)
	if got := decisions(w, p); !slices.Equal(got, []string{"deposit clear  list 1", "payout clear  list 1"}) {
		t.Errorf("kept: %q", got)
	}
	w.Balanced()
}

func TestScreening_aHitAtDepositWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	s.Set(false, fixture.DirtySender)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.DirtySender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review screening_hold")
	if got := decisions(w, p); !slices.Equal(got, []string{"deposit hit sanctioned_address list 1"}) {
		t.Errorf("kept: %q", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts of held money", n)
	}
	if _, err := w.Operators.Resolve(t.Context(), p.Reference, operators.Order{Operator: "ada", Action: operators.ActionAccept, Reason: "a mistake of the list"}, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.Pay(p) // the list still has the sender, and the operator's decision overrules it for this money
	w.Balanced()
}

// A sender is listed between the deposit and the payout.
func TestScreening_aHitBeforeThePayoutHoldsIt(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.DirtySender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	s.Set(false, fixture.DirtySender)
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "needs_review screening_hold")
	if got := fixture.Ask[string](w, `SELECT state || ' ' || sends FROM payouts WHERE payment_id = $1`, p.ID); got != "withdrawn 0" {
		t.Errorf("payout %s", got)
	}
	if got := decisions(w, p); !slices.Equal(got, []string{"deposit clear  list 1", "payout hit sanctioned_address list 1"}) {
		t.Errorf("kept: %q", got)
	}
	w.Balanced()
}

// Without a verdict no payment is confirmed and no payout leaves.
func TestScreening_failsClosed(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	s.Set(true)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirming")
	if err := w.Deposits.Rescreen(t.Context()); err == nil {
		t.Error("no error, although transfers wait")
	}
	w.Want(p, "confirming")
	s.Set(false)
	if err := w.Deposits.Rescreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "confirmed")
	s.Set(true)
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "confirmed")
	if got := w.PayoutRow(p); got != "created 0" {
		t.Errorf("payout %s", got)
	}
	s.Set(false)
	w.Pay(p)
}

// A verdict is about the senders that were asked about. Where the transfer has got others meanwhile, it waits for the
// next time.
func TestRescreen_sendersThatChange(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	s.Set(true)
	p := w.Make(fixture.Command())
	coin := fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough}
	seeFrom(w, p, fixture.CleanSender, coin)
	s.Set(false, fixture.DirtySender)
	calm := w.Deposits.Store
	w.Deposits.Store = before{calm, func() {
		s.Set(true)
		coin.Version++
		m := w.Message(p, coin)
		m.Senders = []string{fixture.CleanSender, fixture.DirtySender}
		w.Deliver(m)
		s.Set(false, fixture.DirtySender)
	}}
	if err := w.Deposits.Rescreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "confirming")
	if got := decisions(w, p); len(got) > 0 {
		t.Errorf("kept of senders that have changed: %q, want nothing", got)
	}
	w.Deposits.Store = calm
	if err := w.Deposits.Rescreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "needs_review screening_hold")
	if got := decisions(w, p); !slices.Equal(got, []string{"deposit hit sanctioned_address list 1"}) {
		t.Errorf("kept: %q", got)
	}
}

// before does something before each change of a payment.
type before struct {
	deposits.Store
	do func()
}

func (b before) Update(ctx context.Context, paymentID string, f change.Func) error {
	b.do()
	return b.Store.Update(ctx, paymentID, f)
}

// Each of two transfers keeps its verdict, although the first alone decides nothing about the payment.
func TestRescreen_twoTransfers(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	s.Set(true)
	p := w.Make(fixture.Command())
	for _, key := range []string{"t1", "t2"} {
		seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: key, Amount: "15.625", Version: 1, Depth: fixture.Enough})
	}
	w.Want(p, "confirming")
	s.Set(false)
	if err := w.Deposits.Rescreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "confirmed")
	if got := decisions(w, p); !slices.Equal(got, []string{"deposit clear  list 1", "deposit clear  list 1"}) {
		t.Errorf("kept: %q", got)
	}
	w.Pay(p)
	w.Balanced()
}

// Refund addresses are screened too. A refusal is stored although the request fails, and a missing verdict refuses.
func TestScreening_refundAddress(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	const bad, good = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
	p := w.Make(fixture.Command())
	refund := func(to string, k idempotency.Key) error {
		_, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, to, &fault.Problems{}, k)
		return err
	}
	s.Set(false, bad)
	for range 2 { // with a key, too: a refusal by validation is not stored under it
		if err := refund(bad, idempotency.Key{Scope: "refund", Key: "k"}); fault.As(err).Kind != fault.Invalid || len(fault.As(err).Fields) != 1 {
			t.Fatalf("a sanctioned address: %v", err)
		}
	}
	if err := refund("nonsense", idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
		t.Errorf("no address: %v", err)
	}
	const setTo = `SELECT refund_address FROM payments WHERE id = $1`
	if to := fixture.Ask[string](w, setTo, p.ID); to != "" {
		t.Errorf("a refund goes to %s", to)
	}
	if err := refund(good, idempotency.Key{Scope: "refund", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	s.Set(true)
	if err := refund(bad, idempotency.Key{}); fault.As(err).Kind != fault.Unavailable {
		t.Errorf("while nobody can say: %v", err)
	}
	if to := fixture.Ask[string](w, setTo, p.ID); to != good {
		t.Errorf("a refund goes to %s", to)
	}
	const hit = "refund hit sanctioned_address list 1"
	if got := decisions(w, p); !slices.Equal(got, []string{hit, "refund clear  list 1"}) {
		t.Errorf("kept: %q", got)
	}
	if got := fixture.Ask[[]string](w, `SELECT addresses FROM screenings WHERE payment_id = $1 AND verdict = 'hit' LIMIT 1`, p.ID); !slices.Equal(got, []string{bad}) {
		t.Errorf("the refused address is kept as %q", got)
	}
	// The list shows the earlier verdicts to the operator who decides on the payment.
	s.Set(false, fixture.DirtySender)
	seeFrom(w, p, fixture.DirtySender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review screening_hold")
	body, err := w.Operators.Holds(t.Context(), "", 10)
	if err != nil || strings.Count(string(body), `{"stage":"refund","verdict":"hit","reason":"sanctioned_address","lists":"list 1"`) != 1 {
		t.Errorf("operators see %s, %v", body, err)
	}
}

// Dust of a listed sender holds nothing, because anybody can send it.
func TestScreening_dustFromAListHoldsNothing(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	s.Set(false, fixture.DirtySender)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.DirtySender, fixture.Coin{Key: "dust", Amount: "0.01", Version: 1, Depth: fixture.Enough})
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(p)
}

// An outdated list takes money in, in either mode, and lets no live money out.
func TestDestination(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	asked := admission.NewScreening(s, slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct {
		mode           tenant.Mode
		to             string
		down, outdated bool
		hit            bool
		code           string
	}{
		"clear":                    {mode: tenant.Live, to: fixture.CleanSender},
		"listed":                   {mode: tenant.Live, to: fixture.DirtySender, hit: true},
		"down":                     {mode: tenant.Live, to: fixture.CleanSender, down: true, code: "screening_unavailable"},
		"outdated, live":           {mode: tenant.Live, to: fixture.CleanSender, outdated: true, code: "sanctions_list_outdated"},
		"outdated, live, listed":   {mode: tenant.Live, to: fixture.DirtySender, outdated: true, code: "sanctions_list_outdated"},
		"outdated, test":           {mode: tenant.Test, to: fixture.CleanSender, outdated: true},
		"outdated, test, a listed": {mode: tenant.Test, to: fixture.DirtySender, outdated: true, hit: true},
	} {
		s.Set(c.down, fixture.DirtySender)
		s.Age(c.outdated)
		v, err := asked.Destination(t.Context(), c.mode, "tron", c.to)
		code := ""
		if err != nil {
			code = fault.As(err).Code
		}
		if v.Hit != c.hit || code != c.code {
			t.Errorf("Destination() of %s = %+v, %v; want a hit: %t, the code %q", name, v, err, c.hit, c.code)
		}
	}
	s.Set(false)
	s.Age(true)
	p := w.Make(fixture.Command())
	seeFrom(w, p, fixture.CleanSender, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	w.Pay(p)
	w.Balanced()
}
