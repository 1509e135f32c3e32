package policy

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
)

const (
	usdc           = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
	textAuthorized = `{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"ethereum":{"chainId":1,
"treasury":"` + treasury + `","maxFeePerGas":"100","maxGas":200000,"countPerHour":3,"assets":{
"ETH":{"perHour":"1000"},"USDT":{"contract":"` + usdt + `","perHour":"500"},
"USDC":{"contract":"` + usdc + `","perHour":"500","authorization":{"name":"USD Coin","version":"2","gas":60000}}},
"fund":{"most":"10000000","perHour":"20000000"}}}}`
)

func parseAuthorized(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(textAuthorized))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func authorizedSweep(change func(r *intent.Request)) intent.Request {
	return sweep(func(r *intent.Request) {
		r.Asset, r.EVM.Contract = "USDC", usdc
		r.EVM.Authorization = &intent.Authorization{
			Owner: place(0, 7), Name: "USD Coin", Version: "2", Nonce: strings.Repeat("ab", 32), Before: now.Add(time.Hour).Unix(),
		}
		if change != nil {
			change(r)
		}
	})
}

// The gas station sends what a deposit address authorizes: one sum, to the treasury, for a short time, on the contract
// that the policy names.
func TestCheck_authorization(t *testing.T) {
	p := parseAuthorized(t)
	if plan, refusal, err := p.Check(authorizedSweep(nil), places{}, nil, now); err != nil || refusal != nil ||
		plan.From.String() != place(1, 0) || plan.Account != 1 || plan.Index != 0 || plan.Authorized == nil || plan.Authorized.Index != 7 ||
		plan.Authorized.To.String() != treasury || plan.Transaction.To.String() != usdc || plan.Transaction.Value.Sign() != 0 {
		t.Fatalf("check an authorized sweep: got %+v, %v, %v, want the station as sender and address 7 as owner", plan, refusal, err)
	}
	for name, c := range map[string]struct {
		change func(r *intent.Request)
		want   string
	}{
		"a wrong destination":         {func(r *intent.Request) { r.To = place(0, 8) }, intent.Destination},
		"another owner":               {func(r *intent.Request) { r.EVM.Authorization.Owner = place(0, 8) }, intent.Address},
		"the gas station as owner":    {func(r *intent.Request) { r.EVM.Authorization.Owner = place(1, 0) }, intent.Address},
		"another name":                {func(r *intent.Request) { r.EVM.Authorization.Name = "Coin" }, intent.Asset},
		"another version":             {func(r *intent.Request) { r.EVM.Authorization.Version = "1" }, intent.Asset},
		"another contract":            {func(r *intent.Request) { r.EVM.Contract = usdt }, intent.Asset},
		"a token that takes none":     {func(r *intent.Request) { r.Asset, r.EVM.Contract = "USDT", usdt }, intent.Asset},
		"the coin":                    {func(r *intent.Request) { r.Asset, r.EVM.Contract = "ETH", "" }, intent.Malformed},
		"a funding":                   {func(r *intent.Request) { r.Kind = intent.Fund }, intent.Malformed},
		"another chain":               {func(r *intent.Request) { r.EVM.ChainID = 2 }, intent.ChainID},
		"it has ended":                {func(r *intent.Request) { r.EVM.Authorization.Before = now.Unix() }, intent.Expiry},
		"it is valid for too long":    {func(r *intent.Request) { r.EVM.Authorization.Before = now.Add(2*time.Hour + time.Second).Unix() }, intent.Expiry},
		"it is valid for ever":        {func(r *intent.Request) { r.EVM.Authorization.Before = 1 << 62 }, intent.Expiry},
		"no nonce":                    {func(r *intent.Request) { r.EVM.Authorization.Nonce = "" }, intent.Malformed},
		"a short nonce":               {func(r *intent.Request) { r.EVM.Authorization.Nonce = "ab" }, intent.Malformed},
		"too much":                    {func(r *intent.Request) { r.Amount = "501" }, intent.Value},
		"too much gas":                {func(r *intent.Request) { r.EVM.Gas = 200_001 }, intent.Fee},
		"dearer than one funding":     {func(r *intent.Request) { r.EVM.Gas = 100_001 }, intent.Fee},
		"an index that is not served": {func(r *intent.Request) { r.Index = 1000 }, intent.Address},
	} {
		if _, refusal, err := p.Check(authorizedSweep(c.change), places{}, nil, now); err != nil || refusal == nil || refusal.Code != c.want {
			t.Errorf("check %s: got %v, %v, want %s", name, refusal, err, c.want)
		}
	}
}

