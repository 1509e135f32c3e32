//go:build integration

package e2e

import (
	"bytes"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/testkit/venue"
)

// realStack is a stack whose live mode has everything: a chain, prices from servers that answer as the exchanges
// document, and rails that answer as Paystack and Flutterwave do. It is called simulated because none of it has TLS.
func realStack(t testing.TB, n *node, v *venue.Server, b *bank.Server) *stack.Stack {
	t.Helper()
	payments := map[string]string{
		"ALLOW_SIMULATED_LIVE": "true", "CALLBACK_ALLOW_LIVE": loopback, "ADDRESS_FAMILIES_LIVE": "evm",
		"MINIMUMS_LIVE": "ethereum/USDT=1", "RATES_LIVE": "market", "RAIL_LIVE": "paystack,flutterwave",
		"PAYSTACK_URL": b.Base(bank.Paystack), "PAYSTACK_KEY_NGN": bank.PaystackKey, "PAYSTACK_KEY_KES": bank.PaystackKey,
		"CAPACITY_CRYPTO": "USDT=1000000", "CAPACITY_FLOAT": "NGN=1000000000",
		"FLUTTERWAVE_URL": b.Base(bank.Flutterwave), "FLUTTERWAVE_KEY": bank.FlutterwaveKey, "FLUTTERWAVE_HASH": bank.FlutterwaveHash,
	}
	for name, source := range map[string]string{
		"BINANCE": venue.Binance, "COINBASE": venue.Coinbase, "COINBASE_FX": venue.CoinbaseFX, "KRAKEN": venue.Kraken, "QUIDAX": venue.Quidax,
		"LUNO": venue.Luno, "PAYCREST": venue.Paycrest, "OPEN_ER_API": venue.ERAPI,
	} {
		payments["RATE_"+name+"_URL"] = v.Base(source)
	}
	s := stack.New(t, stack.Options{Env: map[string]map[string]string{
		"payments": payments,
		"wallets": {
			"EVM_ETHEREUM_RPC_URLS": n.RPCURL, "EVM_ETHEREUM_CHAIN_ID": fmt.Sprint(n.ChainID), "EVM_ETHEREUM_TOKENS": "USDT:" + n.Tokens["USDT"],
			"XPUB_LIVE_EVM": liveEVM, "EVM_ETHEREUM_POLL": "100ms", "EVM_ETHEREUM_ROLLBACK_GRACE": "500ms", "SCANNED_EVERY_LIVE": "500ms",
		},
		"callback-dispatcher": {"CALLBACK_ALLOW_LIVE": loopback},
	}})
	awaitNetwork(t, client(t, s), "ethereum", "")
	return s
}

// TestLiveRails walks live payments to banks over Paystack and Flutterwave, at prices of a market.
func TestLiveRails(t *testing.T) {
	t.Parallel()
	n, v, b := startNode(t), venue.Start(t), bank.Start(t)
	s := realStack(t, n, v, b)
	c, secret := liveMerchant(t, s)
	api.Eventually(t, soon, "prices", func() bool {
		return c.Call(t, http.MethodGet, "/v1/rates?fiat=NGN&crypto=USDT", nil).Status == http.StatusOK
	})
	w := &liveRails{n, v, b, s, c, secret}
	t.Run("serves the numbers that quotes use", w.rates)
	t.Run("pays over Paystack", w.paystack)
	t.Run("finds by query what a timeout hid", w.timeout)
	t.Run("is sped up by a webhook", w.webhook)
	t.Run("pays over Flutterwave what Paystack refuses", w.flutterwave)
	t.Run("lists the banks of the rails", w.banks)
	t.Run("shows a test key its own mode", w.testKey)
	t.Run("names nobody where the corridor does not", w.nameless)
	t.Run("refuses a price without its peg", w.refusal)
	t.Run("exports what alerts and dashboards ask for", func(t *testing.T) { everyMetric(t, s) })
}

type liveRails struct {
	n      *node
	v      *venue.Server
	b      *bank.Server
	s      *stack.Stack
	c      *api.Client
	secret string
}

// funded is a payment whose money is on the chain, deep enough.
func (w *liveRails) funded(t *testing.T) (ref string, made *api.Answer) {
	t.Helper()
	made = create(t, w.c, transfer(api.Object{"network": "ethereum"}))
	ref = made.Text(t, "payment.reference")
	w.n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	w.n.mine(t, 13)
	return ref, made
}

// attempt is the reference of an attempt at a rail.
func attempt(ref, n string) string { return strings.ToLower(ref) + "-" + n }

