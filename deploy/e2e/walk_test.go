//go:build integration

package e2e

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

var (
	reference = regexp.MustCompile(`^CW-G?AA[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{12}$`)
	instant   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// Fields of docs/api-contract.md#answers, and those that docs/api-contract.md#reading-a-payment adds.
var (
	createFields = []string{
		"reference", "type", "status", "depositAddress", "cryptoAmount", "crypto", "network", "fiatAmount", "fiatCurrency",
		"transactionUsd", "rate", "charge", "expiresAt",
	}
	getFields = append(slices.Clone(createFields), "txHash", "confirmations", "receivedAmount", "confirmedAt", "settledAt",
		"payoutAmount", "feeScheduleId", "exception", "createdAt", "metadata", "transfers", "refunds", "receiver")
	getMayHave = []string{"payout", "preferred", "checkoutUrl", "paymentUri"}
	walkEvents = []string{"payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled"}
)

type walkCase struct {
	name          string
	change        api.Object
	network       string // as answered
	quoteDigits   int
	address       *regexp.Regexp
	fee           func(fiat *big.Rat) string // docs/api-contract.md#fees
	crypto, gross bool                       // chargeFrom crypto; crypto-first
}

var (
	evmAddress     = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	tronAddress    = regexp.MustCompile(`^T[1-9A-HJ-NP-Za-km-z]{33}$`)
	bitcoinAddress = regexp.MustCompile(`^(bc1|tb1|bcrt1)[0-9a-z]{20,80}$`)
	solanaAddress  = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)
)

func flat(fee string) func(*big.Rat) string { return func(*big.Rat) string { return fee } }

func walkCases() []walkCase {
	return []walkCase{
		{
			name: "fiat first, charge from crypto", network: "erc20", quoteDigits: 4, address: evmAddress, crypto: true, fee: flat("500"),
			change: api.Object{"metadata": api.Object{"order": "o-1", "deep": api.Object{"n": 1}}},
		},
		{
			name: "fiat first, charge from fiat", network: "tron", quoteDigits: 4, address: tronAddress, fee: flat("1000"),
			change: api.Object{"chargeFrom": "fiat", "fiatAmount": json.Number("150000.55"), "network": "TRON", "crypto": "usdt"},
		},
		{
			name: "crypto first, charge from crypto", network: "bsc", quoteDigits: 4, address: evmAddress, crypto: true, gross: true, fee: flat("500"),
			change: api.Object{"fiatAmount": nil, "cryptoAmount": json.Number("12.5"), "network": "bsc"},
		},
		{
			name: "crypto first, charge from fiat", network: "btc", quoteDigits: 8, address: bitcoinAddress, gross: true, fee: flat("1000"),
			change: api.Object{"fiatAmount": nil, "cryptoAmount": json.Number("0.00123456"), "network": "btc", "crypto": "BTC", "chargeFrom": "fiat"},
		},
		{
			name: "a fee of at most a tenth", network: "solana", quoteDigits: 4, address: solanaAddress, crypto: true,
			fee:    func(fiat *big.Rat) string { return api.Ceil(new(big.Rat).Quo(fiat, api.Rat("10")), 2).FloatString(2) },
			change: api.Object{"fiatAmount": json.Number("1234.56"), "network": "solana", "crypto": "USDC"},
		},
		{
			name: "another currency", network: "polygon", quoteDigits: 4, address: evmAddress, fee: flat("50"),
			change: api.Object{
				"fiatAmount": 5000, "fiatCurrency": "KES", "network": "polygon", "crypto": "POL", "chargeFrom": "fiat",
				"receiver": api.Object{"bankCode": "01", "accountNumber": "1234567890"},
			},
		},
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, test := range walkCases() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, c := shared(t)
			hook, path := hooks(t, s.WebhookSecret)
			body := transfer(test.change)
			body["callbackUrl"] = hook.URL(path)
			made := create(t, c, body)
			checkCreated(t, made, test)
			ref := made.Text(t, "payment.reference")
			checkPending(t, get(t, c, ref), made, body)

			deposit(t, c, ref, nil)
			settled := awaitStatus(t, c, ref, "settled")
			checkSettled(t, settled, made)
			awaitExactly(t, hook, path, walkEvents...)
			clean(t, hook)
			paidOnce(t, s, ref)
			last := events(hook, path)[len(walkEvents)-1]
			checkEvent(t, api.Parse(t, last.Body), settled)
		})
	}
}