// Anybody can take an authorization out of a transaction and present it, so each counts, also under one nonce of the
// station. A raised fee renews the same authorization and counts once.
func TestCheck_authorizationsCount(t *testing.T) {
	p := parseAuthorized(t)
	first := authorizedSweep(func(r *intent.Request) { r.Amount = "300" })
	before := []Spend{Spent(first, place(1, 0), big.NewInt(300), now)}
	raised := authorizedSweep(func(r *intent.Request) {
		r.Amount, r.EVM.MaxFee = "300", "90"
		r.EVM.Authorization.Before += 60
	})
	if _, refusal, err := p.Check(raised, places{}, before, now); err != nil || refusal != nil {
		t.Errorf("check the same authorization at a higher fee: %v, %v", refusal, err)
	}
	for name, change := range map[string]func(r *intent.Request){
		"another nonce of the authorization": func(r *intent.Request) { r.EVM.Authorization.Nonce = strings.Repeat("cd", 32) },
		"another owner":                      func(r *intent.Request) { r.Index, r.EVM.Authorization.Owner = 8, place(0, 8) },
		"another nonce of the station":       func(r *intent.Request) { r.EVM.Nonce = 1 },
	} {
		other := authorizedSweep(func(r *intent.Request) { r.Amount = "300"; change(r) })
		if _, refusal, err := p.Check(other, places{}, before, now); err != nil || refusal == nil || refusal.Code != intent.Value {
			t.Errorf("check 300 beside 300 of 500, with %s: got %v, %v, want %s", name, refusal, err, intent.Value)
		}
	}
}

// The station pays for authorized sweeps as it gives in fundings, so both are in one hourly sum. One transaction of a
// nonce can land, so the dearest of them counts.
func TestCheck_authorizedSweepsCost(t *testing.T) {
	p := parseAuthorized(t)
	p.Networks["ethereum"] = func(n Network) Network { n.CountPerHour = 10; return n }(p.Networks["ethereum"])
	cheap := func(nonce, gas uint64) intent.Request {
		return authorizedSweep(func(r *intent.Request) {
			r.Amount, r.EVM.Nonce, r.EVM.Gas, r.EVM.MaxFee = "1", nonce, gas, "100"
		})
	}
	station := place(1, 0)
	spent := func(r intent.Request, amount int64) Spend { return Spent(r, station, big.NewInt(amount), now) }
	funding := fund(func(r *intent.Request) { r.Amount, r.EVM.Nonce = "5000000", 7 })
	for name, c := range map[string]struct {
		before []Spend
		next   intent.Request
		want   string
	}{
		"within the sum":               {[]Spend{spent(cheap(0, 100_000), 1)}, cheap(1, 100_000), ""},
		"above the sum":                {[]Spend{spent(cheap(0, 100_000), 1), spent(cheap(1, 100_000), 1)}, cheap(2, 30_000), intent.Value},
		"a raised fee of one nonce":    {[]Spend{spent(cheap(0, 100_000), 1), spent(cheap(1, 90_000), 1)}, cheap(1, 100_000), ""},
		"beside a funding":             {[]Spend{spent(cheap(0, 100_000), 1), spent(funding, 5_000_000)}, cheap(1, 60_000), intent.Value},
		"in place of a funding":        {[]Spend{spent(cheap(0, 100_000), 1), spent(funding, 5_000_000)}, cheap(7, 60_000), ""},
		"a funding beside them":        {[]Spend{spent(cheap(0, 100_000), 1), spent(cheap(1, 60_000), 1)}, funding, intent.Value},
		"a funding that is within it":  {[]Spend{spent(cheap(0, 100_000), 1), spent(cheap(1, 50_000), 1)}, funding, ""},
		"of more than an hour ago too": {[]Spend{Spent(cheap(0, 100_000), station, big.NewInt(1), now.Add(-Window)), spent(cheap(1, 100_000), 1)}, cheap(2, 100_000), ""},
	} {
		_, refusal, err := p.Check(c.next, places{}, c.before, now)
		if got := codeOf(refusal); err != nil || got != c.want {
			t.Errorf("check a cost %s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestParse_authorization(t *testing.T) {
	for name, change := range map[string][2]string{
		"no name":            {`"USD Coin"`, `""`},
		"no version":         {`"version":"2"`, `"version":""`},
		"no gas":             {`"gas":60000`, `"gas":0`},
		"more gas than most": {`"gas":60000`, `"gas":200001`},
		"an unknown member":  {`"gas":60000`, `"gas":60000,"salt":"1"`},
		"the coin":           {`"ETH":{"perHour":"1000"`, `"ETH":{"perHour":"1000","authorization":{"name":"n","version":"1","gas":1}`},
	} {
		if !strings.Contains(textAuthorized, change[0]) {
			t.Fatalf("%s: %q is not in the policy", name, change[0])
		}
		if _, err := Parse([]byte(strings.Replace(textAuthorized, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: the policy was accepted", name)
		}
	}
}
