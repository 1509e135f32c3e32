// Transfer makes a payment in test mode, plays its payer, and waits until the receiver has the money.
//
//	CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… go run ./examples/transfer
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	causeway "causeway.internal/gateway/sdk/go"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	client, err := causeway.New(causeway.Options{
		BaseURL: os.Getenv("CAUSEWAY_URL"), APIKey: os.Getenv("CAUSEWAY_API_KEY"),
		Mode: causeway.ModeTest, // a live key is refused here
	})
	if err != nil {
		log.Fatal(err)
	}
	order := fmt.Sprintf("order-%d", time.Now().UnixNano())
	made, err := client.CreatePayment(ctx, causeway.CreatePayment{
		Type: causeway.PaymentTypeTransfer, FiatAmount: causeway.MustDecimal("25000.50"), FiatCurrency: causeway.FiatCurrencyNGN,
		Crypto: "USDT", Network: "tron", ChargeFrom: "fiat",
		Payer:             &causeway.CreatePaymentPayer{ChatID: "42"},
		Receiver:          &causeway.CreatePaymentReceiver{BankCode: "058", AccountNumber: "0123456789"},
		MerchantReference: order,
	}, causeway.IdempotencyKey(order)) // a second run for this order makes no second payment
	if err != nil {
		log.Fatal(err)
	}
	reference := made.Payment.Reference
	fmt.Printf("%s: send %s %s to %s\n", reference, made.Payment.CryptoAmount, made.Payment.Crypto, made.Payment.DepositAddress)
	if _, err := client.SandboxDepositPayment(ctx, reference, causeway.SandboxDeposit{}); err != nil {
		log.Fatal(err)
	}
	for range time.Tick(500 * time.Millisecond) { // a shop waits for the webhook instead
		now, err := client.GetPayment(ctx, reference)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", reference, now.Payment.Status)
		if now.Payment.Status == causeway.PaymentStatusSettled {
			return
		}
	}
}
