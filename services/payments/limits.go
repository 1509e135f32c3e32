package main

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/quote"
)

// limitSettings limit money. Daily limits and capacities apply to live mode only.
type limitSettings struct {
	Transaction   string `env:"TRANSACTION_LIMITS" doc:"narrower bounds of one payment by currency: NGN=100-5000000,KES=10-250000; a currency that is not named keeps those of docs/api-contract.md#fees"`
	MinimumsLive  string `env:"MINIMUMS_LIVE" doc:"least payments of live mode in crypto, instead of the amounts that are worth collecting (docs/networks.md): ethereum/USDT=20,bitcoin/BTC=0.0003; 0 takes one away"`
	MinimumsTest  string `env:"MINIMUMS_TEST" doc:"the same for test mode, which has none by default"`
	DailyKey      string `env:"DAILY_LIMIT_KEY" doc:"most fiat that one API key may have reserved and settled on a day in UTC, live mode only: NGN=100000000; a currency that is not named is not limited"`
	DailyPayer    string `env:"DAILY_LIMIT_PAYER" doc:"the same for one payer of a merchant"`
	DailyReceiver string `env:"DAILY_LIMIT_RECEIVER" doc:"the same for one receiving account of a merchant"`
	CapCrypto     string `env:"CAPACITY_CRYPTO" doc:"most crypto per asset that may be open at locked rates in live mode: USDT=500000,BTC=5; beyond it creates are 503 capacity"`
	CapFloat      string `env:"CAPACITY_FLOAT" doc:"most fiat per currency that may be promised to receivers and not paid in live mode: NGN=500000000; beyond it creates are 503 capacity"`
}

// narrow puts the configured bounds of one payment into the policy.
func (s limitSettings) narrow(policy *payment.Policy) error {
	for part := range strings.SplitSeq(s.Transaction, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, figures, _ := strings.Cut(part, "=")
		low, high, _ := strings.Cut(figures, "-")
		least, lowErr := money.Parse(low)
		most, highErr := money.Parse(high)
		bounds, known := policy.Limits[money.Currency(name)]
		if !known || lowErr != nil || highErr != nil || least.LessThan(bounds.Min) || most.GreaterThan(bounds.Max) || most.LessThan(least) {
			return fmt.Errorf("TRANSACTION_LIMITS: %q is no narrower range of a currency, such as NGN=100-5000000", part)
		}
		bounds.Min, bounds.Max = least, most
		policy.Limits[money.Currency(name)] = bounds
	}
	return nil
}

// minimums reads the least payments of a mode in crypto.
func (s limitSettings) minimums(mode tenant.Mode) (quote.Minimums, error) {
	out, text := quote.Minimums{}, s.MinimumsTest
	if mode == tenant.Live {
		out, text = quote.Worthwhile(), s.MinimumsLive
	}
	return out, out.Set(text)
}

// daily reads the daily limits of every key, payer and receiver.
func (s limitSettings) daily() (map[string]map[money.Currency]decimal.Decimal, error) {
	out := map[string]map[money.Currency]decimal.Decimal{}
	for name, c := range map[string]struct{ kind, text string }{
		"DAILY_LIMIT_KEY": {admission.LimitKey, s.DailyKey}, "DAILY_LIMIT_PAYER": {admission.LimitPayer, s.DailyPayer}, "DAILY_LIMIT_RECEIVER": {admission.LimitReceiver, s.DailyReceiver},
	} {
		limits, err := amounts(c.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[c.kind] = limits
	}
	return out, nil
}

// caps reads the most money of live mode that may be open.
func (s limitSettings) caps() (admission.Exposure, error) {
	fiat, err := amounts(s.CapFloat)
	if err != nil {
		return admission.Exposure{}, fmt.Errorf("CAPACITY_FLOAT: %w", err)
	}
	crypto := map[string]decimal.Decimal{}
	for part := range strings.SplitSeq(s.CapCrypto, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, figure, _ := strings.Cut(part, "=")
		symbol, known := pricing.Symbol(name)
		most, err := money.Parse(figure)
		if !known || err != nil || !most.IsPositive() {
			return admission.Exposure{}, fmt.Errorf("CAPACITY_CRYPTO: %q is no amount of an asset, such as USDT=500000", part)
		}
		crypto[symbol] = most
	}
	return admission.Exposure{Crypto: crypto, Fiat: fiat}, nil
}
