//go:build integration

package checkouts_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
)

const (
	payers   = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	another  = "TXLAQ63Xg1NAzckPwKHvzw7CSEmLMEqcdj"
	inStock  = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"
	wallets  = "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL"
	deposits = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
)

// owing makes a payment that was paid after its cancellation.
func owing(w *fixture.Payments) payment.Payment {
	w.T.Helper()
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(w.T.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		w.T.Fatalf("cancel payment %s: %v", p.ID, err)
	}
	w.See(p, fixture.Coin{Key: p.ID, Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	return p
}

func propose(w *fixture.Payments, p payment.Payment, to string) (string, error) {
	w.T.Helper()
	a, err := w.Checkouts.ProposeRefundAddress(w.T.Context(), p.Reference, to, &fault.Problems{}, idempotency.Key{})
	return string(a.Body), err
}

func confirm(w *fixture.Payments, o tenant.Owner, p payment.Payment, to string) (string, error) {
	w.T.Helper()
	a, err := w.Merchants.ConfirmRefundAddress(w.T.Context(), o, p.Reference, to, &fault.Problems{}, idempotency.Key{})
	return string(a.Body), err
}

// proposals tells the proposed and the effective address, and how many proposals were counted.
func proposals(w *fixture.Payments, p payment.Payment) string {
	w.T.Helper()
	return fixture.Ask[string](w, `SELECT refund_address_proposed || '/' || refund_address || '/' || refund_proposals FROM payments WHERE id = $1`, p.ID)
}

// Every address that money must not go to is refused, with its reason, at the proposal and again at the confirmation.
func TestProposeRefundAddress_addresses(t *testing.T) {
	t.Parallel()
	w, s := fixture.Screened(t)
	w.Fill(8)
	w.SQL(`INSERT INTO address_stock (mode, family, address, wallet_id) VALUES ('test', 'tron', $1, 'wal_1')`, inStock)
	w.SQL(`INSERT INTO own_addresses (mode, family, address) VALUES ('live', 'tron', $1)`, wallets)
	other := w.Make(fixture.Command())
	w.SQL(`UPDATE payments SET address = $2 WHERE id = $1`, other.ID, deposits)
	s.Set(false, another)
	for name, c := range map[string]struct {
		to, says string
		counted  bool
	}{
		"none":                    {"", "is required", false},
		"no address":              {"nonsense", "is no address of the payment's network", false},
		"another family":          {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "is no address of the payment's network", false},
		"a wrong checksum":        {payers[:33] + "u", "fails its checksum: a character was changed", false},
		"a deposit address":       {deposits, "belongs to this service, not to the payer", true},
		"an address of the stock": {inStock, "belongs to this service, not to the payer", true},
		"a treasury":              {wallets, "belongs to this service, not to the payer", true},
		"a listed address":        {another, "cannot be used", true},
	} {
		p := owing(w)
		_, err := propose(w, p, c.to)
		if f := fault.As(err).Fields; len(f) != 1 || f[0].Field != "address" || f[0].Message != c.says {
			t.Errorf("%s: propose = %v, want the field address, which %s", name, err, c.says)
		}
		want := "//0"
		if c.counted {
			want = "//1"
		}
		if got := proposals(w, p); got != want {
			t.Errorf("%s: the payment has %q, want %q", name, got, want)
		}
		w.SQL(`UPDATE payments SET refund_address_proposed = $2 WHERE id = $1`, p.ID, c.to)
		if _, err := confirm(w, fixture.Owner, p, c.to); len(fault.As(err).Fields) != 1 {
			t.Errorf("%s: confirm = %v, want the field address", name, err)
		}
		if to := fixture.Ask[string](w, `SELECT refund_address FROM payments WHERE id = $1`, p.ID); to != "" {
			t.Errorf("%s: refunds go to %s", name, to)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM screenings WHERE stage = 'refund' AND verdict = 'hit'`); n != 1 {
		t.Errorf("%d hits are kept, want the one of the proposal", n)
	}
	s.Set(true)
	if _, err := propose(w, owingWhile(w, s), payers); fault.As(err).Kind != fault.Unavailable {
		t.Errorf("propose without a screener: %v, want a refusal that passes", err)
	}
}

// owingWhile makes a payment while the screener answers, and takes it down again.
func owingWhile(w *fixture.Payments, s *fixture.Screener) payment.Payment {
	w.T.Helper()
	s.Set(false)
	p := owing(w)
	s.Set(true)
	return p
}

// The payer proposes and the merchant confirms: the page, GET and the events show each step in order.
func TestProposeRefundAddress_isConfirmed(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := owing(w)
	before := len(w.Events(p))
	body, err := propose(w, p, payers)
	if err != nil || body != `{"success":true,"refund":{"refundAddressProposed":"`+payers+`"}}` {
		t.Fatalf("propose = %s %v", body, err)
	}
	if shown := w.Shown(w.Find(p.Reference)); !strings.Contains(shown, `"refundAddressProposed":"`+payers+`"`) || strings.Contains(shown, `"refundAddress":`) {
		t.Errorf("GET after a proposal: %s", shown)
	}
	page, _, err := w.Checkouts.Checkout(t.Context(), p.Reference)
	if err != nil || !strings.Contains(string(page), `"takesRefundAddress":true`) || !strings.Contains(string(page), `"refundAddressProposed":"`+payers+`"`) {
		t.Errorf("checkout after a proposal: %s %v", page, err)
	}
	if _, err := confirm(w, fixture.Owner, p, another); fault.As(err).Code != "refund_address_not_proposed" {
		t.Errorf("confirm another address: %v, want refund_address_not_proposed", err)
	}
	for _, o := range []tenant.Owner{{MerchantID: "m2", Mode: tenant.Test}, {MerchantID: fixture.Owner.MerchantID, Mode: tenant.Live}} {
		if _, err := confirm(w, o, p, payers); fault.As(err).Code != change.ErrNotFound.Code {
			t.Errorf("confirm as %+v: %v, want %v", o, err, change.ErrNotFound)
		}
	}
	body, err = confirm(w, fixture.Owner, p, payers)
	if err != nil || body != `{"success":true,"refund":{"reference":"`+p.Reference+`","network":"`+p.NetworkName+`","address":"`+payers+`"}}` {
		t.Errorf("confirm = %s %v", body, err)
	}
	told := w.Events(p)[before:]
	for i, want := range []string{payment.EventRefundAddressProposed, payment.EventRefundAddressChanged} {
		if len(told) != 2 || !strings.HasSuffix(told[i], want) {
			t.Fatalf("events %q, want a proposal and a change", told)
		}
	}
	var m wire.StatusChanged
	last := fixture.Ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1 ORDER BY id DESC LIMIT 1`, string(wire.PaymentStatusChangedV1))
	if err := json.Unmarshal(last, &m); err != nil || !strings.Contains(string(m.Body), `"refundAddress":"`+payers+`"`) ||
		!strings.Contains(string(m.Body), `"status":"needs_review"`) {
		t.Errorf("the event is %s %v, want the whole payment with its refund address", m.Body, err)
	}
}

// A live payment's change says how long it is held.
func TestRefundAddress_heldUntil(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := owing(w)
	w.SQL(`UPDATE payments SET mode = 'live' WHERE id = $1`, p.ID)
	before := fixture.Ask[time.Time](w, `SELECT now()`)
	if _, err := propose(w, p, payers); err != nil {
		t.Fatal(err)
	}
	live := tenant.Owner{MerchantID: fixture.Owner.MerchantID, Mode: tenant.Live}
	body, err := confirm(w, live, p, payers)
	if err != nil || !strings.Contains(body, `"heldUntil":"`) {
		t.Errorf("confirm = %s %v, want the end of the hold", body, err)
	}
	until := fixture.Ask[time.Time](w, `SELECT refund_address_from FROM payments WHERE id = $1`, p.ID)
	if hold := until.Sub(before); hold < 24*time.Hour || hold > 24*time.Hour+time.Minute {
		t.Errorf("held for %s, want 24 hours", hold)
	}
	shown, err := w.Reader.Show(t.Context(), live, p.Reference)
	if err != nil || !strings.Contains(string(shown), `"refundAddressHeldUntil":"`) {
		t.Errorf("GET shows %s %v, want the end of the hold", shown, err)
	}
}

// Of any number of parallel proposals a payment takes five.
func TestProposeRefundAddress_bounded(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := owing(w)
	all := []string{payers, another, inStock, wallets, deposits, "TCzNzG7DvdeiwtXcCFhu6pARjW4dF8MDeU", "TD5gsCwxykWsLN9aPrq2TAfNjByuZKYp4E"}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var codes []string
	for _, to := range all {
		wg.Go(func() {
			_, err := propose(w, p, to)
			mu.Lock()
			defer mu.Unlock()
			codes = append(codes, fault.As(err).Code)
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(slices.Clone(codes), func(c string) bool { return c != "too_many_proposals" })); n != len(all)-5 {
		t.Errorf("%d parallel proposals: %q, want %d refused as too many", len(all), codes, len(all)-5)
	}
	if got := proposals(w, p); !strings.HasSuffix(got, "/5") {
		t.Errorf("the payment has %q, want 5 proposals", got)
	}
}

// An operator confirms a gift's proposal by the payment's id and sees no reference, and the audit keeps who, what and
// why.
func TestConfirmRefundAddress_byAnOperator(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	c := fixture.Command()
	c.Type, c.Receiver = string(payment.Gift), nil
	p := w.Make(c)
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	if _, err := propose(w, p, payers); err != nil {
		t.Fatal(err)
	}
	order := operators.RefundAddressOrder{Operator: "ada", Address: payers, Reason: "the payer called"}
	decide := func(o operators.RefundAddressOrder) (idempotency.Answer, error) {
		return w.Operators.ConfirmRefundAddress(t.Context(), p.ID, o, &fault.Problems{}, idempotency.Key{})
	}
	for name, o := range map[string]operators.RefundAddressOrder{
		"no reason":       {Operator: "ada", Address: payers},
		"another address": {Operator: "ada", Address: another, Reason: "a guess"},
	} {
		if _, err := decide(o); err == nil {
			t.Errorf("%s: the operator's confirmation is taken", name)
		}
	}
	a, err := decide(order)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("confirm as an operator = %d %v", a.Status, err)
	}
	if body := string(a.Body); !strings.Contains(body, `"refundAddress":"`+payers+`"`) || strings.Contains(body, p.Reference) {
		t.Errorf("the operator sees %s, want the address and no reference", body)
	}
	note := fixture.Ask[string](w, `SELECT operator || ' ' || action || ' ' || detail::text FROM audit ORDER BY id DESC LIMIT 1`)
	if !strings.HasPrefix(note, "ada confirm_refund_address ") || !strings.Contains(note, payers) || !strings.Contains(note, "the payer called") ||
		!strings.Contains(note, p.ID) || strings.Contains(note, p.Reference) {
		t.Errorf("the audit has %s", note)
	}
}
