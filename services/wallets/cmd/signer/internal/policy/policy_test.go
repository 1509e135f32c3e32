package policy

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

const (
	treasury = "0x00000000000000000000000000000000000000AA"
	usdt     = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
	text     = `{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"ethereum":{"chainId":1,
"treasury":"` + treasury + `","maxFeePerGas":"100","maxGas":100000,"countPerHour":3,
"assets":{"ETH":{"perHour":"1000"},"USDT":{"contract":"` + usdt + `","perHour":"500"}},"fund":{"most":"50","perHour":"80"}}}}`
)

// places is a seed whose address at account a and index i has the bytes a and i.
type places struct{}

func (places) Account(account, index uint32) (a evmtx.Account, err error) {
	a[0], a[19] = byte(account)+1, byte(index)
	return a, nil
}

func (places) Solana(index uint32) (soltx.Account, error) {
	return soltx.Account{1, byte(index >> 8), byte(index)}, nil
}

func (places) SolanaStation(account uint32) (soltx.Account, error) {
	return soltx.Account{2, byte(account)}, nil
}

func (places) Witness(account, index uint32) (hash [20]byte, err error) {
	hash[0], hash[19] = byte(account)+1, byte(index)
	return hash, nil
}

func place(account, index uint32) string {
	a, _ := places{}.Account(account, index)
	return a.String()
}

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func sweep(change func(r *intent.Request)) intent.Request {
	r := intent.Request{
		ID: "a", Kind: intent.Sweep, Network: "ethereum", Index: 7, Asset: "USDT", Amount: "500", To: treasury,
		EVM: &intent.EVM{ChainID: 1, Contract: usdt, Gas: 100_000, MaxFee: "100", Tip: "1"},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func fund(change func(r *intent.Request)) intent.Request {
	return sweep(func(r *intent.Request) {
		r.Kind, r.Asset, r.Amount, r.To, r.EVM.Contract = intent.Fund, "ETH", "50", place(0, 7), ""
		if change != nil {
			change(r)
		}
	})
}

func parse(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck(t *testing.T) {
	p := parse(t)
	for name, c := range map[string]struct {
		r    intent.Request
		want string // code of the refusal
	}{
		"a sweep of a token": {sweep(nil), ""},
		"a sweep of the coin": {sweep(func(r *intent.Request) {
			r.Asset, r.EVM.Contract, r.Amount = "ETH", "", "1000"
		}), ""},
		"a funding":                                  {fund(nil), ""},
		"a wrong destination":                        {sweep(func(r *intent.Request) { r.To = "0x00000000000000000000000000000000000000ab" }), intent.Destination},
		"back to the address":                        {sweep(func(r *intent.Request) { r.To = place(0, 7) }), intent.Destination},
		"a mistyped address":                         {sweep(func(r *intent.Request) { r.To = "0x00000000000000000000000000000000000000aA1" }), intent.Malformed},
		"another deposit address is funded":          {fund(func(r *intent.Request) { r.To = place(0, 8) }), intent.Destination},
		"the treasury is funded":                     {fund(func(r *intent.Request) { r.To = treasury }), intent.Destination},
		"too much is funded":                         {fund(func(r *intent.Request) { r.Amount = "51" }), intent.Value},
		"a token is funded":                          {fund(func(r *intent.Request) { r.Asset, r.EVM.Contract = "USDT", usdt }), intent.Asset},
		"a funding that calls a contract":            {fund(func(r *intent.Request) { r.EVM.Contract = usdt }), intent.Asset},
		"another contract":                           {sweep(func(r *intent.Request) { r.EVM.Contract = place(5, 5) }), intent.Asset},
		"a token without its contract":               {sweep(func(r *intent.Request) { r.EVM.Contract = "" }), intent.Asset},
		"the coin through a contract":                {sweep(func(r *intent.Request) { r.Asset = "ETH" }), intent.Asset},
		"an asset that is not listed":                {sweep(func(r *intent.Request) { r.Asset = "USDC" }), intent.Asset},
		"another network":                            {sweep(func(r *intent.Request) { r.Network = "bsc" }), intent.Network},
		"another chain":                              {sweep(func(r *intent.Request) { r.EVM.ChainID = 2 }), intent.ChainID},
		"too dear":                                   {sweep(func(r *intent.Request) { r.EVM.MaxFee = "101" }), intent.Fee},
		"too much gas":                               {sweep(func(r *intent.Request) { r.EVM.Gas++ }), intent.Fee},
		"too much":                                   {sweep(func(r *intent.Request) { r.Amount = "501" }), intent.Value},
		"nothing":                                    {sweep(func(r *intent.Request) { r.Amount = "0" }), intent.Malformed},
		"less than nothing":                          {sweep(func(r *intent.Request) { r.Amount = "-1" }), intent.Malformed},
		"a tip above the fee":                        {sweep(func(r *intent.Request) { r.EVM.Tip = "101" }), intent.Malformed},
		"an index beyond":                            {sweep(func(r *intent.Request) { r.Index = 1000 }), intent.Address},
		"another account":                            {sweep(func(r *intent.Request) { r.Account = 1 }), intent.Address},
		"another kind":                               {sweep(func(r *intent.Request) { r.Kind = "approve" }), intent.Malformed},
		"no id":                                      {sweep(func(r *intent.Request) { r.ID = "" }), intent.Malformed},
		"no terms":                                   {sweep(func(r *intent.Request) { r.EVM = nil }), intent.Malformed},
		"an amount that is no whole number":          {sweep(func(r *intent.Request) { r.Amount = "5e2" }), intent.Malformed},
		"an amount with a sign that Go would accept": {sweep(func(r *intent.Request) { r.Amount = "+5" }), intent.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(c.r, places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if refusal != nil {
					t.Fatalf("check an allowed intent: got the refusal %v", refusal)
				}
				want := place(0, 7)
				if c.r.Kind == intent.Fund {
					want = place(1, 0) // the gas station
				}
				if plan.From.String() != want || plan.From.String() != place(plan.Account, plan.Index) {
					t.Errorf("signed by %s, want %s", plan.From, want)
				}
				return
			}
			if refusal == nil || refusal.Code != c.want {
				t.Errorf("%v, want %s", refusal, c.want)
			}
		})
	}
}

// The hourly limits count the largest transaction of each nonce, and the hour slides.
func TestCheck_limits(t *testing.T) {
	p := parse(t)
	spent := func(slot string, amount int64, ago time.Duration) Spend {
		return Spend{Network: "ethereum", Slot: slot, Kind: intent.Sweep, Asset: "USDT", Amount: big.NewInt(amount), At: now.Add(-ago)}
	}
	own := place(0, 7) + "/0"
	for name, c := range map[string]struct {
		before []Spend
		amount int64
		want   string
	}{
		"up to the limit":             {[]Spend{spent("x/1", 200, time.Minute)}, 300, ""},
		"beyond the limit":            {[]Spend{spent("x/1", 200, time.Minute)}, 301, intent.Value},
		"an hour ago":                 {[]Spend{spent("x/1", 200, time.Hour)}, 500, ""},
		"a replacement counts once":   {[]Spend{spent(own, 500, time.Minute), spent(own, 499, time.Second)}, 500, ""},
		"the larger of a replacement": {[]Spend{spent(own, 500, time.Minute), spent("x/1", 1, time.Minute)}, 10, intent.Value},
		"one more":                    {[]Spend{spent("x/1", 1, 0), spent("x/2", 1, 0)}, 1, ""},
		"too many":                    {[]Spend{spent("x/1", 1, 0), spent("x/2", 1, 0), spent("x/3", 1, 0)}, 1, intent.Count},
		"replacements are not many":   {[]Spend{spent("x/1", 1, 0), spent(own, 1, 0), spent(own, 1, 0), spent(own, 1, 0)}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, refusal, err := p.Check(sweep(func(r *intent.Request) { r.Amount = fmt.Sprint(c.amount) }), places{}, c.before, now)
			if err != nil {
				t.Fatal(err)
			}
			if (refusal == nil) != (c.want == "") || (refusal != nil && refusal.Code != c.want) {
				t.Errorf("%v, want %q", refusal, c.want)
			}
		})
	}
	if list := Recent([]Spend{spent("x/1", 1, time.Hour), spent("x/2", 1, time.Minute)}, now); len(list) != 1 {
		t.Errorf("%d are recent", len(list))
	}
}

func TestParse_refuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"an unknown member":          {`"mode"`, `"node":1,"mode"`},
		"no mode":                    {`"live"`, `"both"`},
		"one account for both":       {`"gasAccount":1`, `"gasAccount":0`},
		"no addresses":               {`"indexBelow":1000`, `"indexBelow":0`},
		"a mistyped treasury":        {"AA", "Aa1"},
		"no treasury":                {treasury, "0x0000000000000000000000000000000000000000"},
		"a mistyped contract":        {"0xdAC17F", "0xdaC17F"},
		"no contract":                {usdt, ""},
		"the terms of another one":   {`"ethereum"`, `"bitcoin"`},
		"a family without terms":     {`"ethereum"`, `"tron"`},
		"an alias":                   {`"ethereum"`, `"eth"`},
		"no chain":                   {`"chainId":1`, `"chainId":0`},
		"no count":                   {`"countPerHour":3`, `"countPerHour":0`},
		"an amount that is a number": {`"perHour":"500"`, `"perHour":500`},
		"an asset without a limit":   {`"perHour":"500"`, `"perHour":"0"`},
		"something behind it":        {`}}}}`, `}}}}{}`},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("%s: %q is not there", name, change[0])
		}
		if _, err := Parse([]byte(strings.Replace(text, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
