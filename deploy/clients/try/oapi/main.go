//go:build generated

// Oapi creates, reads and lists a payment with the client that oapi-codegen made of the document, and prints the asked
// amount, as each of the three answers has it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"causeway.internal/deploy/clients/oapi"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], json.Number(os.Args[3])); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, key string, amount json.Number) error {
	signed := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	c, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(signed))
	if err != nil {
		return err
	}
	crypto, network, from := "USDT", "tron", oapi.CreatePaymentChargeFrom("fiat")
	order := oapi.CreatePayment{Type: "gift", FiatAmount: &amount, FiatCurrency: "NGN", Crypto: &crypto, Network: &network, ChargeFrom: &from}
	order.Payer = &struct {
		ChatId string  `json:"chatId"` //nolint:revive // as it is generated
		Phone  *string `json:"phone,omitempty"`
	}{ChatId: "oapi-codegen"}
	made, err := c.CreatePaymentWithResponse(ctx, &oapi.CreatePaymentParams{}, order)
	if err != nil {
		return err
	}
	if made.JSON201 == nil {
		return fmt.Errorf("create a payment: got %s %s, want 201", made.Status(), made.Body)
	}
	priced, err := made.JSON201.Payment.AsPaymentPriced()
	if err != nil {
		return fmt.Errorf("read the created payment: %w", err)
	}
	read, err := c.GetPaymentWithResponse(ctx, priced.Reference, &oapi.GetPaymentParams{})
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fmt.Errorf("read payment %s: got %s %s, want 200", priced.Reference, read.Status(), read.Body)
	}
	chat := "oapi-codegen"
	list, err := c.ListPaymentsWithResponse(ctx, &oapi.ListPaymentsParams{PayerChatId: &chat})
	if err != nil {
		return err
	}
	if list.JSON200 == nil || len(list.JSON200.Payments) == 0 {
		return fmt.Errorf("list payments: got %s %s, want the payment", list.Status(), list.Body)
	}
	fmt.Println(priced.FiatAmount, read.JSON200.Payment.FiatAmount, list.JSON200.Payments[0].FiatAmount)
	return nil
}