// checkCreated holds the create answer to its exact fields, formats and the money rules of docs/api-contract.md#money.
func checkCreated(t *testing.T, a *api.Answer, test walkCase) {
	t.Helper()
	sameSet(t, "the answer", a.Keys(t, ""), "success", "payment")
	sameSet(t, "the created payment", a.Keys(t, "payment"), createFields...)
	sameSet(t, "charge", a.Keys(t, "payment.charge"), "fiat", "crypto", "usd")
	for path, want := range map[string]string{"type": "transfer", "status": "pending", "network": test.network} {
		if got := a.Text(t, "payment."+path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := a.Text(t, "payment.reference"); !reference.MatchString(got) {
		t.Errorf("reference %q", got)
	}
	if got := a.Text(t, "payment.depositAddress"); !test.address.MatchString(got) {
		t.Errorf("deposit address %q", got)
	}
	expires := a.Text(t, "payment.expiresAt")
	at, err := time.Parse(time.RFC3339Nano, expires)
	if left := time.Until(at); err != nil || !instant.MatchString(expires) || left < 29*time.Minute || left > 31*time.Minute {
		t.Errorf("expiresAt %q, in %v", expires, left)
	}
	fiat, owed, rate := a.Number(t, "payment.fiatAmount"), a.Number(t, "payment.cryptoAmount"), a.Number(t, "payment.rate")
	fee := a.Number(t, "payment.charge.fiat")
	if want := api.Rat(test.fee(fiat)); fee.Cmp(want) != 0 {
		t.Errorf("fee %s for %s, want %s", fee.FloatString(2), fiat.FloatString(2), want.FloatString(2))
	}
	gross := new(big.Rat).Set(fiat)
	if test.crypto {
		gross.Add(gross, fee)
	}
	if test.gross {
		if want := api.Rat(string(test.change["cryptoAmount"].(json.Number))); owed.Cmp(want) != 0 {
			t.Errorf("cryptoAmount %s, want %s as asked", owed.FloatString(8), want.FloatString(8))
		}
		if want := api.Floor(new(big.Rat).Mul(owed, rate), 2); gross.Cmp(want) != 0 {
			t.Errorf("gross %s, want %s = cryptoAmount × rate, down", gross.FloatString(4), want.FloatString(4))
		}
	} else if want := api.Ceil(new(big.Rat).Quo(gross, rate), test.quoteDigits); owed.Cmp(want) != 0 {
		t.Errorf("cryptoAmount %s, want %s", owed.FloatString(10), want.FloatString(10))
	}
	if want := api.HalfUp(new(big.Rat).Quo(fee, rate), 8); a.Number(t, "payment.charge.crypto").Cmp(want) != 0 {
		t.Errorf("charge.crypto %s, want %s", a.Number(t, "payment.charge.crypto").FloatString(10), want.FloatString(10))
	}
	checkUSD(t, a, fiat, fee)
}

// checkUSD: both usd values come from the same locked fiat-per-USD leg, to 2 digits.
func checkUSD(t *testing.T, a *api.Answer, fiat, fee *big.Rat) {
	t.Helper()
	usd, feeUSD := a.Number(t, "payment.transactionUsd"), a.Number(t, "payment.charge.usd")
	cent := big.NewRat(1, 100)
	if usd.Sign() <= 0 || api.Floor(usd, 2).Cmp(usd) != 0 || api.Floor(feeUSD, 2).Cmp(feeUSD) != 0 {
		t.Errorf("usd %s and %s are not whole cents", usd.FloatString(6), feeUSD.FloatString(6))
	}
	low, high := new(big.Rat).Sub(usd, cent), new(big.Rat).Add(usd, cent)
	share := new(big.Rat).Quo(fee, fiat)
	low.Mul(low, share).Sub(low, cent)
	high.Mul(high, share).Add(high, cent)
	if feeUSD.Cmp(low) < 0 || feeUSD.Cmp(high) > 0 {
		t.Errorf("charge.usd %s for transactionUsd %s", feeUSD.FloatString(4), usd.FloatString(4))
	}
}

func checkGetFields(t *testing.T, a *api.Answer) {
	t.Helper()
	sameSet(t, "the answer", a.Keys(t, ""), "success", "payment")
	have := a.Keys(t, "payment")
	for _, name := range getFields {
		if !slices.Contains(have, name) {
			t.Errorf("GET lacks %s", name)
		}
	}
	for _, name := range have {
		if !slices.Contains(getFields, name) && !slices.Contains(getMayHave, name) {
			t.Errorf("GET has %s", name)
		}
	}
}

// checkPending holds GET right after the create to docs/api-contract.md#reading-a-payment.
func checkPending(t *testing.T, a, made *api.Answer, body api.Object) {
	t.Helper()
	checkGetFields(t, a)
	for _, name := range createFields {
		if name == "charge" {
			continue
		}
		was, _ := made.At("payment." + name)
		if is, _ := a.At("payment." + name); is != was {
			t.Errorf("%s was %v and is %v", name, was, is)
		}
	}
	if a.Text(t, "payment.txHash") != "" || a.Number(t, "payment.confirmations").Sign() != 0 || a.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("an unpaid payment shows money: %s", a.Body)
	}
	for _, name := range []string{"confirmedAt", "settledAt", "exception"} {
		if !a.Null("payment." + name) {
			t.Errorf("%s is not null", name)
		}
	}
	if got := a.Text(t, "payment.createdAt"); !instant.MatchString(got) {
		t.Errorf("createdAt %q", got)
	}
	if a.Len(t, "payment.transfers") != 0 {
		t.Error("transfers of an unpaid payment")
	}
	if _, sent := body["metadata"]; sent {
		if a.Text(t, "payment.metadata.order") != "o-1" || a.Number(t, "payment.metadata.deep.n").Cmp(api.Rat("1")) != 0 {
			t.Errorf("metadata came back changed: %s", a.Body)
		}
	} else if len(a.Keys(t, "payment.metadata")) != 0 {
		t.Error("metadata that nobody sent")
	}
	number := body["receiver"].(api.Object)["accountNumber"].(string)
	if got := a.Text(t, "payment.receiver.accountNumber"); got == number || got[len(got)-4:] != number[len(number)-4:] {
		t.Errorf("account number %q is not masked to its last four digits", got)
	}
	if a.Text(t, "payment.receiver.accountName") == "" || a.Text(t, "payment.receiver.bankName") == "" {
		t.Errorf("receiver without names: %s", a.Body)
	}
}

// checkSettled holds the settled payment to what was quoted.
func checkSettled(t *testing.T, a, made *api.Answer) {
	t.Helper()
	checkGetFields(t, a)
	if got, want := a.Number(t, "payment.receivedAmount"), made.Number(t, "payment.cryptoAmount"); got.Cmp(want) != 0 {
		t.Errorf("received %s, want %s", got.FloatString(8), want.FloatString(8))
	}
	for _, name := range []string{"confirmedAt", "settledAt"} {
		if got := a.Text(t, "payment."+name); !instant.MatchString(got) {
			t.Errorf("get a settled payment: %s is %q, want an instant", name, got)
		}
	}
	if !a.Null("payment.exception") {
		t.Errorf("exception in a plain walk: %s", a.Body)
	}
	if a.Text(t, "payment.txHash") == "" || a.Number(t, "payment.confirmations").Sign() <= 0 || a.Len(t, "payment.transfers") != 1 {
		t.Errorf("no transaction is shown: %s", a.Body)
	}
	sameSet(t, "a transfer", a.Keys(t, "payment.transfers.0"), "txHash", "amount", "confirmations", "firstSeenAt")
	payout := a.Number(t, "payment.payoutAmount")
	want := new(big.Rat).Set(a.Number(t, "payment.fiatAmount"))
	if owed := new(big.Rat).Mul(a.Number(t, "payment.cryptoAmount"), a.Number(t, "payment.rate")); fromFiat(t, a, owed) {
		want.Sub(want, a.Number(t, "payment.charge.fiat"))
	}
	if payout.Cmp(want) != 0 || a.Number(t, "payment.payout.amount").Cmp(want) != 0 {
		t.Errorf("payoutAmount %s, want %s: %s", payout.FloatString(2), want.FloatString(2), a.Body)
	}
	if a.Text(t, "payment.payout.currency") != a.Text(t, "payment.fiatCurrency") {
		t.Error("paid out in another currency")
	}
}

// fromFiat tells from the amounts whether the fee was taken from the payout: then the payer owes no fee on top.
func fromFiat(t *testing.T, a *api.Answer, owed *big.Rat) bool {
	t.Helper()
	half := new(big.Rat).Quo(a.Number(t, "payment.charge.fiat"), big.NewRat(2, 1))
	return owed.Cmp(half.Add(half, a.Number(t, "payment.fiatAmount"))) < 0
}

// checkEvent: the callback carries the payment as GET shows it, with its sequence.
func checkEvent(t *testing.T, event, settled *api.Answer) {
	t.Helper()
	sameSet(t, "the event", event.Keys(t, ""), "id", "type", "createdAt", "mode", "data")
	if event.Text(t, "mode") != "test" || !instant.MatchString(event.Text(t, "createdAt")) {
		t.Errorf("event %s", event.Body)
	}
	fields := slices.DeleteFunc(event.Keys(t, "data.payment"), func(name string) bool { return name == "sequence" })
	sameSet(t, "the payment in the event", fields, settled.Keys(t, "payment")...)
	for _, name := range []string{"reference", "status", "depositAddress", "fiatAmount", "cryptoAmount", "receivedAmount", "payoutAmount", "settledAt"} {
		in, _ := event.At("data.payment." + name)
		if shown, _ := settled.At("payment." + name); in != shown {
			t.Errorf("%s is %v in the event and %v in GET", name, in, shown)
		}
	}
}

// TestUnpaidStaysPending: without a deposit a payment stays pending, and its callback has heard of that and no more.
func TestUnpaidStaysPending(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)}))
	awaitExactly(t, hook, path, "payment.pending")
	ref := made.Text(t, "payment.reference")
	if got := get(t, c, ref).Text(t, "payment.status"); got != "pending" {
		t.Errorf("status %q", got)
	}
}
