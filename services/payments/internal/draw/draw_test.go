package draw_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	. "causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

// Every listed pair has a first fee, a setting replaces single ones, and a fee is below what is worth collecting, so
// that a withdrawal is worth its fee.
func TestParseFees(t *testing.T) {
	first, err := ParseFees("")
	if err != nil {
		t.Fatalf("read the first fees: got %v, want no error", err)
	}
	for _, n := range money.Networks() {
		for _, a := range n.Assets {
			fee, ok := first[quote.Pair{Network: n.Name, Crypto: a.Symbol}]
			if !ok || !fee.IsPositive() || fee.GreaterThan(a.Worthwhile) {
				t.Errorf("read the first fee of %s on %s: got %s, %t, want at most %s", a.Symbol, n.Name, fee, ok, a.Worthwhile)
			}
		}
	}
	changed, err := ParseFees("erc20/usdt=7.5, tron/TRX=none")
	if fee := changed[quote.Pair{Network: "ethereum", Crypto: "USDT"}]; err != nil || fee.String() != "7.5" {
		t.Errorf("read a changed fee: got %s, %v, want 7.5", fee, err)
	}
	if _, ok := changed[quote.Pair{Network: "tron", Crypto: "TRX"}]; ok || len(changed) != len(first)-1 {
		t.Errorf("take the fee of a pair away: got %d fees, want one less than %d", len(changed), len(first))
	}
	for _, text := range []string{"ethereum/USDT", "ethereum/USDT=-1", "ethereum/USDT=0.1234567", "base/USDT=1", "mars/USDT=1", "tron/USDT=x"} {
		if _, err := ParseFees(text); err == nil {
			t.Errorf("read the fees %q: got no error, want one", text)
		}
	}
}

// Contracts of a private chain replace listed ones, in the form that orders have.
func TestParseContracts(t *testing.T) {
	const own = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
	found, err := ParseContracts("erc20/usdt=0x5fbdb2315678afecb367f032d93f642f64180aa3, ")
	if got := found[quote.Pair{Network: "ethereum", Crypto: "USDT"}]; err != nil || got != own || len(found) != 1 {
		t.Errorf("read the contract of USDT on ethereum: got %q of %d, %v, want %s", got, len(found), err, own)
	}
	for _, text := range []string{"ethereum/ETH=" + own, "ethereum/USDT", "ethereum/USDT=0x1", "base/USDT=" + own, "mars/USDT=" + own, "tron/USDT=" + own} {
		if _, err := ParseContracts(text); err == nil {
			t.Errorf("read the contracts %q: got no error, want one", text)
		}
	}
}

func TestParseLimits(t *testing.T) {
	l, err := ParseLimits("10000, acme=200000,a=b=5")
	if err != nil || l.Of("other").String() != "10000" || l.Of("acme").String() != "200000" || l.Of("a=b").String() != "5" {
		t.Errorf("read limits: got %+v, %v, want those of three merchants", l, err)
	}
	for _, text := range []string{"", "acme=5", "1,2", "1,acme=x", "1,acme=-5", "1,acme=2,acme=3"} {
		if _, err := ParseLimits(text); err == nil {
			t.Errorf("read the limits %q: got no error, want one", text)
		}
	}
}

// A withdrawal has the life of a refund, and a merchant gets one event for each state.
func TestApply(t *testing.T) {
	now := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	d := Draw{Refund: refund.Refund{
		ID: "wwd_1", Mode: tenant.Live, Network: "ethereum", Asset: "USDT", Contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
		Amount: decimal.RequireFromString("12.5"), Address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", State: refund.Requested, Version: 1,
	}, Sequence: 1}
	for i, c := range []struct {
		trigger refund.Trigger
		state   refund.State
		told    bool
	}{
		{refund.Trigger{Name: refund.OnApprove, Approval: refund.Automatic}, refund.Approved, true},
		{refund.Trigger{Name: refund.OnTaken, Told: 1}, refund.Signing, true},
		{refund.Trigger{Name: refund.OnTaken, Told: 1}, refund.Signing, false},
		{refund.Trigger{Name: refund.OnCancel}, refund.Signing, false},
		{refund.Trigger{Name: refund.OnBroadcast, Told: 2, TxHash: "0x1"}, refund.Sent, true},
		{refund.Trigger{Name: refund.OnBroadcast, Told: 3, TxHash: "0x2"}, refund.Sent, false},
		{refund.Trigger{Name: refund.OnFinal, Told: 4, TxHash: "0x2"}, refund.Confirmed, true},
		{refund.Trigger{Name: refund.OnReorged, Told: 5, TxHash: "0x2"}, refund.Sent, true},
		{refund.Trigger{Name: refund.OnFailed, Told: 6, Failure: "reverted"}, refund.Failed, true},
	} {
		next, told, err := d.Apply(c.trigger, now)
		want := d.Sequence
		if c.told {
			want++
		}
		if err != nil || next.State != c.state || told != c.told || next.Sequence != want {
			t.Errorf("step %d, %s: got %s, announced %t, sequence %d, %v, want %s, %t, %d", i, c.trigger.Name, next.State, told, next.Sequence, err, c.state, c.told, want)
		}
		d = next
		if o := d.Order(); o.Check() != nil || o.Kind != "withdrawal" || o.Amount != "12500000" {
			t.Errorf("step %d: got the order %+v, %v, want a withdrawal of 12500000 units", i, o, o.Check())
		}
	}
}
