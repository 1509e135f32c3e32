package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
)

// Requests keeps the requests of one operator that another one has to confirm.
type Requests interface {
	// Asked is the open request about an object, nil without one.
	Asked(ctx context.Context, object string) (*approval.Request, error)
	// Ask keeps a request with its audit entry and its answer.
	Ask(ctx context.Context, r approval.Request, by audit.Entry, k idempotency.Key, answer idempotency.Answer) error
	Withdraw(ctx context.Context, object string) error
}

// The acts that take two operators.
const (
	makeKey   = "make_key"
	changeKey = "change_key"
	rotateKey = "rotate_key"
	makeToken = "make_operator_token"
)

type approvalAnswer struct {
	Approval approval.View `json:"approval"`
}

// seconded returns nil once another operator has made the same request, and sets the request that the act uses up.
// Before, it keeps the request and returns the answer to the first operator. It fills in the fields of want that follow
// from the call and the order; without an object the order itself is the object.
func (a *API) seconded(ctx context.Context, by *audit.Entry, want approval.Request, order any, once idempotency.Key) (*idempotency.Answer, error) {
	if !a.Two {
		return nil, nil
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("encode an order: %w", err)
	}
	sum := sha256.Sum256(text)
	want.Digest, want.Operator = sum[:], httpkit.From(ctx).Identity.Operator
	if want.Object == "" {
		want.Object = want.Action + ":" + hex.EncodeToString(sum[:])
	}
	open, err := a.Requests.Asked(ctx, want.Object)
	if err != nil {
		return nil, err
	}
	confirmed, err := want.Confirms(open)
	switch {
	case errors.Is(err, approval.ErrOutdated):
		return nil, errors.Join(err, a.Requests.Withdraw(ctx, want.Object))
	case err != nil:
		return nil, err
	case confirmed:
		by.Confirms = open
		return nil, nil
	}
	body, err := httpkit.Success(approvalAnswer{want.Waiting(time.Now())})
	if err != nil {
		return nil, err
	}
	entry := *by
	entry.Act, entry.Object, entry.Detail = audit.ApprovalRequested, want.Object, map[string]string{"action": want.Action}
	err = a.Requests.Ask(ctx, want, entry, once, idempotency.Answer{Status: http.StatusAccepted, Body: body})
	if idempotency.IsTaken(err) {
		earlier, err := a.Answers.Replay(ctx, once)
		answer := a.again(earlier, once)
		return &answer, err
	}
	return &idempotency.Answer{Status: http.StatusAccepted, Body: body}, err
}
