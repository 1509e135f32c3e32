package app

import (
	"context"
	"errors"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// Subjects is the body of GET /v1/admin/reports/subjects: the figures of an address in each of the modes.
func (a *App) Subjects(ctx context.Context, modes []tenant.Mode, address string) ([]byte, error) {
	key := report.AddressKey(report.Trim(address))
	known, err := a.Oversight.Accused(ctx, modes, key)
	if err != nil {
		return nil, err
	}
	return overseen(key, known)
}

// Suspects is the body of GET /v1/admin/reports/confirmations. Merchants 0 asks for those that have enough to wait.
func (a *App) Suspects(ctx context.Context, q Suspects) ([]byte, error) {
	limit := q.Limit
	q.Limit++
	if q.Merchants == 0 && !q.Confirmed {
		q.Merchants = a.Merchants
	}
	found, err := a.Oversight.Suspects(ctx, q)
	if err != nil {
		return nil, err
	}
	return suspected(limit, found)
}

// Judge writes an operator's decision about an address, unless another operator has to confirm it first. A repeated
// decision is a decision too, and sends payments its signal again.
func (a *App) Judge(ctx context.Context, j Judgement, k idempotency.Key) (idempotency.Answer, error) {
	j.Address = report.AddressKey(report.Trim(j.Address))
	if k.Sent() {
		if earlier, found, err := a.Filing.Replay(ctx, k); err != nil || found {
			return earlier, err
		}
	}
	var waits bool
	answer, err := a.Oversight.Judge(ctx, j, k, j.rule, func(now Accused, asked *approval.Request) (idempotency.Answer, error) {
		data := judgedData{Subject: suspectOf(now)}
		if waits = asked != nil; waits {
			view := asked.Waiting(asked.At)
			data.Approval = &view
		}
		body, err := success(data)
		return idempotency.Answer{Status: statusOK, Body: body}, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Filing.Settled(ctx, k)
	}
	if err == nil {
		message := "an operator has decided about an accused address"
		if waits {
			message = "an operator asks another one to free an accused address"
		}
		a.Log.InfoContext(ctx, message, "operator", j.Operator, "mode", j.Mode, "confirmed", j.Confirmed)
	}
	return answer, err
}

// Withdraw is the action that ends a confirmation; it takes two operators.
const Withdraw = "withdraw"

// rule decides the result of a judgement. Blocking an address takes one operator, because a thief's money does not wait
// for a second one. Unblocking one in live mode takes two. A request is about the version that its operator saw. A
// further merchant with a resolved report changes the version; one more report of the same merchant does not, because a
// merchant could then keep the address blocked by filing.
func (j Judgement) rule(now Accused, open *approval.Request) (Ruling, error) {
	if j.Mode != tenant.Live || j.Confirmed || !now.Confirmed {
		return Ruling{Judgement: j}, nil
	}
	want := approval.Request{Object: j.Address, Version: now.Convicted, Action: Withdraw, Operator: j.Operator, Reason: j.Reason}
	confirmed, err := want.Confirms(open)
	switch {
	case errors.Is(err, approval.ErrOutdated):
		return Ruling{Outdated: true}, nil
	case err != nil:
		return Ruling{}, err
	case !confirmed:
		return Ruling{Waits: &want}, nil
	}
	j.Reason = open.Joined(j.Reason)
	return Ruling{Judgement: j}, nil
}

// Floods is the body of GET /v1/admin/reports/floods: the keys that were refused for filing too much on one address.
func (a *App) Floods(ctx context.Context, modes []tenant.Mode, limit int, after *FloodsAfter) ([]byte, error) {
	sources, err := a.Oversight.Floods(ctx, modes, limit+1, after)
	if err != nil {
		return nil, err
	}
	return flooded(limit, sources)
}
