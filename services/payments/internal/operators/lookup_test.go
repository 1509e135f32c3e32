package operators

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

var lookedAt = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// answered is an answer of wallets about a transaction, some time after its question.
func answered(network, hash string, state wire.TransferState, age time.Duration, sums ...string) Lookup {
	l := Lookup{Transaction: change.Transaction{Network: network, TxHash: hash}, State: state, AskedAt: lookedAt.Add(-age), BlockTime: lookedAt, Sums: map[string]decimal.Decimal{}}
	for i := 0; i < len(sums); i += 2 {
		l.Sums[sums[i]] = decimal.RequireFromString(sums[i+1])
	}
	return l
}

func booked(network, asset, amount string) payment.Deposit {
	return payment.Deposit{Network: network, Asset: asset, Booked: "suspense", BookedAmount: decimal.RequireFromString(amount)}
}

// A refund is believed only when its transactions are final and brought exactly what is owed of each asset. An unknown
// transaction is asked about, and not twice in short order.
func TestProof(t *testing.T) {
	const final, early, missing, unknown = wire.TransferFinal, wire.TransferNotFinal, wire.TransferMissing, wire.TransferUnknown
	usdt := []payment.Deposit{booked("tron", "USDT", "20"), booked("tron", "USDT", "11.25")}
	two := []payment.Deposit{booked("ethereum", "USDT", "5"), booked("base", "USDC", "7")}
	for name, c := range map[string]struct {
		rows   []payment.Deposit
		hashes []string
		known  []Lookup
		moved  bool // the refund address changed after the look-up was read
		code   string
		text   string
		asks   int
		refund int
	}{
		"never asked":            {rows: usdt, code: "refund_unverified", asks: 1},
		"asked just now":         {rows: usdt, known: []Lookup{answered("tron", "a", "", 2*time.Second)}, code: "refund_unverified"},
		"asked, no answer":       {rows: usdt, known: []Lookup{answered("tron", "a", "", 2*time.Minute)}, code: "refund_unverified", asks: 1},
		"found":                  {rows: usdt, known: []Lookup{answered("tron", "a", final, time.Hour, "USDT", "31.25")}, refund: 1},
		"found, with more":       {rows: usdt, known: []Lookup{answered("tron", "a", final, 0, "USDT", "31.25", "TRX", "1")}, refund: 1},
		"a smaller amount":       {rows: usdt, known: []Lookup{answered("tron", "a", final, 0, "USDT", "31.24")}, code: "refund_differs", text: "brought 31.24 USDT"},
		"a larger amount":        {rows: usdt, known: []Lookup{answered("tron", "a", final, 0, "USDT", "31.26")}, code: "refund_differs", text: "31.25 is owed"},
		"another asset":          {rows: usdt, known: []Lookup{answered("tron", "a", final, 0, "TRX", "31.25")}, code: "refund_differs", text: "brought 0 USDT on tron"},
		"to another address":     {rows: usdt, known: []Lookup{answered("tron", "a", final, 0)}, code: "refund_differs", text: "to Tpayer"},
		"not final":              {rows: usdt, known: []Lookup{answered("tron", "a", early, time.Second, "USDT", "31.25")}, code: "refund_differs", text: "not final"},
		"not final, asked again": {rows: usdt, known: []Lookup{answered("tron", "a", early, time.Minute, "USDT", "31.25")}, code: "refund_differs", text: "not final", asks: 1},
		"in no block":            {rows: usdt, known: []Lookup{answered("tron", "a", missing, time.Second)}, code: "refund_differs", text: "no block"},
		"the chain is silent":    {rows: usdt, known: []Lookup{answered("tron", "a", unknown, time.Second)}, code: "refund_unverified"},
		"the chain was silent":   {rows: usdt, known: []Lookup{answered("tron", "a", unknown, time.Minute)}, code: "refund_unverified", asks: 1},
		"the address changed":    {rows: usdt, known: []Lookup{answered("tron", "a", final, 0, "USDT", "31.25")}, moved: true, code: "refund_unverified"},
		"nothing is booked":      {rows: []payment.Deposit{{Network: "tron", Asset: "USDT"}}, code: "nothing_owed"},
		"two networks, asked":    {rows: two, hashes: []string{"a", "b"}, code: "refund_unverified", asks: 4},
		"two networks, one transaction": {
			rows: two, known: []Lookup{answered("ethereum", "a", final, 0, "USDT", "5"), answered("base", "a", missing, 0)},
			code: "refund_differs", text: "0 USDC on base",
		},
		"two networks": {
			rows: two, hashes: []string{"a", "b"}, refund: 2,
			known: []Lookup{
				answered("ethereum", "a", final, 0, "USDT", "5"), answered("base", "a", missing, 0),
				answered("base", "b", final, 0, "USDC", "7"), answered("ethereum", "b", missing, 0),
			},
		},
	} {
		v := change.View{Rows: c.rows, Payment: payment.Payment{ID: "pay_1", Mode: tenant.Live, RefundAddress: "Tpayer", CreatedAt: lookedAt.Add(-time.Hour)}}
		p := proof{address: "Tpayer", hashes: c.hashes, known: c.known}
		if c.hashes == nil {
			p.hashes = []string{"a"}
		}
		if c.moved {
			v.Payment.RefundAddress = "Tother"
		}
		proven, not := p.check(v, lookedAt)
		refunding := proven.refunding
		code, text, asks := "", "", 0
		if not != nil {
			f := fault.As(not.Refused)
			code, text, asks = f.Code, f.Message, len(not.Commands)
			if len(not.Lookups) != asks {
				t.Errorf("check() of %s keeps %d questions and sends %d", name, len(not.Lookups), asks)
			}
		}
		if code != c.code || !strings.Contains(text, c.text) || asks != c.asks || len(refunding) != c.refund {
			t.Errorf("check() of %s = %v, code %q, text %q, %d questions; want %d transactions, code %q, %q, %d questions",
				name, refunding, code, text, asks, c.refund, c.code, c.text, c.asks)
		}
	}
}

