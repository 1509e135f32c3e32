package policy

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/trontx"
)

const (
	tronTreasury = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC"
	tronUSDT     = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	tronText     = `{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"tron":{
"treasury":"` + tronTreasury + `","countPerHour":3,
"assets":{"TRX":{"perHour":"1000"},"USDT":{"contract":"` + tronUSDT + `","perHour":"500"}},"fund":{"most":"50","perHour":"80"},
"tron":{"maxFeeLimit":"100","expiresWithin":600,"expiryMargin":60,"lend":{"most":"70","perHour":"90"}}}}}`
)

func (places) TronAccount(account, index uint32) (a trontx.Account, err error) {
	a[0], a[19] = byte(account)+1, byte(index)
	return a, nil
}

func tronPlace(account, index uint32) string {
	a, _ := places{}.TronAccount(account, index)
	return a.String()
}

func tronSweep(change func(r *intent.Request)) intent.Request {
	r := intent.Request{
		ID: "a", Kind: intent.Sweep, Network: "tron", Index: 7, Asset: "USDT", Amount: "500", To: tronTreasury,
		Tron: &intent.Tron{
			Contract: tronUSDT, Block: hex.EncodeToString(make([]byte, 32)), Expiration: now.Add(10 * time.Minute).UnixMilli(), FeeLimit: 100,
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func station(kind intent.Kind, amount string, change func(r *intent.Request)) intent.Request {
	return tronSweep(func(r *intent.Request) {
		r.Kind, r.Asset, r.Amount, r.To, r.Tron.Contract, r.Tron.FeeLimit = kind, "TRX", amount, tronPlace(0, 7), "", 0
		if change != nil {
			change(r)
		}
	})
}

func tronPolicy(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(tronText))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck_tron(t *testing.T) {
	p := tronPolicy(t)
	for name, c := range map[string]struct {
		r    intent.Request
		want string // code of the refusal
	}{
		"a sweep of a token":           {tronSweep(nil), ""},
		"a sweep of TRX":               {tronSweep(func(r *intent.Request) { r.Asset, r.Tron.Contract, r.Tron.FeeLimit = "TRX", "", 0 }), ""},
		"a funding":                    {station(intent.Fund, "50", nil), ""},
		"energy lent":                  {station(intent.Delegate, "70", nil), ""},
		"energy taken back":            {station(intent.Undelegate, "9999", nil), ""},
		"a wrong destination":          {tronSweep(func(r *intent.Request) { r.To = tronUSDT }), intent.Destination},
		"a mistyped address":           {tronSweep(func(r *intent.Request) { r.To = tronTreasury[:33] + "D" }), intent.Malformed},
		"another is funded":            {station(intent.Fund, "50", func(r *intent.Request) { r.To = tronPlace(0, 8) }), intent.Destination},
		"a foreign address is lent to": {station(intent.Delegate, "7", func(r *intent.Request) { r.To = tronTreasury }), intent.Destination},
		"an index that is not served": {station(intent.Delegate, "7", func(r *intent.Request) {
			r.Index, r.To = 1000, tronPlace(0, 232)
		}), intent.Address},
		"too much is given":       {station(intent.Fund, "51", nil), intent.Value},
		"too much is lent":        {station(intent.Delegate, "71", nil), intent.Value},
		"a token is given":        {station(intent.Fund, "50", func(r *intent.Request) { r.Tron.Contract, r.Asset = tronUSDT, "USDT" }), intent.Asset},
		"another contract":        {tronSweep(func(r *intent.Request) { r.Tron.Contract = tronTreasury }), intent.Asset},
		"TRX in place of a token": {tronSweep(func(r *intent.Request) { r.Tron.Contract, r.Tron.FeeLimit = "", 0 }), intent.Asset},
		"a fee limit too high":    {tronSweep(func(r *intent.Request) { r.Tron.FeeLimit = 101 }), intent.Fee},
		"no fee limit":            {tronSweep(func(r *intent.Request) { r.Tron.FeeLimit = 0 }), intent.Malformed},
		"a late expiration": {tronSweep(func(r *intent.Request) {
			r.Tron.Expiration = now.Add(10*time.Minute + time.Millisecond).UnixMilli()
		}), intent.Expiry},
		"a past expiration": {tronSweep(func(r *intent.Request) { r.Tron.Expiration = now.UnixMilli() }), intent.Expiry},
		"no block":          {tronSweep(func(r *intent.Request) { r.Tron.Block = "" }), intent.Malformed},
		"no terms":          {tronSweep(func(r *intent.Request) { r.Tron = nil }), intent.Malformed},
		"terms of two":      {tronSweep(func(r *intent.Request) { r.EVM = &intent.EVM{} }), intent.Malformed},
		"an unknown kind":   {tronSweep(func(r *intent.Request) { r.Kind = "vote" }), intent.Malformed},
		"too much":          {tronSweep(func(r *intent.Request) { r.Amount = "501" }), intent.Value},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(c.r, places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if refusal != nil {
				if refusal.Code != c.want {
					t.Errorf("refused with %s (%s), want %q", refusal.Code, refusal.Message, c.want)
				}
				return
			}
			want := tronPlace(0, 7)
			if c.r.Kind != intent.Sweep {
				want = tronPlace(1, 0)
			}
			if c.want != "" || plan.From.String() != want || plan.Tron.Owner.String() != want || plan.From.String() != tronPlace(plan.Account, plan.Index) {
				t.Errorf("planned %+v, want a signature of %s and code %q", plan, want, c.want)
			}
		})
	}
	if _, refusal, err := parse(t).Check(sweep(func(r *intent.Request) { r.Kind = intent.Delegate }), places{}, nil, now); err != nil || refusal == nil || refusal.Code != intent.Malformed {
		t.Errorf("lending on an EVM network is %v, %v", refusal, err)
	}
}

// A form whose predecessor for the same purpose may still land is refused, whatever number wallets gives it. Time makes
// it allowed.
func TestCheck_tronOneAtATime(t *testing.T) {
	p := tronPolicy(t)
	first := tronSweep(func(r *intent.Request) { r.Amount, r.Tron.Expiration = "1", now.Add(5*time.Minute).UnixMilli() })
	plan, refusal, err := p.Check(first, places{}, nil, now)
	if err != nil || refusal != nil {
		t.Fatal(refusal, err)
	}
	before := []Spend{plan.Spend}
	code := func(r intent.Request, at time.Time) string {
		t.Helper()
		_, refusal, err := p.Check(r, places{}, before, at)
		if err != nil {
			t.Fatal(err)
		}
		if refusal == nil {
			return ""
		}
		return refusal.Code
	}
	later := func(at time.Time) intent.Request {
		return tronSweep(func(r *intent.Request) {
			r.ID, r.Amount, r.Tron.Number, r.Tron.Expiration = "b", "1", 9, at.Add(time.Minute).UnixMilli()
		})
	}
	for name, c := range map[string]struct {
		after time.Duration
		want  string
	}{
		"at once": {0, intent.Expiry}, "at the expiration": {5 * time.Minute, intent.Expiry}, "within the margin": {6 * time.Minute, intent.Expiry},
		"behind the margin": {6*time.Minute + time.Millisecond, ""},
	} {
		if got := code(later(now.Add(c.after)), now.Add(c.after)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	other := later(now)
	other.Index, other.Amount = 8, "1"
	if got := code(other, now); got != "" {
		t.Errorf("another address is refused with %q", got)
	}
}

// Every form counts towards the limits, since nothing but the clock keeps two of them apart.
func TestCheck_tronLimits(t *testing.T) {
	p := tronPolicy(t)
	spent := func(kind intent.Kind, index uint32, amount string) Spend {
		r := station(kind, amount, func(r *intent.Request) { r.ID, r.Index = fmt.Sprint(kind, index), index })
		n, err := intent.Units(amount)
		if err != nil {
			t.Fatal(err)
		}
		return Spent(r, tronPlace(1, 0), n, now)
	}
	for name, c := range map[string]struct {
		before []Spend
		r      intent.Request
		want   string
	}{
		"fundings below": {[]Spend{spent(intent.Fund, 1, "30")}, station(intent.Fund, "50", nil), ""},
		"fundings above": {[]Spend{spent(intent.Fund, 1, "31")}, station(intent.Fund, "50", nil), intent.Value},
		"lent below":     {[]Spend{spent(intent.Delegate, 1, "20"), spent(intent.Fund, 1, "80")}, station(intent.Delegate, "70", nil), ""},
		"lent above":     {[]Spend{spent(intent.Delegate, 1, "21")}, station(intent.Delegate, "70", nil), intent.Value},
		"too many": {[]Spend{
			spent(intent.Undelegate, 1, "1"), spent(intent.Undelegate, 2, "1"), spent(intent.Undelegate, 3, "1"),
		}, station(intent.Undelegate, "1", nil), intent.Count},
	} {
		_, refusal, err := p.Check(c.r, places{}, c.before, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := ""; refusal != nil {
			got = refusal.Code
			if got != c.want {
				t.Errorf("%s: refused with %q, want %q", name, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s: allowed, want %q", name, c.want)
		}
	}
}

func TestParse_tron(t *testing.T) {
	for name, change := range map[string][2]string{
		"an EVM treasury":        {tronTreasury, "0x00000000000000000000000000000000000000AA"},
		"an EVM contract":        {tronUSDT, "0xdAC17F958D2ee523a2206206994597C13D831ec7"},
		"no fee limit":           {`"maxFeeLimit":"100"`, `"maxFeeLimit":"0"`},
		"no expiration":          {`"expiresWithin":600`, `"expiresWithin":0`},
		"a long expiration":      {`"expiresWithin":600`, `"expiresWithin":3600`},
		"a huge expiration":      {`"expiresWithin":600`, `"expiresWithin":9000000000000000000`},
		"no margin":              {`"expiryMargin":60`, `"expiryMargin":0`},
		"terms of EVM":           {`"countPerHour":3`, `"countPerHour":3,"chainId":1`},
		"tron terms on ethereum": {`"tron":{` + "\n", `"ethereum":{` + "\n"},
		"no terms":               {`"tron":{"maxFeeLimit":"100","expiresWithin":600,"expiryMargin":60,"lend":{"most":"70","perHour":"90"}}`, `"tron":null`},
		"an unlisted asset":      {`"USDT"`, `"USDC"`},
	} {
		if _, err := Parse([]byte(strings.Replace(tronText, change[0], change[1], 1))); err == nil || !strings.Contains(tronText, change[0]) {
			t.Errorf("%s was read", name)
		}
	}
}
