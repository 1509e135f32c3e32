//go:build live

package causeway

// The client and its examples against a running product: CAUSEWAY_URL, and a test key of a merchant of its own in
// CAUSEWAY_API_KEY and CAUSEWAY_PUBLIC_KEY. TestSDK_go of deploy/e2e runs it.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func clients(t *testing.T) (plain, signed *Client) {
	t.Helper()
	o := Options{BaseURL: os.Getenv("CAUSEWAY_URL"), APIKey: os.Getenv("CAUSEWAY_API_KEY"), Mode: ModeTest}
	plain, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	o.PublicKey = os.Getenv("CAUSEWAY_PUBLIC_KEY")
	if signed, err = New(o); err != nil {
		t.Fatal(err)
	}
	return plain, signed
}

func transfer() CreatePayment {
	return CreatePayment{
		Type: PaymentTypeTransfer, FiatAmount: MustDecimal("1234567.89"), FiatCurrency: FiatCurrencyNGN, Crypto: "USDT", Network: "tron",
		ChargeFrom: "crypto", Payer: &CreatePaymentPayer{ChatID: "42"}, Receiver: &CreatePaymentReceiver{BankCode: "058", AccountNumber: "0123456789"},
	}
}

func TestLive_exactAmounts(t *testing.T) {
	plain, signed := clients(t)
	chat := fmt.Sprint(time.Now().UnixNano())
	body := transfer()
	body.Payer.ChatID, body.Metadata = chat, map[string]any{"order": 17}
	for i, c := range []*Client{plain, signed} {
		key := IdempotencyKey(fmt.Sprintf("%s-%d", chat, i))
		made, err := c.CreatePayment(t.Context(), body, key)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.CreatePayment(t.Context(), body, key)
		if err != nil || again.Payment.Reference != made.Payment.Reference {
			t.Errorf("create under the same key: got %+v, %v; want the first payment", again, err)
		}
		read, err := c.GetPayment(t.Context(), made.Payment.Reference)
		if err != nil || read.Payment.FiatAmount.String() != "1234567.89" || !read.Payment.CryptoAmount.Equal(*made.Payment.CryptoAmount) {
			t.Errorf("read the payment: got %+v, %v", read, err)
		}
		if string(read.Payment.Metadata) != `{"order":17}` {
			t.Errorf("read the metadata: got %s", read.Payment.Metadata)
		}
	}
	found := 0
	for p, err := range signed.IteratePayments(t.Context(), ListPaymentsQuery{PayerChatID: chat, Limit: 1}) {
		if err != nil || p.FiatAmount.String() != "1234567.89" {
			t.Fatalf("list: got %+v, %v", p, err)
		}
		found++
	}
	if found != 2 {
		t.Errorf("listed %d payments, want 2", found)
	}
	if _, err := plain.GetPayment(t.Context(), "CW-AAAAAAAAAAAAAA"); func() bool {
		e, ok := errors.AsType[*APIError](err)
		return !ok || e.Code != CodePaymentNotFound || e.RequestID == ""
	}() {
		t.Errorf("read an unknown payment: got %v", err)
	}
}

func TestLive_aLostAnswerMakesNoSecondPayment(t *testing.T) {
	plain, _ := clients(t)
	target, err := url.Parse(os.Getenv("CAUSEWAY_URL"))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if calls++; calls == 1 {
				_, _ = io.Copy(io.Discard, r.Body)
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	s := httptest.NewServer(proxy)
	defer s.Close()
	lossy, err := New(Options{BaseURL: s.URL, APIKey: os.Getenv("CAUSEWAY_API_KEY")})
	if err != nil {
		t.Fatal(err)
	}
	body := transfer()
	body.Payer.ChatID = fmt.Sprint("lost", time.Now().UnixNano())
	made, err := lossy.CreatePayment(t.Context(), body)
	if err != nil || calls != 2 {
		t.Fatalf("create: %v after %d calls", err, calls)
	}
	var listed []string
	for p, err := range plain.IteratePayments(t.Context(), ListPaymentsQuery{PayerChatID: body.Payer.ChatID}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, p.Reference)
	}
	if !slices.Equal(listed, []string{made.Payment.Reference}) {
		t.Errorf("listed %v, want %s alone", listed, made.Payment.Reference)
	}
}

func TestLive_webhooks(t *testing.T) {
	plain, _ := clients(t)
	old, err := plain.GetWebhookSecret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := plain.RotateWebhookSecret(t.Context(), WebhookRotation{})
	if err != nil {
		t.Fatal(err)
	}
	settled := make(chan *PaymentEventData, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, secrets := range [][]string{{old.Secret}, {fresh.Secret}, {fresh.Secret, old.Secret}} {
			event, err := VerifyWebhook(body, r.Header, secrets...)
			if err != nil {
				t.Errorf("verify a webhook: %v", err)
				continue
			}
			if event.Type != "payment.settled" {
				continue
			}
			data, err := event.Payment()
			if err != nil {
				t.Errorf("read a webhook: %v", err)
				continue
			}
			select {
			case settled <- data:
			default: // the same event, verified with other secrets
			}
		}
		if _, err := VerifyWebhook(append(body, ' '), r.Header, fresh.Secret, old.Secret); err == nil {
			t.Error("a changed body is genuine")
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer hook.Close()
	body := transfer()
	body.CallbackURL = hook.URL
	made, err := plain.CreatePayment(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.SandboxDepositPayment(t.Context(), made.Payment.Reference, SandboxDeposit{}); err != nil {
		t.Fatal(err)
	}
	select {
	case data := <-settled:
		if p := data.Payment; p.Reference != made.Payment.Reference || p.FiatAmount.String() != "1234567.89" {
			t.Errorf("read the event: got %+v", p)
		}
	case <-time.After(time.Minute):
		t.Fatal("no webhook payment.settled came within a minute")
	}
}

func TestLive_examples(t *testing.T) {
	plain, _ := clients(t)
	run := func(name string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", "run", "./examples/"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("run the example %s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	if out := run("transfer"); !regexp.MustCompile(`: send [0-9.]+ USDT to T\w+\n(.*\n)*CW-\w+: settled\n$`).MatchString(out) {
		t.Errorf("transfer printed %s", out)
	}
	if out := run("list"); !regexp.MustCompile(`(?m)^[0-9]+(\.[0-9]+)? NGN$`).MatchString(out) {
		t.Errorf("list printed %s", out)
	}
	secret, err := plain.GetWebhookSecret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := t.TempDir() + "/webhooks"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/webhooks").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	shop := exec.CommandContext(t.Context(), program)
	shop.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret.Secret, "PORT=0")
	printed, err := shop.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shop.Process.Kill(); _ = shop.Wait() }()
	lines := bufio.NewScanner(printed)
	lines.Scan()
	at := strings.TrimPrefix(lines.Text(), "listening on ")
	forged, err := http.Post(at, "application/json", bytes.NewReader([]byte(`{}`)))
	if err != nil {
		t.Fatal(err)
	}
	_ = forged.Body.Close()
	if forged.StatusCode != http.StatusBadRequest {
		t.Errorf("a forged webhook: got %d, want 400", forged.StatusCode)
	}
	body := transfer()
	body.FiatAmount, body.CallbackURL = MustDecimal("5000"), at
	made, err := plain.CreatePayment(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.SandboxDepositPayment(t.Context(), made.Payment.Reference, SandboxDeposit{}); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "payment.settled") {
			if line != "payment.settled "+made.Payment.Reference+": 5000 NGN" {
				t.Errorf("webhooks printed %s", line)
			}
			return
		}
	}
	t.Error("webhooks printed no payment.settled")
}
