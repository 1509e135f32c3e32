//go:build integration

package operators_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/views"
)

// nobodys is an address that no payment has.
const nobodys = "TNobody"

// strayCoin delivers a transfer to an address that no payment has, and returns its key.
func strayCoin(w *fixture.Payments, c fixture.Coin) string {
	w.T.Helper()
	m := w.Message(payment.Payment{Address: nobodys}, c)
	w.Deliver(m)
	return m.Key
}

// adopt is the id of the payment of an adoption, or the code of its refusal.
func adopt(w *fixture.Payments, mode tenant.Mode, deposit string) string {
	w.T.Helper()
	o := operators.AdoptOrder{Mode: mode, Deposit: deposit, Operator: "ada", Reason: "the payer wrote"}
	a, err := w.Operators.Adopt(w.T.Context(), o, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		return fault.As(err).Code
	}
	var answer struct {
		PaymentID string
		Deposits  []struct {
			Key        string
			InSuspense bool
		}
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil || len(answer.Deposits) == 0 {
		w.T.Errorf("Adopt(%s) = %s, %v; want a payment with deposits", deposit, a.Body, err)
	}
	return answer.PaymentID
}

// payBack refunds everything that a payment owes, to its refund address, and lets wallets confirm it.
func payBack(w *fixture.Payments, p payment.Payment, amount string) {
	w.T.Helper()
	o := refunds.Order{Reason: "the payer wrote", Sender: "ada"}
	a, err := w.Refunds.RequestFor(w.T.Context(), p.ID, o, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		w.T.Fatalf("RequestFor(%s) = %v, want a refund", p.ID, err)
	}
	var answer views.OperatedRefund
	if err := json.Unmarshal(a.Body, &answer); err != nil || string(answer.Refund.Status) != "approved" || answer.Refund.Amount.String() != amount {
		w.T.Fatalf("RequestFor(%s) = %s, %v; want %s approved", p.ID, a.Body, err, amount)
	}
	report(w, answer.Refund.ID, amount, wire.RefundConfirmed)
}

// report is a report of wallets about a refund of USDT on tron.
func report(w *fixture.Payments, refundID, amount string, state wire.RefundState) {
	w.T.Helper()
	err := refunds.Reports{Policy: w.Deps.Policy, Report: w.Store.ReportRefund}.Changed(w.T.Context(), id.New(id.Message, time.Now()), wire.RefundChanged{
		RefundID: refundID, Version: 1, Mode: tenant.Test, Network: "tron", State: state, TxHash: "f00d" + refundID,
		Amount: decimal.RequireFromString(amount).Shift(6).String(), Fee: "1000000", OccurredAt: time.Now(),
	})
	if err != nil {
		w.T.Fatalf("report refund %s as %s: %v", refundID, state, err)
	}
}

// refundTo confirms the refund address that an operator brings; the result is the code of a refusal.
func refundTo(w *fixture.Payments, paymentID, address string) string {
	w.T.Helper()
	o := operators.RefundAddressOrder{Operator: "ada", Address: address, Reason: "signed with the key of the sender"}
	if _, err := w.Operators.ConfirmRefundAddress(w.T.Context(), paymentID, o, &fault.Problems{}, idempotency.Key{}); err != nil {
		return fault.As(err).Code
	}
	return ""
}

const payersTron = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"

// byID is a payment as the store has it.
func byID(w *fixture.Payments, paymentID string) payment.Payment {
	w.T.Helper()
	v, err := w.Store.FindByID(w.T.Context(), paymentID)
	if err != nil {
		w.T.Fatalf("FindByID(%s) = %v, want the payment", paymentID, err)
	}
	return v.Payment
}

// Money on an address without a payment gets a payment, is refunded as the money of any other, and is on the list of
// what is owed once, since it came, until it has left. So is money that comes to the address afterwards. No merchant
// hears of it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	came := time.Now().Add(-48 * time.Hour).Truncate(time.Millisecond)
	first := strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough, At: came})
	strayCoin(w, fixture.Coin{Key: "s2", Amount: "5", Version: 1, Depth: fixture.Enough})
	p := payment.Payment{ID: adopt(w, tenant.Test, first)}
	if !id.IsPayment(p.ID) {
		t.Fatalf("Adopt() = %q, want a payment", p.ID)
	}
	w.Want(p, "needs_review wrong_asset")
	owed := func(when, want string) {
		t.Helper()
		agreed(w)
		if got := strings.Join(owes(w), ", "); got != want {
			t.Errorf("%s %q is owed, want %q", when, got, want)
		}
		if got := balance(w, "suspense:USDT"); want == "" && got != "0" {
			t.Errorf("%s suspense holds %s USDT, want 0", when, got)
		}
	}
	owed("after the adoption", "payer "+p.ID+" 12 USDT")
	if since := fixture.Ask[time.Time](w, `SELECT since FROM owed`); !since.Equal(came) {
		t.Errorf("the money is owed since %s, want %s, when it came", since, came)
	}
	if again := adopt(w, tenant.Test, "tron:s2:0"); again != p.ID {
		t.Errorf("an adoption of the other deposit of the address = %q, want the same payment %s", again, p.ID)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE action = 'deposit.adopted' AND detail ->> 'paymentId' = $1 AND operator = 'ada'`, p.ID); n != 1 {
		t.Errorf("%d audit entries of the adoption, want 1", n)
	}
	if left := fixture.Pages(t, "deposits", func(before string) ([]byte, error) { return w.Strays(t.Context(), before, 10) }); len(left) != 0 {
		t.Errorf("%q are on the list of deposits without a payment, want none", left)
	}
	if _, err := w.Resolve(payment.Payment{Reference: p.ID}, operators.Order{Operator: "ada", Action: operators.ActionAccept}); !fault.Is(err, "nothing_confirmed") {
		t.Errorf("an accept of a stray payment = %v, want nothing_confirmed", err)
	}

	if got := refundTo(w, p.ID, payersTron); got != "" {
		t.Fatalf("ConfirmRefundAddress() = %q, want no error", got)
	}
	payBack(w, p, "12")
	w.Want(p, "refunded wrong_asset")
	owed("after the refund", "")

	strayCoin(w, fixture.Coin{Key: "s3", Amount: "3", Version: 1, Depth: fixture.Enough})
	owed("after a further deposit", "payer "+p.ID+" 3 USDT")
	payBack(w, p, "3")
	owed("after another refund", "")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.PaymentStatusChangedV1)); n != 0 {
		t.Errorf("%d events of the stray payment, want none", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM deposits WHERE payment_id IS DISTINCT FROM $1`, p.ID); n != 0 {
		t.Errorf("%d deposits of the address do not belong to its payment, want none", n)
	}
}

