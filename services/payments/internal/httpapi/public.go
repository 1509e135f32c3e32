package httpapi

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/payment"
)

func publicRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "POST /v1/payments/requests/{reference}/fulfill", httpkit.ForAll, func(ctx context.Context, r fulfilRequest) (idempotency.Answer, error) {
		return u.Intake.Fulfil(ctx, r.reference, r.command, &r.problems, httpkit.From(ctx).Key())
	})
	httpkit.Handle(s, "POST /v1/payments/gifts/{reference}/claim/confirm", httpkit.ForAll, func(ctx context.Context, r claimRequest) (idempotency.Answer, error) {
		return u.Intake.Claim(ctx, r.reference, r.receiver, &r.problems, httpkit.From(ctx).Key())
	})
	httpkit.Handle(s, "POST /v1/checkout/{reference}/refund-address", httpkit.ForAll, func(ctx context.Context, r refundRequest) (idempotency.Answer, error) {
		return u.Checkouts.ProposeRefundAddress(ctx, r.reference, r.address, &r.problems, httpkit.From(ctx).Key())
	})
	httpkit.Handle(s, "POST /v1/checkout/{reference}/transaction", httpkit.ForAll, func(ctx context.Context, r transactionRequest) ([]byte, error) {
		return u.Checkouts.NameTransaction(ctx, r.reference, r.txHash, &r.problems)
	})
}

type transactionRequest struct {
	reference string
	txHash    string
	problems  fault.Problems
}

// Read decodes the body of a transaction that a payer names.
func (r *transactionRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	r.txHash = in.Body().Text("txHash", hashMax)
	r.problems = in.Deferred()
}

type fulfilRequest struct {
	reference string
	command   payment.FulfilCommand
	problems  fault.Problems
}

// Read decodes the body of a fulfilment (docs/api-contract.md#fulfil).
func (r *fulfilRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	b := in.Body()
	r.command = payment.FulfilCommand{Crypto: b.Text("crypto", wordMax), Network: b.Text("network", wordMax)}
	if p := b.Object("payer"); p != nil {
		r.command.Payer = &payment.PayerInput{ChatID: p.Text("chatId", chatMax), Phone: p.Text("phone", phoneMax)}
	}
	r.problems = in.Deferred()
}

type claimRequest struct {
	reference string
	receiver  *payment.ReceiverInput
	problems  fault.Problems
}

// Read decodes the body of a claim (docs/api-contract.md#claim). It ignores names that a client sends.
func (r *claimRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	r.receiver = receiverOf(in.Body())
	r.problems = in.Deferred()
}

func receiverOf(b *httpkit.Body) *payment.ReceiverInput {
	p := b.Object("receiver")
	if p == nil {
		return nil
	}
	return &payment.ReceiverInput{BankCode: p.Text("bankCode", wordMax), AccountNumber: p.Text("accountNumber", accountMax)}
}
