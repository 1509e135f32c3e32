package app

import (
	"context"
	"errors"

	"causeway.internal/services/reports/internal/report"
)

// Subjects is the body of GET /v1/admin/reports/subjects: what is known of an address in each of the modes.
func (a *App) Subjects(ctx context.Context, modes []report.Mode, address string) ([]byte, error) {
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

// Judge writes an operator's decision about an address. The same again is a decision too, and tells payments again.
func (a *App) Judge(ctx context.Context, j Judgement, k Key) (Answer, error) {
	j.Address = report.AddressKey(report.Trim(j.Address))
	if k.Key != "" {
		if earlier, found, err := a.Filing.Replay(ctx, k); err != nil || found {
			return earlier, err
		}
	}
	answer, err := a.Oversight.Judge(ctx, j, k, func(now Accused) (Answer, error) {
		body, err := success(judgedData{suspectOf(now)})
		return Answer{Status: statusOK, Body: body}, err
	})
	if errors.Is(err, ErrKeyTaken) {
		return a.Filing.Settled(ctx, k)
	}
	if err == nil {
		a.Log.InfoContext(ctx, "an operator has decided about an accused address", "operator", j.Operator, "mode", j.Mode, "confirmed", j.Confirmed)
	}
	return answer, err
}

// Floods is the body of GET /v1/admin/reports/floods: the keys that were refused for filing too much on one address.
func (a *App) Floods(ctx context.Context, modes []report.Mode, limit int, after *FloodsAfter) ([]byte, error) {
	sources, err := a.Oversight.Floods(ctx, modes, limit+1, after)
	if err != nil {
		return nil, err
	}
	return flooded(limit, sources)
}
