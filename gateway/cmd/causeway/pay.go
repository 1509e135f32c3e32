package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// order is what pay makes.
type order struct {
	kind, amount, currency, crypto, network, charge string
	bank, account, callback, simulate               string
	wait                                            bool
}

func (c *cli) payCommand() *cobra.Command {
	var o order
	cmd := &cobra.Command{
		Use: "pay", Short: "make a payment, and in test mode pay it and watch it settle", Args: words(),
		Long: `Makes a payment and prints its reference, the amount and address to pay, and the page for its payer. With --simulate the
command plays the payer of a test payment; with --wait it prints each status and ends when no other status will follow.
A request has no crypto before its payer chooses one, so --simulate cannot pay it. A gift waits for its claim, and a
payment of type merchant or bank_confirmation waits for its settlement.

The key needs the permissions payment:create and payment:read.`,
		Example: `  causeway pay
  causeway pay --amount 50000 --simulate full --wait
  causeway pay --type gift --currency GHS --amount 500 --crypto USDC --network polygon
  causeway pay --type request --amount 25000
  causeway pay --callback http://localhost:3000/hook --simulate partial --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pay(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.kind, "type", "transfer", "transfer, gift, request, merchant or bank_confirmation")
	f.StringVar(&o.amount, "amount", "25000", "fiat amount")
	f.StringVar(&o.currency, "currency", "NGN", "NGN, GHS, KES or ZAR")
	f.StringVar(&o.crypto, "crypto", "USDT", "crypto that the payer sends; the payer of a request chooses it")
	f.StringVar(&o.network, "network", "tron", "on which network")
	f.StringVar(&o.charge, "charge-from", "crypto", "fiat or crypto: who pays the fee of a transfer")
	f.StringVar(&o.bank, "bank", "058", "bank code of the receiver")
	f.StringVar(&o.account, "account", "0123456789", "account number of the receiver")
	f.StringVar(&o.callback, "callback", "", "URL for callbacks")
	f.StringVar(&o.simulate, "simulate", "", "play the payer: full, partial, over or late (test mode)")
	f.BoolVar(&o.wait, "wait", false, "print each status until no other will follow")
	return cmd
}

func (c *cli) pay(ctx context.Context, o order) error {
	body, err := o.body()
	if err != nil {
		return err
	}
	var made answer
	if _, err := c.call(ctx, http.MethodPost, "/v1/payments", body, &made); err != nil {
		return err
	}
	reference := made.Payment.Reference
	if err := c.read(ctx, reference, &made); err != nil {
		return err
	}
	c.showPayment(made)
	if o.simulate != "" {
		var sent json.RawMessage
		in := map[string]string{"scenario": o.simulate}
		if _, err := c.call(ctx, http.MethodPost, "/v1/checkout/"+reference+"/simulate", in, &sent); err != nil {
			return err
		}
	}
	if !o.wait {
		return nil
	}
	return c.watch(ctx, made, o.simulate == "late")
}

// body is the request of the order.
func (o order) body() (map[string]any, error) {
	sum, err := amount("amount", o.amount)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"type": o.kind, "fiatAmount": sum, "fiatCurrency": o.currency}
	receiver := map[string]string{"bankCode": o.bank, "accountNumber": o.account}
	switch o.kind {
	case "request":
		body["receiver"] = receiver
	case "transfer":
		body["receiver"], body["chargeFrom"] = receiver, o.charge
	}
	if o.kind == "transfer" || o.kind == "gift" {
		body["payer"] = map[string]string{"chatId": "causeway-cli"}
	}
	if o.kind != "request" {
		body["crypto"], body["network"] = o.crypto, o.network
	}
	if o.callback != "" {
		body["callbackUrl"] = o.callback
	}
	return body, nil
}

// answer holds the fields of a payment that the tool reads.
type answer struct {
	Payment paid `json:"payment"`
}

type paid struct {
	Reference      string      `json:"reference"`
	Status         string      `json:"status"`
	Exception      *string     `json:"exception"`
	DepositAddress string      `json:"depositAddress"`
	CryptoAmount   json.Number `json:"cryptoAmount"`
	Crypto         string      `json:"crypto"`
	Network        string      `json:"network"`
	CheckoutURL    string      `json:"checkoutUrl"`
	raw            json.RawMessage
}

// UnmarshalJSON keeps the original text for --json.
func (p *paid) UnmarshalJSON(raw []byte) error {
	type plain paid
	if err := json.Unmarshal(raw, (*plain)(p)); err != nil {
		return err //nolint:wrapcheck // the caller says what it was reading
	}
	p.raw = append(json.RawMessage(nil), raw...)
	return nil
}

func (c *cli) read(ctx context.Context, reference string, into *answer) error {
	*into = answer{}
	_, err := c.call(ctx, http.MethodGet, "/v1/payments/"+reference, nil, into)
	return err
}

func (c *cli) showPayment(a answer) {
	p := a.Payment
	if c.json {
		c.printJSON(p.raw)
		return
	}
	c.line("%s is %s", p.Reference, p.Status)
	if p.DepositAddress != "" {
		c.line("  send  %s %s on %s", p.CryptoAmount, p.Crypto, p.Network)
		c.line("  to    %s", p.DepositAddress)
	}
	if p.CheckoutURL != "" {
		c.line("  page  %s", p.CheckoutURL)
	}
}

// ended are the statuses that do not change without a person.
var ended = map[string]bool{"settled": true, "needs_review": true, "cancelled": true, "refunded": true, "expired": true}

// watch prints each change of a payment until its status is final. An expired payment is not final while late money is
// on its way.
func (c *cli) watch(ctx context.Context, last answer, late bool) error {
	for {
		var now answer
		if err := c.read(ctx, last.Payment.Reference, &now); err != nil {
			return err
		}
		if state(now) != state(last) {
			if c.json {
				c.printJSON(now.Payment.raw)
			} else {
				c.line("%s is %s", now.Payment.Reference, state(now))
			}
		}
		if last = now; ended[now.Payment.Status] && (!late || now.Payment.Status != "expired") {
			return nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

func state(a answer) string {
	if a.Payment.Exception != nil {
		return a.Payment.Status + " (" + *a.Payment.Exception + ")"
	}
	return a.Payment.Status
}