// A refund returns the money that was owed when it was made. Later money stays owed, and does not spoil the refund.
func TestProof_laterMoney(t *testing.T) {
	seen := func(key, amount string, before time.Duration) payment.Deposit {
		d := booked("tron", "USDT", amount)
		d.Key, d.FirstSeenAt = key, lookedAt.Add(-before)
		return d
	}
	dollars := seen("c", "3", time.Minute)
	dollars.Asset = "USDD"
	for name, c := range map[string]struct {
		rows  []payment.Deposit
		later string
		code  string
	}{
		"all of it":                 {[]payment.Deposit{seen("a", "20", 3*time.Hour), seen("b", "11.25", time.Hour)}, "", ""},
		"one unit after its block":  {[]payment.Deposit{seen("b", "0.000001", -time.Second), seen("a", "31.25", 3*time.Hour)}, "b", ""},
		"one unit just before it":   {[]payment.Deposit{seen("a", "31.25", 3*time.Hour), seen("b", "0.000001", time.Second)}, "b", ""},
		"the same amount again":     {[]payment.Deposit{seen("a", "31.25", 3*time.Hour), seen("b", "31.25", -time.Hour)}, "b", ""},
		"another asset meanwhile":   {[]payment.Deposit{seen("a", "31.25", 3*time.Hour), dollars}, "c", ""},
		"only a part of old money":  {[]payment.Deposit{seen("a", "31.25", 9*time.Hour), seen("b", "5", 3*time.Hour)}, "", "refund_differs"},
		"only money after its time": {[]payment.Deposit{seen("a", "31.25", -3*time.Hour)}, "", "refund_differs"},
		"another amount":            {[]payment.Deposit{seen("a", "31", 3*time.Hour), seen("b", "1", time.Second)}, "", "refund_differs"},
	} {
		v := change.View{Rows: c.rows, Payment: payment.Payment{ID: "pay_1", Mode: tenant.Live, RefundAddress: "Tpayer", CreatedAt: lookedAt.Add(-time.Hour)}}
		p := proof{address: "Tpayer", hashes: []string{"a"}, known: []Lookup{answered("tron", "a", wire.TransferFinal, 0, "USDT", "31.25")}}
		proven, not := p.check(v, lookedAt)
		code := ""
		if not != nil {
			code = fault.As(not.Refused).Code
			if len(not.Differing) != 1 {
				t.Errorf("check() of %s ends %d look-ups, want 1", name, len(not.Differing))
			}
		}
		if later := strings.Join(proven.later, ","); later != c.later || code != c.code {
			t.Errorf("check() of %s leaves %q owed, code %q; want %q, %q", name, later, code, c.later, c.code)
		}
	}
}

// A transaction from before the payment is no refund of it.
func TestProof_older(t *testing.T) {
	v := change.View{
		Rows:    []payment.Deposit{booked("tron", "USDT", "5")},
		Payment: payment.Payment{ID: "pay_1", Mode: tenant.Live, RefundAddress: "Tpayer", CreatedAt: lookedAt.Add(3 * time.Hour)},
	}
	p := proof{address: "Tpayer", hashes: []string{"a"}, known: []Lookup{answered("tron", "a", wire.TransferFinal, 0, "USDT", "5")}}
	if _, not := p.check(v, lookedAt); not == nil || fault.As(not.Refused).Code != "refund_differs" {
		t.Errorf("check() of a transaction three hours older than the payment = %+v, want refund_differs", not)
	}
}

// An answer is read in base units; one that cannot be read is refused for good.
func TestFound(t *testing.T) {
	for name, c := range map[string]struct {
		m    wire.TransferFound
		want string // of USDT
		bad  bool
	}{
		"a sum":          {wire.TransferFound{RequestID: "r", Network: "tron", State: wire.TransferFinal, Sums: []wire.Sum{{Asset: "USDT", Amount: "31250000"}}}, "31.25", false},
		"no sum":         {wire.TransferFound{RequestID: "r", Network: "tron", State: wire.TransferMissing}, "0", false},
		"no id":          {wire.TransferFound{Network: "tron", State: wire.TransferMissing}, "", true},
		"no network":     {wire.TransferFound{RequestID: "r", Network: "mars", State: wire.TransferMissing}, "", true},
		"another state":  {wire.TransferFound{RequestID: "r", Network: "tron", State: "perhaps"}, "", true},
		"another asset":  {wire.TransferFound{RequestID: "r", Network: "tron", State: wire.TransferFinal, Sums: []wire.Sum{{Asset: "BTC", Amount: "1"}}}, "", true},
		"half a unit":    {wire.TransferFound{RequestID: "r", Network: "tron", State: wire.TransferFinal, Sums: []wire.Sum{{Asset: "USDT", Amount: "1.5"}}}, "", true},
		"less than zero": {wire.TransferFound{RequestID: "r", Network: "tron", State: wire.TransferFinal, Sums: []wire.Sum{{Asset: "USDT", Amount: "-1"}}}, "", true},
	} {
		kept := ""
		err := Found(func(_ context.Context, id string, _ wire.TransferState, sums map[string]decimal.Decimal, _ time.Time) error {
			kept = sums["USDT"].String()
			return nil
		})(t.Context(), "m", c.m)
		if kept != c.want || fault.IsPermanent(err) != c.bad {
			t.Errorf("Found() of %s kept %q, %v; want %q, refused: %t", name, kept, err, c.want, c.bad)
		}
	}
}