// once checks that exactly one transfer was made at a rail, of the payout's amount, whatever was ordered.
func (w *liveRails) once(t *testing.T, rail, reference, amount string) {
	t.Helper()
	line, ok := w.b.Find(rail, reference)
	if !ok || w.b.Made(rail, reference) != 1 {
		t.Fatalf("%d transfers at %s for %s", w.b.Made(rail, reference), rail, reference)
	}
	paid, ok := new(big.Rat).SetString(line.Amount)
	if !ok || paid.Cmp(api.Rat(amount)) != 0 || line.Currency != "NGN" {
		t.Errorf("%s %s were paid, want NGN %s", line.Currency, line.Amount, amount)
	}
}

func (w *liveRails) rates(t *testing.T) {
	a := w.c.Call(t, http.MethodGet, "/v1/rates?fiat=NGN&crypto=USDT", nil).Want(t, http.StatusOK)
	if a.Len(t, "rates") != 1 || a.Number(t, "rates.0.sources").Cmp(api.Rat("4")) < 0 || a.Number(t, "rates.0.ageSeconds").Cmp(api.Rat("180")) > 0 {
		t.Errorf("rates: %s", a.Body)
	}
	if text := string(a.Body); !strings.Contains(text, `"simulated":false`) || !strings.Contains(text, "quidax USDT/NGN") {
		t.Errorf("rates: %s", text)
	}
	made := create(t, w.c, transfer(api.Object{"network": "ethereum"}))
	if made.Number(t, "payment.rate").Cmp(a.Number(t, "rates.0.rate")) != 0 {
		t.Errorf("priced by %s, shown %s", made.Number(t, "payment.rate").FloatString(8), a.Number(t, "rates.0.rate").FloatString(8))
	}
	kept := count(t, w.s, "payments", `SELECT count(*) FROM payments WHERE reference = $1 AND price::text LIKE ALL
		(ARRAY['%kraken USDT/USD%', '%quidax USDT/NGN%', '%paycrest USDT/NGN%', '%"spreadBps":75%', '%"mid"%'])`, made.Text(t, "payment.reference"))
	if kept != 1 {
		t.Error("where the price came from is not kept with the payment")
	}
}

func (w *liveRails) paystack(t *testing.T) {
	hook, path := hooks(t, w.secret)
	made := create(t, w.c, transfer(api.Object{"network": "ethereum", "callbackUrl": hook.URL(path)}))
	ref := made.Text(t, "payment.reference")
	w.n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	w.n.mine(t, 13)
	settled := awaitStatus(t, w.c, ref, "settled")
	checkSettled(t, settled, made)
	if settled.Text(t, "payment.receiver.accountName") != "ADA OBI" {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, walkEvents...)
	clean(t, hook)
	w.once(t, bank.Paystack, attempt(ref, "1"), "25000")
}

