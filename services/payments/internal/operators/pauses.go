package operators

import (
	"context"
	"slices"
	"strconv"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/views"
)

// PauseView is a pause as operators see it; null means all, or never.
type PauseView struct {
	ID         int64           `json:"id"`
	Paused     string          `json:"paused"`
	Currency   *money.Currency `json:"fiatCurrency"`
	Network    *string         `json:"network"`
	Rail       *string         `json:"rail"`
	MerchantID *string         `json:"merchantId"`
	Reason     *string         `json:"reason"`
	Operator   string          `json:"operator"`
	Since      string          `json:"since"`
	Until      *string         `json:"until"`
}

func pauseOf(p admission.Pause) PauseView {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	v := PauseView{
		ID: p.ID, Paused: p.What, Network: text(p.Network), Rail: text(p.Rail), MerchantID: text(p.MerchantID), Reason: text(p.Reason),
		Operator: p.Operator, Since: timestamp.Text(p.At), Until: timestamp.OrNull(p.Until),
	}
	if p.Currency != "" {
		v.Currency = &p.Currency
	}
	return v
}

type pausesAnswer struct {
	Success    bool             `json:"success"`
	Pauses     []PauseView      `json:"pauses"`
	Pagination views.Pagination `json:"pagination"`
}

type pauseAnswer struct {
	Success bool      `json:"success"`
	Pause   PauseView `json:"pause"`
}

// Pauses is the body of GET /v1/admin/pauses, the newest first.
func (a *Operators) Pauses(ctx context.Context, before string, limit int) ([]byte, error) {
	all, err := a.Store.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y admission.Pause) int { return int(y.ID - x.ID) })
	if from, err := strconv.ParseInt(before, 10, 64); err == nil {
		all = slices.DeleteFunc(all, func(p admission.Pause) bool { return p.ID >= from })
	}
	rows, page := views.PageOf(all, limit, func(p admission.Pause) string { return strconv.FormatInt(p.ID, 10) })
	out := pausesAnswer{Success: true, Pauses: make([]PauseView, 0, len(rows)), Pagination: page}
	for _, p := range rows {
		out.Pauses = append(out.Pauses, pauseOf(p))
	}
	return views.Encode(out)
}

// Pause begins a pause.
func (a *Operators) Pause(ctx context.Context, p admission.Pause, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	p.Check(problems, a.Now())
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	answer := func(p admission.Pause) (idempotency.Answer, error) {
		body, err := views.Encode(pauseAnswer{Success: true, Pause: pauseOf(p)})
		return idempotency.Answer{Status: change.StatusCreated, Body: body}, err
	}
	begun, err := a.Store.Pause(ctx, p, k, answer)
	if err != nil {
		if earlier, found, lookErr := a.Access.Replay(ctx, k); lookErr != nil || found { // the same request at once
			return earlier, lookErr
		}
		return idempotency.Answer{}, err
	}
	return answer(begun)
}

// Resume ends a pause.
func (a *Operators) Resume(ctx context.Context, pauseID int64, operator, reason string) ([]byte, error) {
	ended, err := a.Store.Resume(ctx, pauseID, operator, reason)
	if err != nil {
		return nil, err
	}
	return views.Encode(pauseAnswer{Success: true, Pause: pauseOf(ended)})
}

// KeepTerms keeps the terms of a merchant, as the gateway sends them.
func (a *Operators) KeepTerms(ctx context.Context, t admission.Term) ([]byte, error) {
	if err := a.Store.KeepTerms(ctx, t); err != nil {
		return nil, err
	}
	return []byte(`{"success":true}`), nil
}
