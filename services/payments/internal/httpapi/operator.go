package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
)

func listRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/payments", httpkit.ForMerchants, func(ctx context.Context, r listRequest) ([]byte, error) {
		in := httpkit.From(ctx)
		r.filter.Owner, r.filter.Named = in.Owner, in.Identity.Elsewhere
		return u.Payments.List(ctx, r.filter)
	})
	httpkit.Handle(s, "GET /v1/payments/export", httpkit.ForMerchants, func(ctx context.Context, r listRequest) (httpkit.Answer, error) {
		r.filter.Owner = httpkit.From(ctx).Owner
		export, err := u.Payments.Export(ctx, r.filter)
		return httpkit.Answer{Status: http.StatusOK, Stream: export, Header: csvFile("payments.csv")}, err
	})
	httpkit.Handle(s, "GET /v1/admin/payments", httpkit.ForOperators, func(ctx context.Context, r adminListRequest) ([]byte, error) {
		return u.Operators.ListAll(ctx, r.filter)
	})
	httpkit.Handle(s, "GET /v1/admin/payments/{reference}", httpkit.ForOperators, func(ctx context.Context, r referenceRequest) ([]byte, error) {
		return u.Operators.Show(ctx, r.reference)
	})
	httpkit.Handle(s, "POST /v1/admin/payments/{reference}/resolve", httpkit.ForOperators, func(ctx context.Context, r resolveRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.Resolve(ctx, r.payment, r.order, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/admin/payments/{reference}/refund-address/confirm", httpkit.ForOperators, func(ctx context.Context, r confirmRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.order.Operator = in.Identity.Operator
		return u.Operators.ConfirmRefundAddress(ctx, r.payment, r.order, &r.problems, in.Key())
	})
}

const (
	pageDefault = 50
	pageMax     = 100
	reasonMax   = 1000
	txHashMax   = 128
	txHashesMax = 8
	merchantMax = 50
	payoutMax   = 100
)

func statuses() []string {
	names := []string{"all"}
	for _, s := range payment.Statuses() {
		names = append(names, string(s))
	}
	return names
}

func exceptions() (names []string) {
	for _, e := range payment.Exceptions() {
		names = append(names, string(e))
	}
	return names
}

func names(types []payment.Type) []string {
	out := make([]string, 0, len(types))
	for _, t := range types {
		out = append(out, string(t))
	}
	return out
}

type listRequest struct{ filter views.Filter }

// Read takes the filters and the cursor out of the query (docs/api-contract.md#pagination).
func (r *listRequest) Read(in *httpkit.Input) {
	r.read(in, payment.Types())
	r.filter.Payer = in.QueryText("payerChatId", chatMax)
}

// read is Read with the types that the caller may ask for.
func (r *listRequest) read(in *httpkit.Input, types []payment.Type) {
	r.filter = views.Filter{
		Type: payment.Type(in.QueryOneOf("type", names(types)...)), Limit: in.QueryInt("limit", pageDefault, 1, pageMax),
		From: instant(in, "from"), To: instant(in, "to"), Address: depositAddress(in), TxHash: transaction(in),
		Merchant: in.QueryText("merchantReference", orderMax),
	}
	if some := in.QuerySomeOf("status", statuses()...); !slices.Contains(some, "all") {
		for _, s := range some {
			r.filter.Statuses = append(r.filter.Statuses, payment.Status(s))
		}
	}
	if text := in.Query("cursor"); text != "" {
		before, ok := views.ReadCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.filter.Before = before
	}
}

// depositAddress reads an address of any network and returns its canonical spelling.
func depositAddress(in *httpkit.Input) string {
	text := in.Query("address")
	if text == "" {
		return ""
	}
	for _, family := range money.Families() {
		if address.Check(family, address.Any, text) == nil {
			return address.Canonical(family, text)
		}
	}
	in.Problems.Add("address", "must be an address of a network")
	return ""
}

// transaction reads the hash of a transaction on any network. Hexadecimal digits are stored in lower case.
func transaction(in *httpkit.Input) string {
	text := in.Query("txHash")
	if text == "" || address.IsTransaction(money.Solana, text) {
		return text
	}
	for _, family := range []money.Family{money.Bitcoin, money.EVM, money.Tron} {
		if lower := strings.ToLower(text); address.IsTransaction(family, lower) {
			return lower
		}
	}
	in.Problems.Add("txHash", "must be the hash of a transaction")
	return ""
}

// instant reads an ISO 8601 time, or a day, which is its first moment in UTC.
func instant(in *httpkit.Input, name string) time.Time {
	text := in.Query(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() >= 1970 && at.Year() < 9000 {
			return at
		}
	}
	in.Problems.Add(name, "must be an ISO 8601 time such as 2026-04-01T00:00:00.000Z, or a day")
	return time.Time{}
}

type adminListRequest struct{ listRequest }

// Read takes the filters of a merchant's list, and those of operators. A list that nothing else narrows has the
// payments that wait for a decision.
func (r *adminListRequest) Read(in *httpkit.Input) {
	r.read(in, payment.StoredTypes())
	f := &r.filter
	f.Owner = tenant.Owner{MerchantID: in.QueryText("merchantId", merchantMax), Mode: tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test)))}
	f.Exception = payment.Exception(in.QueryOneOf("exception", exceptions()...))
	if f.Reference = in.Query("reference"); f.Reference != "" && !id.IsPaymentReference(f.Reference) {
		in.Problems.Add("reference", "must be the reference of a payment")
		return
	}
	f.Payout = in.QueryText("payout", payoutMax)
	if f.AccountEnds = in.Query("accountEnds"); f.AccountEnds != "" {
		if len(f.AccountEnds) != 4 || strings.Trim(f.AccountEnds, "0123456789") != "" {
			in.Problems.Add("accountEnds", "must be the last four digits of an account number")
		}
		if f.Owner.Mode == "" {
			in.Problems.Add("mode", "is required with accountEnds")
		}
	}
	found := f.Reference != "" || f.Address != "" || f.TxHash != "" || f.Exception != payment.None || f.Payout != "" || f.AccountEnds != ""
	if in.Query("status") == "" && !found {
		r.filter.Statuses = []payment.Status{payment.StatusNeedsReview}
	}
}

type resolveRequest struct {
	payment  string // its id or its reference
	order    operators.Order
	problems fault.Problems
}

// Read decodes an operator's decision (docs/operators.md#one-operator-or-two).
func (r *resolveRequest) Read(in *httpkit.Input) {
	r.payment = in.Path("reference")
	b := in.Body()
	r.order = operators.Order{Action: b.Text("action", wordMax), TxHash: b.Text("txHash", txHashMax), TxHashes: b.Texts("txHashes", txHashesMax, txHashMax), Reason: b.Text("reason", reasonMax), Receiver: receiverOf(b), Payout: number(b, "payoutAmount")}
	r.problems = in.Deferred()
}

type confirmRequest struct {
	payment  string // its id or its reference
	order    operators.RefundAddressOrder
	problems fault.Problems
}

// Read decodes an operator's confirmation of a refund address (docs/operators.md#one-operator-or-two).
func (r *confirmRequest) Read(in *httpkit.Input) {
	r.payment = in.Path("reference")
	b := in.Body()
	r.order = operators.RefundAddressOrder{Address: b.Text("address", addressMax), Reason: b.Text("reason", reasonMax)}
	r.problems = in.Deferred()
}