func (w *liveRails) timeout(t *testing.T) {
	w.b.Next(bank.Paystack, bank.HangMade)
	ref, made := w.funded(t)
	checkSettled(t, awaitStatus(t, w.c, ref, "settled"), made)
	w.once(t, bank.Paystack, attempt(ref, "1"), "25000")
	if n := w.b.Orders(bank.Paystack, attempt(ref, "1")); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// webhook: after two polls the next is a minute away; a webhook has the payout asked about at once. A forged one does
// not.
func (w *liveRails) webhook(t *testing.T) {
	w.b.Decide(bank.Paystack, bank.Pending)
	defer w.b.Decide(bank.Paystack, bank.Success)
	ref, made := w.funded(t)
	mine := attempt(ref, "1")
	api.Eventually(t, settle, "the order to arrive", func() bool { return w.b.Made(bank.Paystack, mine) == 1 })
	api.Eventually(t, 2*settle, "two polls", func() bool {
		return count(t, w.s, "payments", `SELECT polls FROM payouts WHERE reference = $1`, mine) >= 3 // the third is planned
	})
	w.b.Conclude(bank.Paystack, mine, bank.Success)
	url := w.s.BaseURL + "/v1/rails/paystack/webhook"
	header, body := w.b.Webhook(bank.Paystack, mine)
	header.Set("X-Paystack-Signature", strings.Repeat("ab", 64))
	for path, want := range map[string]int{"paystack": http.StatusUnauthorized, "flutterwave": http.StatusUnauthorized, "sim": http.StatusNotFound, "x": http.StatusNotFound} {
		if got := post(t, w.s.BaseURL+"/v1/rails/"+path+"/webhook", header, body); got != want {
			t.Errorf("a forged webhook of %s: %d", path, got)
		}
	}
	if got := get(t, w.c, ref).Text(t, "payment.status"); got != "settling" {
		t.Fatalf("%s before the webhook", got)
	}
	if got := w.b.Hint(t, url, bank.Paystack, mine); got != http.StatusOK {
		t.Fatalf("the webhook was answered %d", got)
	}
	checkSettled(t, awaitStatus(t, w.c, ref, "settled"), made)
	if got := w.b.Hint(t, url, bank.Paystack, mine); got != http.StatusOK { // again, and late
		t.Errorf("a repeated webhook was answered %d", got)
	}
	w.once(t, bank.Paystack, mine, "25000")
}

func post(t *testing.T, url string, header http.Header, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func (w *liveRails) flutterwave(t *testing.T) {
	w.b.Next(bank.Paystack, bank.Refused)
	ref, made := w.funded(t)
	checkSettled(t, awaitStatus(t, w.c, ref, "settled"), made)
	if n := w.b.Made(bank.Paystack, attempt(ref, "1")); n != 0 {
		t.Errorf("%d transfers at Paystack", n)
	}
	w.once(t, bank.Flutterwave, attempt(ref, "2"), "25000")
}

// banks: once the rails' own lists are read, the banks of live mode are theirs.
func (w *liveRails) banks(t *testing.T) {
	api.Eventually(t, soon, "the rails' lists of banks", func() bool {
		text := string(w.c.Call(t, http.MethodGet, "/v1/banks?currency=NGN", nil).Want(t, http.StatusOK).Body)
		return strings.Contains(text, "Guaranty Trust Bank") && strings.Contains(text, "OPay") && !strings.Contains(text, "Access Bank")
	})
	gone := transfer(api.Object{"network": "ethereum", "receiver": api.Object{"bankCode": "044", "accountNumber": "0123456789"}})
	a := w.c.Call(t, http.MethodPost, "/v1/payments", gone).Want(t, http.StatusBadRequest)
	if a.Text(t, "error.fields.0.field") != "receiver.bankCode" {
		t.Errorf("a bank that no rail lists: %s", a.Body)
	}
}

// testKey: a test key sees the prices, banks and limits of test mode while live mode is open, and `mode` names another.
func (w *liveRails) testKey(t *testing.T) {
	test := key(t, w.s, client(t, w.s), "test", unique("mode"), "*")
	read := func(path string) string {
		return string(test.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body)
	}
	if text := read("/v1/rates?fiat=NGN&crypto=USDT"); !strings.Contains(text, `"simulated":true`) {
		t.Errorf("rates: %s, want those of test mode", text)
	}
	if text := read("/v1/rates?fiat=NGN&crypto=USDT&mode=live"); !strings.Contains(text, `"simulated":false`) {
		t.Errorf("rates of mode=live: %s", text)
	}
	if text := read("/v1/banks?currency=NGN"); !strings.Contains(text, "Access Bank") {
		t.Errorf("banks: %s, want those of test mode", text)
	}
	if text := read("/v1/networks"); strings.Contains(text, `"maximum":150000`) {
		t.Errorf("limits: %s, want those of test mode", text)
	}
	if text := read("/v1/networks?mode=live"); !strings.Contains(text, `"maximum":150000`) {
		t.Errorf("limits of mode=live: %s, want those of the rails", text)
	}
}

func (w *liveRails) nameless(t *testing.T) {
	made := create(t, w.c, transfer(api.Object{
		"network": "ethereum", "fiatCurrency": "KES", "fiatAmount": 5000, "receiver": api.Object{"bankCode": "MPESA", "accountNumber": "0712345678"},
	}))
	a := get(t, w.c, made.Text(t, "payment.reference"))
	if verified, _ := a.At("payment.receiver.nameVerified"); a.Text(t, "payment.receiver.accountName") != "" || verified != false || a.Text(t, "payment.receiver.bankName") != "M-PESA" {
		t.Errorf("receiver: %s", a.Body)
	}
	for field, body := range map[string]api.Object{
		"receiver.bankCode": {"receiver": api.Object{"bankCode": "999", "accountNumber": "0123456789"}},
		"fiatAmount":        {"fiatAmount": 50}, // below what the rail pays
	} {
		body["network"] = "ethereum"
		refused := w.c.Call(t, http.MethodPost, "/v1/payments", transfer(body)).Want(t, http.StatusBadRequest)
		if refused.Text(t, "error.fields.0.field") != field {
			t.Errorf("create a payment with a bad %s: got %s, want that field named", field, refused.Body)
		}
	}
}

// refusal comes last: a USDT that has left its peg has no price, and no payment is written.
func (w *liveRails) refusal(t *testing.T) {
	for _, pair := range []string{"USDT/USD", "kraken USDT/USD", "coinbase USDT/USD"} {
		w.v.Price(pair, "0.9")
	}
	merchant := unique("peg")
	c := key(t, w.s, client(t, w.s), "live", merchant, "*")
	api.Eventually(t, settle, "the price to go", func() bool {
		return c.Call(t, http.MethodGet, "/v1/rates?fiat=NGN&crypto=USDT", nil, api.Once).Status == http.StatusServiceUnavailable
	})
	a := c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"network": "ethereum"}), api.Once).Want(t, http.StatusServiceUnavailable)
	if a.Text(t, "error.code") != "rate_unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("refused with %s %v", a.Body, a.Header)
	}
	if n := countPayments(t, w.s, merchant); n != 0 {
		t.Errorf("%d payments were written", n)
	}
}
