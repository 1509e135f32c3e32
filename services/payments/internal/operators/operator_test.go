package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/views"
)

// TestAdopted_bounded: anybody can send money to an address, so the answer shows a bounded part, the named deposit
// first.
func TestAdopted_bounded(t *testing.T) {
	var s Stray
	for n := range 150 {
		s.Deposits = append(s.Deposits, StrayDeposit{Deposit: payment.Deposit{Key: fmt.Sprint("k", n), Network: "tron", Asset: "USDT"}})
	}
	r, err := adopted(Adoption{Deposit: "k149"}, s, change.StatusCreated)
	var got struct {
		Deposits []struct{ Key string }
		Total    int
	}
	if err != nil || json.Unmarshal(r.Answer.Body, &got) != nil {
		t.Fatalf("adopted() = %s, %v, want an answer", r.Answer.Body, err)
	}
	if len(got.Deposits) != 100 || got.Total != 150 || got.Deposits[0].Key != "k149" || got.Deposits[1].Key != "k0" {
		t.Errorf("adopted() with 150 deposits shows %d of %d, first %s, want 100 of 150, first k149", len(got.Deposits), got.Total, got.Deposits[0].Key)
	}
}

// Every order counts the amount that it moves; a live payment to another account needs two operators at any amount, and
// so does the end of a live stray payment.
func TestNeedsSecond(t *testing.T) {
	bounded := &Operators{SecondAbove: map[money.Currency]decimal.Decimal{money.NGN: decimal.New(1000, 0)}}
	first := payment.Receiver{BankCode: "058", AccountNumber: "0123456789", AccountName: "ADA"}
	renamed, other := first, first
	renamed.AccountName, other.AccountNumber = "ADA OBI", "1111111111"
	for name, c := range map[string]struct {
		mode     tenant.Mode
		currency money.Currency
		amount   int64
		action   string
		to       payment.Receiver
		want     bool
	}{
		"an accept of the quote, small":      {tenant.Live, money.NGN, 1000, ActionAccept, first, false},
		"an accept of the quote, large":      {tenant.Live, money.NGN, 1001, ActionAccept, first, true},
		"a retry to the same account, small": {tenant.Live, money.NGN, 1000, ActionRetry, renamed, false},
		"a retry to the same account, large": {tenant.Live, money.NGN, 1001, ActionRetry, renamed, true},
		"a retry to another account, small":  {tenant.Live, money.NGN, 1, ActionRetry, other, true},
		"another account of a test payment":  {tenant.Test, money.NGN, 1, ActionRetry, other, false},
		"a refund, large":                    {tenant.Live, money.NGN, 1001, ActionRefunded, first, true},
		"a currency without a bound":         {tenant.Live, money.GHS, 1001, ActionRetry, other, false},
	} {
		before := payment.Payment{Mode: c.mode, Currency: c.currency, Receiver: first, FiatAmount: decimal.New(c.amount, 0)}
		before.Quote.PayoutAmount = decimal.New(c.amount, 0)
		after := before
		after.Receiver = c.to
		if got := bounded.needsSecond(change.View{Payment: before}, after, c.action); got != c.want {
			t.Errorf("needsSecond(%s) = %t, want %t", name, got, c.want)
		}
	}
	for mode, want := range map[tenant.Mode]bool{tenant.Live: true, tenant.Test: false} {
		stray := payment.Payment{Mode: mode, Type: payment.Stray}
		if got := bounded.needsSecond(change.View{Payment: stray}, stray, ActionRefunded); got != want {
			t.Errorf("needsSecond(a refund of a stray payment in mode %s) = %t, want %t", mode, got, want)
		}
	}
}

// waiting is a store with one row for each list of operators.
type waiting struct {
	Store
	view change.View
}

func (w waiting) List(context.Context, views.Filter) ([]change.View, error) {
	return []change.View{w.view}, nil
}

func (w waiting) Holds(context.Context, string, int) ([]Held, error) {
	return []Held{{View: w.view}}, nil
}

func (w waiting) Doubts(context.Context, string, int) ([]payout.Payout, error) {
	return []payout.Payout{*w.view.Payout}, nil
}

// No list shows an operator a gift's reference, nor a link or a text with it; lists show the references of all other
// payments.
func TestOperators_seeNoGift(t *testing.T) {
	const gift, other, old = "CW-GABCDEFGHJKMN", "CW-7KQ2M9XHTB4N", "CW-2KQ2M9XHTB4N"
	for name, c := range map[string]struct {
		kind      payment.Type
		reference string
		lists     int // that show the reference
	}{
		"a gift":                        {payment.Gift, gift, 0},
		"a gift of a release before":    {payment.Gift, old, 1}, // as its payout's, when it is claimed
		"a transfer":                    {payment.Transfer, other, 3},
		"a request, which anybody pays": {payment.Request, other, 3},
	} {
		p := payment.Payment{ID: "pay_1", Reference: c.reference, Type: c.kind, Metadata: []byte(`{"for":"` + gift + `"}`)}
		paid := payout.Payout{ID: "pyo_1", Reference: payout.Reference(c.reference, 1), Answer: "no " + payout.Reference(gift, 1), Reason: "ask about " + gift}
		from := waiting{view: change.View{Payment: p, Payout: &paid}}
		a := &Operators{Store: from, Access: &access.Payments{}, Render: views.Renderer{PublicURL: "https://x.example"}}
		shows := 0
		for list, read := range map[string]func() ([]byte, error){
			"payments": func() ([]byte, error) { return a.ListAll(t.Context(), views.Filter{Limit: 1}) },
			"holds":    func() ([]byte, error) { return a.Holds(t.Context(), "", 1) },
			"payouts":  func() ([]byte, error) { return a.Doubts(t.Context(), "", 1) },
		} {
			body, err := read()
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ToUpper(string(body))
			if strings.Contains(text, gift) {
				t.Errorf("%s: the list of %s shows the gift: %s", name, list, body)
			}
			if strings.Contains(text, c.reference) {
				shows++
			} else if !strings.Contains(text, `"REFERENCE":NULL`) {
				t.Errorf("%s: the list of %s has no reference: %s", name, list, body)
			}
		}
		if shows != c.lists {
			t.Errorf("%s: %d lists show its reference, want %d", name, shows, c.lists)
		}
	}
}
