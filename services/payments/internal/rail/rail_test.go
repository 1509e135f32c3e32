package rail

import (
	"errors"
	"fmt"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payout"
)

func TestOnlyADefiniteAnswerIsOne(t *testing.T) {
	wire := errors.New("connection reset by peer")
	for _, c := range []struct {
		status        Status
		err           error
		sent, queried payout.Seen
	}{
		{Status{State: Pending}, nil, payout.Accepted, payout.Accepted},
		{Status{State: ActionRequired}, nil, payout.Accepted, payout.Accepted},
		{Status{State: Succeeded}, nil, payout.Success, payout.Success},
		{Status{State: Failed}, nil, payout.Failure, payout.Failure},
		{Status{State: Returned}, nil, payout.GaveBack, payout.GaveBack},
		{Status{State: "otp"}, nil, payout.Unsure, payout.Unsure},
		{Status{}, wire, payout.Unsure, payout.Unsure},
		{Status{State: Succeeded}, wire, payout.Unsure, payout.Unsure},
		{Status{}, ErrDuplicate, payout.Unsure, payout.Unsure},
		{Status{}, ErrUnavailable, payout.Unsure, payout.Unsure},
		{Status{}, fmt.Errorf("send: %w", ErrRefused), payout.Refused, payout.Unsure},
		{Status{}, fmt.Errorf("send: %w", ErrNoFunds), payout.NoFunds, payout.Unsure},
		{Status{}, fmt.Errorf("query: %w", ErrNoSuchRef), payout.Unsure, payout.NoSuchRef},
	} {
		if got := Sent(c.status, c.err); got.Seen != c.sent {
			t.Errorf("sent %+v %v: %s, want %s", c.status, c.err, got.Seen, c.sent)
		}
		if got := Queried(c.status, c.err); got.Seen != c.queried {
			t.Errorf("queried %+v %v: %s, want %s", c.status, c.err, got.Seen, c.queried)
		}
	}
}

func TestBankTable(t *testing.T) {
	for _, cur := range money.Currencies() {
		seen := map[string]string{}
		for _, b := range banks[cur] {
			for _, code := range b.Codes {
				if other, ok := seen[code]; ok {
					t.Errorf("%s: code %s is %s and %s", cur, code, b.Name, other)
				}
				seen[code] = b.Name
			}
		}
		if len(KnownBanks(cur)) == 0 {
			t.Errorf("no banks for %s", cur)
		}
	}
	for _, c := range []struct {
		cur        money.Currency
		code, name string
	}{
		{money.NGN, "058", "Guaranty Trust Bank"},
		{money.NGN, "000013", "Guaranty Trust Bank"},
		{money.GHS, "gh280100", "Access Bank Ghana"},
		{money.KES, "1", "KCB Bank"},
		{money.ZAR, "fnb", "First National Bank"},
	} {
		if name, ok := BankName(c.cur, c.code); !ok || name != c.name {
			t.Errorf("BankName(%s, %s) = %q, %t; want %q", c.cur, c.code, name, ok, c.name)
		}
	}
	if _, ok := BankName(money.ZAR, "058"); ok {
		t.Error("a Nigerian code is no South African bank")
	}
	if name, ok := AnyBankName(money.ZAR, "058"); !ok || name != "Guaranty Trust Bank" {
		t.Errorf("any bank 058: %q", name)
	}
}
