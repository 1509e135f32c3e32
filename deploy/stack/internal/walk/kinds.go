package walk

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
)

// Gift walks a gift that is paid and then claimed by somebody without a key.
func Gift(ctx context.Context, con *progress.Printer, product state.Product) error {
	return begin(ctx, con, product, "one gift, paid and then claimed:", func(ctx context.Context, w walker) error {
		reference, err := w.make(ctx, map[string]any{
			"type": "gift", "fiatAmount": 20000, "fiatCurrency": "NGN", "crypto": "USDC", "network": "base", "payer": map[string]string{"chatId": "walk"},
		})
		if err != nil {
			return err
		}
		if err := w.deposit(ctx, reference); err != nil {
			return err
		}
		if err := w.reach(ctx, reference, "confirmed"); err != nil {
			return err
		}
		var answer struct {
			Message string `json:"message"`
			Payment struct {
				Receiver struct {
					AccountName string `json:"accountName"`
					BankName    string `json:"bankName"`
				} `json:"receiver"`
			} `json:"payment"`
		}
		err = w.call(ctx, http.MethodPost, "/v1/payments/gifts/"+reference+"/claim/confirm", map[string]any{
			"receiver": map[string]string{"bankCode": "044", "accountNumber": "1234567890"},
		}, &answer)
		if err != nil {
			return fmt.Errorf("claim the gift: %w", err)
		}
		w.say("claimed    for %s at %s: %s", answer.Payment.Receiver.AccountName, answer.Payment.Receiver.BankName, answer.Message)
		return w.follow(ctx, reference)
	})
}

// Request walks a request that its payer fulfils without a key, in the crypto of its choice.
func Request(ctx context.Context, con *progress.Printer, product state.Product) error {
	return begin(ctx, con, product, "one request, fulfilled in the crypto of the payer's choice:", func(ctx context.Context, w walker) error {
		reference, err := w.make(ctx, map[string]any{
			"type": "request", "fiatAmount": 2500, "fiatCurrency": "KES", "receiver": map[string]string{"bankCode": "01", "accountNumber": "1234567890"},
		})
		if err != nil {
			return err
		}
		var answer struct {
			Message string  `json:"message"`
			Payment payment `json:"payment"`
		}
		err = w.call(ctx, http.MethodPost, "/v1/payments/requests/"+reference+"/fulfill", map[string]any{
			"payer": map[string]string{"chatId": "walk"}, "crypto": "SOL", "network": "solana",
		}, &answer)
		if err != nil {
			return fmt.Errorf("fulfil the request: %w", err)
		}
		p := answer.Payment
		w.say("fulfilled  %s: %s %s for %s %s at %s", answer.Message, p.CryptoAmount, p.Crypto, p.FiatAmount, p.FiatCurrency, p.Rate)
		if err := w.deposit(ctx, reference); err != nil {
			return err
		}
		return w.follow(ctx, reference)
	})
}

// begin runs one walk with a receiver of its own.
func begin(ctx context.Context, con *progress.Printer, product state.Product, title string, walk func(context.Context, walker) error) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	hooks, err := listen(product.WebhookSecret)
	if err != nil {
		return err
	}
	defer hooks.close()
	con.Print("%s", title)
	return walk(ctx, walker{con: con, product: product, began: time.Now(), hooks: hooks})
}

// make creates a payment that calls this walk back.
func (w walker) make(ctx context.Context, body map[string]any) (reference string, err error) {
	var answer struct {
		Payment payment `json:"payment"`
	}
	body["callbackUrl"] = w.hooks.url
	if err := w.call(ctx, http.MethodPost, "/v1/payments", body, &answer); err != nil {
		return "", fmt.Errorf("create a %s: %w", body["type"], err)
	}
	p := answer.Payment
	w.say("created    %s: %s %s, %s", p.Reference, p.FiatAmount, p.FiatCurrency, p.Status)
	return p.Reference, nil
}

// reach waits until GET shows the status.
func (w walker) reach(ctx context.Context, reference, status string) error {
	for {
		var answer struct {
			Payment payment `json:"payment"`
		}
		err := w.call(ctx, http.MethodGet, "/v1/payments/"+reference, nil, &answer)
		if err == nil && answer.Payment.Status == status {
			w.say("%-10s %s", status, detail(answer.Payment))
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("payment %s is %s, not %s", reference, answer.Payment.Status, status)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