// An operator marks a refund of a stray deposit that was sent by hand before the adoption.
func TestAdopt_refundedElsewhere(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := payment.Payment{ID: adopt(w, tenant.Test, strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough}))}
	if got := refundTo(w, p.ID, payersTron); got != "" {
		t.Fatalf("ConfirmRefundAddress() = %q, want no error", got)
	}
	o := operators.Order{Operator: "ada", Action: operators.ActionRefunded, TxHash: fixture.Hash("by hand"), Reason: "sent by hand"}
	if body, err := w.Resolve(payment.Payment{Reference: p.ID}, o); err != nil || !strings.Contains(body, `"reference":null`) {
		t.Fatalf("mark_refunded = %s, %v; want the payment without a reference", body, err)
	}
	w.Want(p, "refunded wrong_asset")
	if got := owes(w); len(got) != 0 {
		t.Errorf("%q are owed after the refund, want nothing", got)
	}
	agreed(w)
}

// Only booked money of no payment is adopted, and none that is unclaimed or about to be.
func TestAdopt_refused(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	secondAbove(w, 1)
	w.Fill(4)
	of := w.Make(fixture.Command())
	w.See(of, fixture.Coin{Key: "of", Amount: "20", Version: 1, Depth: fixture.Enough})
	on := func(address string, c fixture.Coin) string {
		m := w.Message(payment.Payment{Address: address}, c)
		w.Deliver(m)
		return m.Key
	}
	on("TGone", fixture.Coin{Key: "gone", Amount: "7", Version: 1, Depth: fixture.Enough})
	lapsed := on("TLapsed", fixture.Coin{Key: "lapsed", Amount: "7", Version: 1, Depth: fixture.Enough})
	booking := bookUnclaimed(w, operators.Debtor{Deposit: lapsed, Mode: tenant.Test}, "ada")
	m := w.Message(payment.Payment{Address: "TAsked"}, fixture.Coin{Key: "asked", Amount: "7", Version: 1, Depth: fixture.Enough})
	m.Mode = tenant.Live
	w.Deliver(m)
	if got := bookUnclaimed(w, operators.Debtor{Deposit: m.Key, Mode: tenant.Live, Asset: "USDT"}, "ada"); got != "waiting_for_second_operator" {
		t.Fatalf("BookUnclaimed() = %q, want a request that waits", got)
	}
	for name, c := range map[string]struct {
		mode          tenant.Mode
		deposit, want string
	}{
		"of nothing":            {tenant.Test, "tron:none:0", "deposit_not_found"},
		"of the other mode":     {tenant.Live, lapsed, "deposit_not_found"},
		"of a payment's money":  {tenant.Test, "tron:of:0", "deposit_attributed"},
		"of a shallow deposit":  {tenant.Test, on("TShallow", fixture.Coin{Key: "shallow", Amount: "7", Version: 1, Depth: 1}), "deposit_not_final"},
		"of a reverted deposit": {tenant.Test, on("TGone", fixture.Coin{Key: "gone", Amount: "7", Version: 2, Reverted: true}), "deposit_not_final"},
		"of unclaimed money":    {tenant.Test, lapsed, "money_unclaimed"},
		"of money that an operator asks to book as unclaimed": {tenant.Live, m.Key, "approval_open"},
		"without a deposit": {tenant.Test, "", "validation_failed"},
		"without a mode":    {"", lapsed, "validation_failed"},
	} {
		if got := adopt(w, c.mode, c.deposit); got != c.want {
			t.Errorf("an adoption %s = %q, want %s", name, got, c.want)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE type = 'stray'`); n != 0 {
		t.Errorf("%d stray payments after refused adoptions, want none", n)
	}
	if got := returnUnclaimed(w, booking); got != "" {
		t.Fatalf("ReturnUnclaimed() = %q, want no error", got)
	}
	if got := adopt(w, tenant.Test, lapsed); !id.IsPayment(got) {
		t.Errorf("an adoption of returned money = %q, want a payment", got)
	}
	if got := bookUnclaimed(w, operators.Debtor{Deposit: lapsed, Mode: tenant.Test}, "ada"); got != "deposit_not_found" {
		t.Errorf("a booking of an adopted deposit = %q, want deposit_not_found", got)
	}
	agreed(w)
}

// Adopted money is booked as unclaimed and returned as that of any payment.
func TestAdopt_thenUnclaimed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	p := adopt(w, tenant.Test, strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough}))
	booking := bookUnclaimed(w, operators.Debtor{PaymentID: p, Asset: "USDT"}, "ada")
	if got := owes(w); len(got) != 0 || balance(w, "unclaimed:USDT") != "7" {
		t.Errorf("after booking %q, %q are owed, want nothing and 7 unclaimed", booking, got)
	}
	if got := returnUnclaimed(w, booking); got != "" {
		t.Fatalf("ReturnUnclaimed(%s) = %q, want no error", booking, got)
	}
	if got := owes(w); len(got) != 1 || got[0] != "payer "+p+" 7 USDT" {
		t.Errorf("%q are owed after the return, want 7 USDT of %s", got, p)
	}
	agreed(w)
}

// A stray payment is found by operators alone, and they see no reference and no page of it.
func TestAdopt_seenByOperatorsAlone(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(2)
	w.Make(fixture.Command())
	p := byID(w, adopt(w, tenant.Test, strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})))
	nobody := tenant.Owner{Mode: tenant.Test}
	for name, find := range map[string]func() error{
		"by its merchant": func() error {
			_, err := w.Reader.Show(t.Context(), nobody, p.Reference)
			return err
		},
		"by anybody": func() error {
			_, _, _, err := w.Operators.Access.Open(t.Context(), p.Reference, idempotency.Key{})
			return err
		},
		"for a refund of its merchant": func() error {
			_, err := w.Refunds.Request(t.Context(), nobody, p.Reference, refunds.Order{Reason: "r"}, &fault.Problems{}, idempotency.Key{})
			return err
		},
	} {
		if err := find(); fault.As(err).Kind != fault.NotFound {
			t.Errorf("finding a stray payment %s = %v, want not found", name, err)
		}
	}
	for name, list := range map[string]func() ([]byte, error){
		"in review": func() ([]byte, error) {
			return w.ListAll(t.Context(), views.Filter{Limit: 9, Statuses: []payment.Status{payment.StatusNeedsReview}})
		},
		"all":  func() ([]byte, error) { return w.ListAll(t.Context(), views.Filter{Limit: 9}) },
		"held": func() ([]byte, error) { return w.Holds(t.Context(), "", 9) },
	} {
		body, err := list()
		var answer struct {
			Payments []struct {
				ID, Type, CheckoutURL string
				Reference             *string
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatalf("the list %s is %s: %v", name, body, err)
		}
		found := false
		for _, row := range answer.Payments {
			if row.ID == p.ID {
				found = row.Type == "stray" && row.Reference == nil && row.CheckoutURL == ""
			}
		}
		if err != nil || !found {
			t.Errorf("the list %s of operators is %s, %v; want the stray payment without reference and page", name, body, err)
		}
	}
	owners, err := w.Store.List(t.Context(), views.Filter{Owner: fixture.Owner, Limit: 9})
	if err != nil || len(owners) != 1 || owners[0].Payment.ID == p.ID {
		t.Errorf("the list of a merchant has %d payments, %v; want its own one", len(owners), err)
	}
}

// The list of holds shows operators what was decided about the senders of stray money before it had a payment.
func TestAdopt_ofListedSenders(t *testing.T) {
	t.Parallel()
	w, screener := fixture.Screened(t)
	screener.Set(false, fixture.DirtySender)
	var first string
	for key, sender := range map[string]string{"s1": fixture.DirtySender, "s2": fixture.CleanSender} {
		m := w.Message(payment.Payment{Address: nobodys}, fixture.Coin{Key: key, Amount: "7", Version: 1, Depth: fixture.Enough})
		m.Senders = []string{sender}
		w.Deliver(m)
		first = m.Key
	}
	p := adopt(w, tenant.Test, first)
	body, err := w.Holds(t.Context(), "", 9)
	var answer struct {
		Payments []struct {
			ID         string
			Screenings []struct{ Stage, Verdict, Reason string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("the list of holds is %s: %v", body, err)
	}
	if err != nil || len(answer.Payments) != 1 || answer.Payments[0].ID != p {
		t.Fatalf("the list of holds is %s, %v; want payment %s", body, err, p)
	}
	var got []string
	for _, s := range answer.Payments[0].Screenings {
		got = append(got, s.Stage+" "+s.Verdict+" "+s.Reason)
	}
	slices.Sort(got)
	if want := []string{"deposit clear ", "deposit hit sanctioned_address"}; !slices.Equal(got, want) {
		t.Errorf("the list of holds shows the decisions %q about the senders, want %q", got, want)
	}
	if got := byID(w, p).Screening; got != payment.Hit {
		t.Errorf("the verdict of the payment is %q, want %q", got, payment.Hit)
	}
}

// A chain takes adopted money back and mines it again; the books follow, also while a refund holds it.
func TestAdopt_reorganised(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	key := strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})
	p := payment.Payment{ID: adopt(w, tenant.Test, key)}
	strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 2, Reverted: true})
	w.Want(p, "needs_review reorged")
	if got := owes(w); len(got) != 0 {
		t.Errorf("%q are owed while the money is gone, want nothing", got)
	}
	agreed(w)
	strayCoin(w, fixture.Coin{Key: "s1", Amount: "6", Version: 3, Depth: fixture.Enough, Block: "other"})
	w.Want(p, "needs_review wrong_asset")
	if got := owes(w); len(got) != 1 || got[0] != "payer "+p.ID+" 6 USDT" {
		t.Errorf("%q are owed after the money was mined again with another amount, want 6 USDT of %s", got, p.ID)
	}
	if again := adopt(w, tenant.Test, key); again != p.ID {
		t.Errorf("an adoption after the reorganisation = %q, want %s", again, p.ID)
	}
	if got := refundTo(w, p.ID, payersTron); got != "" {
		t.Fatalf("ConfirmRefundAddress() = %q, want no error", got)
	}
	payBack(w, p, "6")
	strayCoin(w, fixture.Coin{Key: "s1", Amount: "6", Version: 4, Reverted: true})
	agreed(w)
	if got := balance(w, "suspense:USDT"); got != "-6" {
		t.Errorf("suspense holds %s USDT after refunded money was lost, want the loss of 6", got)
	}
}

// waiting waits until so many sessions of the database wait for a lock.
func waiting(w *fixture.Payments, sessions int) {
	w.T.Helper()
	for limit := time.Now().Add(10 * time.Second); ; {
		n := fixture.Ask[int](w, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		if n >= sessions {
			return
		}
		if time.Now().After(limit) {
			w.T.Fatalf("%d sessions wait for a lock, want %d", n, sessions)
		}
	}
}

// An adoption and a message about the same address take turns, in either order. The money of both belongs to the
// payment.
func TestAdopt_whileMoneyComes(t *testing.T) {
	t.Parallel()
	for name, adoptsFirst := range map[string]bool{"the adoption first": true, "the message first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			key := strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough})
			known := strayCoin(w, fixture.Coin{Key: "s2", Amount: "5", Version: 1, Depth: 1})
			tx, err := w.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if _, err := tx.Exec(t.Context(), `SELECT FROM deposits WHERE key = $1 FOR UPDATE`, known); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			adopts := func() { all.Go(func() { adopt(w, tenant.Test, key) }) }
			comes := func() {
				all.Go(func() {
					strayCoin(w, fixture.Coin{Key: "s2", Amount: "5", Version: 2, Depth: fixture.Enough})
				})
			}
			order := []func(){comes, adopts}
			if adoptsFirst {
				comes = func() {
					all.Go(func() {
						strayCoin(w, fixture.Coin{Key: "s3", Amount: "5", Version: 1, Depth: fixture.Enough})
					})
				}
				order = []func(){adopts, comes}
			}
			for i, begin := range order {
				begin()
				waiting(w, i+1)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			all.Wait()
			p := adopt(w, tenant.Test, key)
			if got := owes(w); len(got) != 1 || got[0] != "payer "+p+" 12 USDT" {
				t.Errorf("%q are owed, want 12 USDT of %s", got, p)
			}
			if n := fixture.Ask[int](w, `SELECT count(*) FROM deposits WHERE payment_id IS DISTINCT FROM $1`, p); n != 0 {
				t.Errorf("%d deposits of the address do not belong to its payment, want none", n)
			}
			agreed(w)
		})
	}
}

// Adoptions, bookings as unclaimed and messages about the same money race. The money is in one place, and the address
// has one payment at most.
func TestAdopt_race(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	for round := range 8 {
		address := fmt.Sprint("TNobody", round)
		see := func(key string, version, depth int64) string {
			m := w.Message(payment.Payment{Address: address}, fixture.Coin{Key: fmt.Sprint(key, round), Amount: "7", Version: version, Depth: depth})
			w.Deliver(m)
			return m.Key
		}
		first := see("a", 1, fixture.Enough)
		var all sync.WaitGroup
		var lock sync.Mutex
		var results []string
		try := func(f func() string) {
			all.Go(func() {
				got := f()
				lock.Lock()
				defer lock.Unlock()
				results = append(results, got)
			})
		}
		for i := range 3 {
			try(func() string { return adopt(w, tenant.Test, first) })
			try(func() string { return bookUnclaimed(w, operators.Debtor{Deposit: first, Mode: tenant.Test}, "ada") })
			try(func() string { return see(fmt.Sprint("b", i), 1, fixture.Enough) })
			try(func() string { return see("a", int64(2+i), fixture.Enough+int64(i)) })
		}
		all.Wait()
		made := fixture.Ask[[]string](w, `SELECT coalesce(array_agg(id), '{}') FROM payments WHERE address = $1`, address)
		lapsed := fixture.Ask[int](w, `SELECT count(*) FROM unclaimed WHERE deposit = $1`, first)
		if len(made)+lapsed != 1 {
			t.Errorf("round %d: %d payments and %d bookings of the same money, want one of them: %q", round, len(made), lapsed, results)
		}
		if len(made) == 1 && !slices.Contains(results, made[0]) {
			t.Errorf("round %d: the answers are %q, want payment %s among them", round, results, made[0])
		}
		ofNone := fixture.Ask[int](w, `SELECT count(*) FROM deposits WHERE address = $1 AND payment_id IS NULL`, address)
		if want := 4 * lapsed; ofNone != want {
			t.Errorf("round %d: %d of 4 deposits have no payment, want %d", round, ofNone, want)
		}
	}
	agreed(w)
	if _, _, err := w.Store.MakeOwed(t.Context()); err != nil {
		t.Fatalf("MakeOwed() = %v, want no error", err)
	}
	owed := fixture.Ask[decimal.Decimal](w, `SELECT sum(amount) FROM owed`)
	lapsed := decimal.RequireFromString(balance(w, "unclaimed:USDT"))
	if want := decimal.New(8*4*7, 0); !owed.Add(lapsed).Equal(want) {
		t.Errorf("%s USDT are owed and %s unclaimed, want %s together", owed, lapsed, want)
	}
}

// An adoption under a key is made once, and its answer is given again.
func TestAdopt_underAKey(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	o := operators.AdoptOrder{
		Mode: tenant.Test, Deposit: strayCoin(w, fixture.Coin{Key: "s1", Amount: "7", Version: 1, Depth: fixture.Enough}), Operator: "ada", Reason: "r",
	}
	var answers []string
	for _, key := range []string{"k1", "k1", "k2"} {
		a, err := w.Operators.Adopt(t.Context(), o, &fault.Problems{}, idempotency.Key{Scope: "operators", Key: key})
		if err != nil {
			t.Fatalf("Adopt() under key %s = %v, want no error", key, err)
		}
		answers = append(answers, fmt.Sprint(a.Status, " ", string(a.Body)))
	}
	if answers[0] != answers[1] || !strings.HasPrefix(answers[0], fmt.Sprint(change.StatusCreated)) || !strings.HasPrefix(answers[2], fmt.Sprint(change.StatusOK)) {
		t.Errorf("the answers are %q, want 201 twice and then 200", answers)
	}
}
