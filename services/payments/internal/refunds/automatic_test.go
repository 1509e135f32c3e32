package refunds

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// live is a payment of live mode that was cancelled and then got 100 USDT, each worth 1600 NGN.
func live() change.View {
	p := payment.Payment{
		ID: "pay_1", Mode: tenant.Live, Currency: money.NGN, Hold: payment.HoldLate, RefundAddress: "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		Quote: quote.Quote{Network: "ethereum", Crypto: "USDT", Rate: quote.Rate{Value: dec("1600"), USD: dec("1600")}},
	}
	return change.View{Payment: p, Rows: []payment.Deposit{{
		Key: "a", Network: "ethereum", Asset: "USDT", Contract: "0xdac17f958d2ee523a2206206994597c13d831ec7", Amount: dec("100"), Booked: "suspense",
		BookedAmount: dec("100"), BlockHeight: 1, Depth: 64, Screening: payment.Clear, Witness: "confirmed",
	}}}
}

func keys() Keys {
	return Keys{refund.Automatic: ed25519.NewKeyFromSeed(make([]byte, 32)), refund.ByOperator: ed25519.NewKeyFromSeed([]byte("another seed with 32 bytes......"))}
}

func TestAutomatic(t *testing.T) {
	for name, c := range map[string]struct {
		amount string
		edit   func(v *change.View)
		want   bool
	}{
		"within the bound":         {"50", func(*change.View) {}, true},
		"above the bound":          {"50.01", func(*change.View) {}, false},
		"together above the bound": {"30", func(v *change.View) { v.Refunds = []refund.Refund{of("30", refund.Confirmed)} }, false},
		"after a failed one": {"1", func(v *change.View) {
			v.Refunds = []refund.Refund{of("1", refund.Failed)}
			v.Refunds[0].Approval = refund.Automatic
		}, false},
		"after a request that nobody approved": {"50", func(v *change.View) { v.Refunds = []refund.Refund{of("30", refund.Failed)} }, true},
		"of a currency without a bound":        {"1", func(v *change.View) { v.Payment.Currency = money.ZAR }, false},
		"of listed senders":                    {"1", func(v *change.View) { v.Payment.Screening = payment.Hit }, false},
		"of one listed sender":                 {"1", func(v *change.View) { v.Rows[0].Screening = payment.Hit }, false},
		"held for screening":                   {"1", func(v *change.View) { v.Payment.Hold = payment.HoldScreening }, false},
		"that one host reports":                {"1", func(v *change.View) { v.Payment.Hold = payment.HoldUnverified }, false},
		"after a payout failed":                {"1", func(v *change.View) { v.Payment.Payout = payment.PayoutFailed }, false},
		"of unknown worth":                     {"1", func(v *change.View) { v.Payment.Quote.Crypto = "ETH" }, true}, // a stable coin has a worth
		"of another asset":                     {"1", func(v *change.View) { v.Rows[0].Asset = "ETH" }, true},
		"of a final deposit":                   {"1", func(v *change.View) { v.Rows[0].Depth, v.Rows[0].Finalized = 1, true }, true},
		"of a shallow deposit":                 {"1", func(v *change.View) { v.Rows[0].Depth = 1 }, false},
		"of a deposit that is too shallow for its worth": {"1", func(v *change.View) {
			v.Rows[0].Depth, v.Rows[0].Amount = 12, dec("2000")
		}, false},
		"of a deposit that was reorged away":        {"1", func(v *change.View) { v.Rows[0].Reverted = true }, false},
		"that no second host has confirmed":         {"1", func(v *change.View) { v.Rows[0].Witness = payment.WitnessPending }, false},
		"that a single host reports":                {"1", func(v *change.View) { v.Rows[0].Witness = payment.WitnessAlone }, false},
		"of senders that nobody judged":             {"1", func(v *change.View) { v.Rows[0].Screening = payment.Unscreened }, false},
		"of senders that were listed and overruled": {"1", func(v *change.View) { v.Rows[0].Screening = payment.Overruled }, false},
		"beside a shallow deposit of another asset": {"1", func(v *change.View) {
			v.Rows = append(v.Rows, payment.Deposit{Key: "b", Network: "ethereum", Asset: "ETH", Amount: dec("1"), Booked: "suspense", BlockHeight: 1, Depth: 1})
		}, true},
		"of test mode": {"100", func(v *change.View) { v.Payment.Mode = tenant.Test }, true},
	} {
		v := live()
		c.edit(&v)
		a := &Refunds{Policy: payment.Defaults(), Automatic: map[money.Currency]decimal.Decimal{money.NGN: dec("80000")}}
		a.Policy.WitnessUSD, a.Policy.Depths = dec("1000"), payment.Depths{"ethereum": {{Confirmations: 12, UpToUSD: dec("1000")}, {Confirmations: 64}}}
		if got := a.automatic(v, of(c.amount, refund.Requested)); got != c.want {
			t.Errorf("a refund %s approves itself: %t, want %t", name, got, c.want)
		}
	}
	v, eth := live(), of("1", refund.Requested)
	eth.Asset = "ETH"
	if (&Refunds{Automatic: map[money.Currency]decimal.Decimal{money.NGN: dec("80000")}}).automatic(v, eth) {
		t.Error("a refund of unknown worth approves itself, want operators")
	}
}

