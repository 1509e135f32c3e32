package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
)

var (
	errNoBalances = errors.New("the answer of a service has no balances")
	// A service of an earlier release does not have the path.
	errEarlier = fault.New(fault.Unavailable, "upstream_unavailable",
		"This part of the service is not available right now. Try again shortly.").After(2 * time.Second)
)

// Reply is the answer of a service.
type Reply struct {
	Status     int
	Body       []byte
	RetryAfter string // the header, as it came
}

// Ask reads a path of a service in the name of the caller of ctx.
type Ask func(ctx context.Context, path string) (Reply, error)

// balances is the answer of wallets, with the fiat balances of payments for a key that may read payments. If one
// service does not answer, the whole answer fails, so that nobody takes half of it for all.
func (a *API) balances(ctx context.Context, _ noRequest) (httpkit.Answer, error) {
	k := a.Caller(ctx)
	if k == nil {
		return httpkit.Answer{}, httpkit.ErrNoMerchant
	}
	const path = "/v1/balances"
	crypto, err := a.Wallets(ctx, path)
	if err != nil || crypto.Status != http.StatusOK || !slices.Contains(k.Effective, string(apikey.PaymentRead)) {
		return passedOn(crypto), err
	}
	fiat, err := a.Payments(ctx, path)
	if err == nil && fiat.Status == http.StatusNotFound {
		err = errEarlier
	}
	if err != nil || fiat.Status != http.StatusOK {
		return passedOn(fiat), err
	}
	var part struct {
		Fiat json.RawMessage `json:"fiat"`
	}
	before, ok := bytes.CutSuffix(bytes.TrimSpace(crypto.Body), []byte("}"))
	if err := json.Unmarshal(fiat.Body, &part); err != nil {
		return httpkit.Answer{}, fmt.Errorf("read the balances of payments: %w", err)
	}
	if part.Fiat == nil || !ok {
		return httpkit.Answer{}, errNoBalances
	}
	return httpkit.Answer{Status: http.StatusOK, Body: slices.Concat(before, []byte(`,"fiat":`), part.Fiat, []byte("}"))}, nil
}

// passedOn is the answer of a service, unchanged.
func passedOn(r Reply) httpkit.Answer {
	out := httpkit.Answer{Status: r.Status, Body: r.Body, Header: http.Header{}}
	if r.RetryAfter != "" {
		out.Header.Set("Retry-After", r.RetryAfter)
	}
	return out
}
