// List adds up what was paid out, over all pages of the list.
//
//	CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… go run ./examples/list
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	causeway "causeway.internal/gateway/sdk/go"
)

func main() {
	log.SetFlags(0)
	client, err := causeway.New(causeway.Options{BaseURL: os.Getenv("CAUSEWAY_URL"), APIKey: os.Getenv("CAUSEWAY_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	totals := map[causeway.FiatCurrency]causeway.Decimal{}
	for payment, err := range client.IteratePayments(context.Background(), causeway.ListPaymentsQuery{Status: []string{"settled"}}) {
		if err != nil {
			log.Fatal(err)
		}
		if payment.PayoutAmount != nil {
			totals[payment.FiatCurrency] = totals[payment.FiatCurrency].Add(*payment.PayoutAmount)
		}
	}
	for currency, total := range totals {
		fmt.Println(total, currency)
	}
}