func of(amount string, s refund.State) refund.Refund {
	return refund.Refund{ID: "rfd_0", PaymentID: "pay_1", Mode: tenant.Live, Network: "ethereum", Asset: "USDT", Amount: dec(amount), State: s}
}

// The order of a refund is signed with the key of its approval, and names what the refund fixed.
func TestOrder(t *testing.T) {
	v, a := live(), &Refunds{Policy: payment.Defaults(), Signing: keys(), Networks: []string{"ethereum"}, Automatic: map[money.Currency]decimal.Decimal{money.NGN: dec("80000")}}
	to := destination{address: v.Payment.RefundAddress}
	amount := dec("12.5")
	r, made, err := a.request(v, Order{Amount: &amount, Reason: "r", Sender: "key 7"}, to, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for by, key := range keys() {
		_, approved, err := a.approve(v, r, made, by, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		m, err := a.Signing.order(approved)
		if err != nil {
			t.Fatal(err)
		}
		want := order.Order{
			Kind: order.Refund, ID: made.ID, Mode: tenant.Live, Network: "ethereum", Asset: "USDT", Contract: v.Rows[0].Contract, Amount: "12500000",
			To: v.Payment.RefundAddress, Approval: order.Approval(by),
		}
		if m.Order != want {
			t.Errorf("order %+v, want %+v", m.Order, want)
		}
		if err := m.Verify(key.Public().(ed25519.PublicKey)); err != nil {
			t.Errorf("the order that %s approved: %v", by, err)
		}
		if !m.Timed() || m.ApprovedAt.IsZero() || m.Order.Verify(key.Public().(ed25519.PublicKey), m.Signature) != nil {
			t.Errorf("sign the order that %s approved: got %+v, want a signature with its time and one without", by, m)
		}
		stored := approved // the database keeps microseconds
		stored.ApprovedAt = approved.ApprovedAt.Truncate(time.Microsecond).In(time.FixedZone("WAT", 3600))
		if again, err := a.Signing.order(stored); err != nil || again != m {
			t.Errorf("sign the order that %s approved again: got %+v, %v, want %+v", by, again, err, m)
		}
	}
}

// A refund that must not leave now is refused with its own code, and holds nothing.
func TestRequest_refused(t *testing.T) {
	for code, edit := range map[string]func(v *change.View, a *Refunds, to *destination, o *Order){
		"refunds_closed":          func(_ *change.View, a *Refunds, _ *destination, _ *Order) { a.Signing = nil },
		"refunds_paused":          func(_ *change.View, a *Refunds, _ *destination, _ *Order) { a.Recovery = true },
		"refund_address_internal": func(_ *change.View, _ *Refunds, to *destination, _ *Order) { to.ours = true },
		"refund_address_unfit": func(v *change.View, _ *Refunds, to *destination, _ *Order) {
			v.Payment.RefundAddress, to.address = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
		},
		"busy":         func(v *change.View, _ *Refunds, _ *destination, _ *Order) { v.Payment.RefundAddress = "0xother" },
		"nothing_owed": func(v *change.View, _ *Refunds, _ *destination, _ *Order) { v.Rows[0].Booked = "" },
		"no_refund_address": func(v *change.View, _ *Refunds, to *destination, _ *Order) {
			v.Payment.RefundAddress, to.address = "", ""
		},
		"amount_above_owed": func(_ *change.View, _ *Refunds, _ *destination, o *Order) { *o.Amount = dec("100.01") },
		"validation_failed": func(_ *change.View, _ *Refunds, _ *destination, o *Order) { *o.Amount = dec("1.1234567") },
		"refund_address_refused": func(_ *change.View, _ *Refunds, to *destination, _ *Order) {
			to.screened = []change.Screened{{Stage: change.AtRefund, Verdict: change.Verdict{Hit: true}}}
		},
	} {
		v, a, amount := live(), &Refunds{Policy: payment.Defaults(), Signing: keys(), Networks: []string{"ethereum"}}, dec("50")
		to, o := destination{address: v.Payment.RefundAddress}, Order{Amount: &amount}
		edit(&v, a, &to, &o)
		r, _, err := a.request(v, o, to, time.Now())
		if err == nil {
			err = r.Refused
		}
		if fault.As(err).Code != code || len(r.Facts) != 0 {
			t.Errorf("request = %v with %d facts, want %s with none", err, len(r.Facts), code)
		}
	}
}

// No refund on bitcoin is an output that nodes do not pass on, whatever kind of address it goes to.
func TestRequest_dust(t *testing.T) {
	for _, to := range []string{"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"} {
		script, err := address.Script(to)
		if err != nil {
			t.Fatal(err)
		}
		for amount, want := range map[string]string{
			decimal.New(address.Dust(script)-1, -8).String(): "validation_failed", "0.00002999": "validation_failed", "0.00003": "",
		} {
			v, a, sum := live(), &Refunds{Policy: payment.Defaults(), Signing: keys(), Networks: []string{"bitcoin"}}, dec(amount)
			v.Payment.RefundAddress = to
			v.Rows[0].Network, v.Rows[0].Asset, v.Rows[0].Contract = "bitcoin", "BTC", ""
			_, _, err := a.request(v, Order{Amount: &sum}, destination{address: to}, time.Now())
			if got := fault.As(err).Code; err != nil && got != want || (err == nil) != (want == "") {
				t.Errorf("request a refund of %s BTC to %s: got %v, want the code %q", amount, to, err, want)
			}
		}
	}
}

// Where no station sends refunds of live mode, none is taken and none is approved. Test mode needs no station.
func TestMay_networks(t *testing.T) {
	v := live()
	to, now := destination{address: v.Payment.RefundAddress}, time.Now()
	a := &Refunds{Policy: payment.Defaults(), Signing: keys(), Networks: []string{"ethereum"}}
	for _, network := range []string{"polygon", "tron", "bitcoin", "solana"} {
		if err := a.may(v.Payment, network, to, now); err != errClosed { //nolint:errorlint // the value that may returns
			t.Errorf("a live refund on %s = %v, want refunds_closed", network, err)
		}
	}
	v.Payment.Mode = tenant.Test
	if got := (&Refunds{}).may(v.Payment, "tron", destination{}, now); got == errClosed { //nolint:errorlint // the value that may returns
		t.Errorf("a test refund = %v, want no refunds_closed", got)
	}
}

// An operator alone sends nothing in live mode, however small the refund is and wherever one operator suffices
// otherwise: the same operator may have confirmed the address.
func TestOperators_alone(t *testing.T) {
	stray := live()
	stray.Payment.Type, stray.Payment.Currency, stray.Payment.Quote = payment.Stray, "", quote.Quote{Network: "ethereum"}
	for name, v := range map[string]change.View{"a merchant's payment": live(), "a stray payment": stray} {
		t.Run(name, func(t *testing.T) { operatorsAlone(t, v) })
	}
}

func operatorsAlone(t *testing.T, v change.View) {
	t.Helper()
	ring, err := keyring.Parse("k:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	a := &Refunds{Policy: payment.Defaults(), Signing: keys(), Automatic: map[money.Currency]decimal.Decimal{money.NGN: dec("80000")}, Blind: ring, One: true, Networks: []string{"ethereum"}}
	amount, to, now := dec("2"), destination{address: v.Payment.RefundAddress}, time.Now()
	asked, err := a.requestBy(v, Order{Amount: &amount, Reason: "r", Sender: "ada"}, to, now)
	if err != nil {
		t.Fatal(err)
	}
	made := kept(asked)
	if made.State != refund.Requested || len(asked.Commands) != 0 || asked.Approval == nil {
		t.Fatalf("ada's request is %s with %d orders, want it to wait for another operator", made.State, len(asked.Commands))
	}
	v.Payment, v.Rows, v.Refunds = asked.Payment, payment.Marked(v.Rows, asked.Facts), []refund.Refund{made}
	for _, c := range []struct {
		operator string
		open     *approval.Request
		want     string
		orders   int
	}{
		{"ada", nil, "asks", 0}, // the merchant's request, as it were: one operator still does not suffice
		{"Ada", asked.Approval, "second_operator_required", 0},
		{"bob", asked.Approval, "approves", 1},
	} {
		out, waits, err := a.approveBy(v, made, Decision{Operator: c.operator, Reason: "checked"}, outside{to: to, open: c.open}, now)
		got := "approves"
		switch {
		case err != nil:
			got = fault.As(err).Code
		case waits != nil:
			got = "asks"
		}
		if got != c.want || len(out.Commands) != c.orders {
			t.Errorf("the approval of %s: %s with %d orders, want %s with %d", c.operator, got, len(out.Commands), c.want, c.orders)
		}
	}

	v.Payment.RefundAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	if _, _, err := a.approveBy(v, made, Decision{Operator: "bob"}, outside{to: to, open: asked.Approval}, now); fault.As(err).Code != "refund_address_changed" {
		t.Errorf("an approval after the address changed gives %v, want refund_address_changed", err)
	}
}

// Live mode sends no refund to an address of another net of bitcoin than its own.
func TestMay_nets(t *testing.T) {
	for to, of := range map[string]address.Net{
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4": address.Mainnet, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx": address.Testnet,
		"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080": address.Regtest,
	} {
		for _, net := range []address.Net{address.Mainnet, address.Testnet, address.Regtest} {
			a := &Refunds{Policy: payment.Defaults(), Signing: keys(), Networks: []string{"bitcoin"}}
			a.Policy.Bitcoin = net
			err := a.may(live().Payment, "bitcoin", destination{address: to}, time.Now())
			if refused := fault.Is(err, "refund_address_unfit"); refused == (of == net) {
				t.Errorf("refund on %s to an address of %s: got %v, want it refused: %t", net, of, err, of != net)
			}
		}
	}
}
