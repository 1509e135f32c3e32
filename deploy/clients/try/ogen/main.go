//go:build generated

// Ogen creates, reads and lists a payment with the client that ogen made of the document, and prints the asked amount,
// as each of the three answers has it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ogen-go/ogen/ogenerrors"
	"github.com/shopspring/decimal"

	client "causeway.internal/deploy/clients/ogen"
)

// keys sends the secret as a bearer token, and nothing else.
type keys struct{ secret string }

func (k keys) BearerKey(context.Context, client.OperationName) (client.BearerKey, error) {
	return client.BearerKey{Token: k.secret}, nil
}

func (keys) HeaderKey(context.Context, client.OperationName) (client.HeaderKey, error) {
	return client.HeaderKey{}, ogenerrors.ErrSkipClientSecurity
}

func (keys) OperatorToken(context.Context, client.OperationName) (client.OperatorToken, error) {
	return client.OperatorToken{}, ogenerrors.ErrSkipClientSecurity
}

func (keys) ConsoleAssertion(context.Context, client.OperationName) (client.ConsoleAssertion, error) {
	return client.ConsoleAssertion{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], decimal.RequireFromString(os.Args[3])); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, key string, amount decimal.Decimal) error {
	c, err := client.NewClient(url, keys{key})
	if err != nil {
		return err
	}
	const chat = "ogen"
	answer, err := c.CreatePayment(ctx, &client.CreatePayment{
		Type: client.PaymentTypeGift, FiatAmount: client.NewOptNilDecimal(amount), FiatCurrency: client.FiatCurrencyNGN,
		Crypto: client.NewOptNilString("USDT"), Network: client.NewOptNilString("tron"),
		ChargeFrom: client.NewOptNilCreatePaymentChargeFrom(client.CreatePaymentChargeFromFiat),
		Payer:      client.NewOptNilCreatePaymentPayer(client.CreatePaymentPayer{ChatId: chat}),
	}, client.CreatePaymentParams{})
	if err != nil {
		return fmt.Errorf("create a payment: %w", err)
	}
	made, ok := answer.(*client.PaymentCreatedAnswerHeaders)
	if !ok {
		return fmt.Errorf("create a payment: got %+v, want 201", answer)
	}
	priced := made.Response.Payment.PaymentPriced
	one, err := c.GetPayment(ctx, client.GetPaymentParams{Reference: string(priced.Reference)})
	if err != nil {
		return fmt.Errorf("read payment %s: %w", priced.Reference, err)
	}
	read, ok := one.(*client.PaymentAnswerHeaders)
	if !ok {
		return fmt.Errorf("read payment %s: got %+v, want 200", priced.Reference, one)
	}
	all, err := c.ListPayments(ctx, client.ListPaymentsParams{PayerChatId: client.NewOptString(chat)})
	if err != nil {
		return fmt.Errorf("list payments: %w", err)
	}
	list, ok := all.(*client.PaymentListAnswerHeaders)
	if !ok || len(list.Response.Payments) == 0 {
		return fmt.Errorf("list payments: got %+v, want the payment", all)
	}
	show := func(a client.Amount) string { return decimal.Decimal(a).String() }
	fmt.Println(show(priced.FiatAmount), show(read.Response.Payment.FiatAmount), show(list.Response.Payments[0].FiatAmount))
	return nil
}
