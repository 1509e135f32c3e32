// Package walk shows sandbox payments from their creation to their settlement, with every callback received and
// verified, the way a merchant would see it. It uses HTTP and the standard library only.
package walk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
)

const patience = 45 * time.Second

// path is the life of an ordinary transfer (docs/api-contract.md#payment-life). GET may miss a short state; callbacks
// never do.
func path() []string { return []string{"pending", "confirming", "confirmed", "settling", "settled"} }

type walker struct {
	con     *progress.Printer
	product state.Product
	began   time.Time
	hooks   *receiver
}

// Payment walks one payment and returns its reference.
func Payment(ctx context.Context, con *progress.Printer, product state.Product) (reference string, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	hooks, err := listen(product.WebhookSecret)
	if err != nil {
		return "", err
	}
	defer hooks.close()
	w := walker{con: con, product: product, began: time.Now(), hooks: hooks}
	con.Print("one payment, from creation to settled:")
	reference, err = w.create(ctx)
	if err != nil {
		return "", err
	}
	if err := w.deposit(ctx, reference); err != nil {
		return "", err
	}
	if err := w.follow(ctx, reference); err != nil {
		return "", fmt.Errorf("payment %s: %w", reference, err)
	}
	return reference, nil
}

func (w walker) say(format string, args ...any) {
	w.con.Print("  %6d ms  %s", time.Since(w.began).Milliseconds(), fmt.Sprintf(format, args...))
}

// payment is what the walk reads of a payment; numbers are kept as they were written.
type payment struct {
	Reference      string      `json:"reference"`
	Status         string      `json:"status"`
	DepositAddress string      `json:"depositAddress"`
	CryptoAmount   json.Number `json:"cryptoAmount"`
	Crypto         string      `json:"crypto"`
	Network        string      `json:"network"`
	FiatAmount     json.Number `json:"fiatAmount"`
	FiatCurrency   string      `json:"fiatCurrency"`
	Rate           json.Number `json:"rate"`
	TxHash         string      `json:"txHash"`
	Confirmations  json.Number `json:"confirmations"`
}

func (w walker) create(ctx context.Context) (string, error) {
	var answer struct {
		Payment payment `json:"payment"`
	}
	err := w.call(ctx, http.MethodPost, "/v1/payments", map[string]any{
		"type": "transfer", "fiatAmount": 50000, "fiatCurrency": "NGN", "crypto": "USDT", "network": "tron", "chargeFrom": "fiat",
		"payer":       map[string]string{"chatId": "walk"},
		"receiver":    map[string]string{"bankCode": "058", "accountNumber": "0123456789"},
		"metadata":    map[string]string{"from": "make run"},
		"callbackUrl": w.hooks.url,
	}, &answer)
	if err != nil {
		return "", fmt.Errorf("create a payment: %w", err)
	}
	p := answer.Payment
	w.say("created    %s: %s %s for %s %s at %s", p.Reference, p.FiatAmount, p.FiatCurrency, p.CryptoAmount, p.Crypto, p.Rate)
	w.say("%-10s waiting for the deposit to %s on %s", p.Status, p.DepositAddress, p.Network)
	return p.Reference, nil
}

func (w walker) deposit(ctx context.Context, reference string) error {
	var answer map[string]any
	if err := w.call(ctx, http.MethodPost, "/v1/sandbox/payments/"+reference+"/deposits", map[string]any{}, &answer); err != nil {
		return fmt.Errorf("make a deposit on the simulated chain: %w", err)
	}
	w.say("deposit    sent on the simulated chain")
	return nil
}

// follow prints statuses and callbacks as they come, until the payment is settled and each of its states has been
// called back with a valid signature.
func (w walker) follow(ctx context.Context, reference string) error {
	last, told := "pending", map[string]bool{}
	for {
		for _, hook := range w.hooks.take() {
			if hook.err != nil {
				return fmt.Errorf("callback %s: %w", hook.id, hook.err)
			}
			w.say("callback   %s received, signature verified (%s)", hook.kind, hook.id)
			told[strings.TrimPrefix(hook.kind, "payment.")] = true
		}
		var answer struct {
			Payment payment `json:"payment"`
		}
		err := w.call(ctx, http.MethodGet, "/v1/payments/"+reference, nil, &answer)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("read the payment: %w", err)
		}
		if p := answer.Payment; err == nil && p.Status != last {
			last = p.Status
			w.say("%-10s %s", p.Status, detail(p))
			if !slices.Contains(path(), p.Status) {
				return fmt.Errorf("it went astray: status %s", p.Status)
			}
		}
		missing := slices.DeleteFunc(path(), func(status string) bool { return told[status] })
		if last == "settled" && len(missing) == 0 {
			w.say("done       settled, and every callback verified")
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s it is %s, without callbacks for %v", patience, last, missing)
		case <-w.hooks.arrived:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func detail(p payment) string {
	switch p.Status {
	case "confirming":
		return "transaction " + p.TxHash + " seen"
	case "confirmed":
		return p.Confirmations.String() + " confirmations"
	case "settling":
		return "bank payout sent"
	case "settled":
		return "bank payout succeeded"
	}
	return ""
}

func (w walker) call(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("render the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, w.product.BaseURL+path, content)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+w.product.APIKey)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("send the request: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return errors.New(response.Status + ": " + string(text))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
