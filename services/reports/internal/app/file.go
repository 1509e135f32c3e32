package app

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// tries bounds how often a report gets another reference. With ten million reports one in ninety is taken, so eight
// failures in a row mean that something else is wrong.
const tries = 8

// floodWindow is the time that FloodPerHour counts in.
const floodWindow = time.Hour

// File makes a report out of a filing. problems are those that the decoder found, and unread the fields that were sent
// but unreadable, so that the caller sees everything at once.
func (a *App) File(ctx context.Context, o tenant.Owner, f report.Filing, problems *fault.Problems, unread []string, k idempotency.Key) (idempotency.Answer, error) {
	draft := f.Check(problems, unread...)
	if err := problems.Err(); err != nil {
		if !k.Sent() {
			return idempotency.Answer{}, err
		}
		// The key may belong to an earlier request, which then had another body.
		if earlier, found, findErr := a.Filing.Replay(ctx, k); findErr != nil || found {
			return earlier, findErr
		}
		return idempotency.Answer{}, err
	}
	if err := a.Backlog.Full(ctx); err != nil {
		return idempotency.Answer{}, err
	}
	draft.MerchantID, draft.KeyID, draft.Mode = o.MerchantID, o.KeyID, o.Mode
	sources := sourcesOf(draft)
	draft.Reference = a.NewReference()
	open, err := a.Filing.Open(ctx, o, draft.Reference, sources, k)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if open.Earlier != nil {
		return *open.Earlier, nil
	}
	if err := a.flood(ctx, o, sources, open); err != nil {
		return idempotency.Answer{}, err
	}
	draft.ID, draft.CreatedAt, draft.UpdatedAt = open.ID, open.Now, open.Now
	return a.insert(ctx, draft, sources, open, k)
}

// sourcesOf lists the addresses of a filing that are counted by key, in the order of row locks.
func sourcesOf(r report.Report) []Source {
	var all []Source
	if r.Fraudster != "" {
		all = append(all, Source{Fraudster, report.AddressKey(r.Fraudster)})
	}
	if r.Wallet != "" {
		all = append(all, Source{Reporter, report.AddressKey(r.Wallet)})
	}
	return all
}

// flood refuses a key that files too much on one address. Concurrent filings are not counted yet, so the limit may be
// exceeded by their number.
func (a *App) flood(ctx context.Context, o tenant.Owner, sources []Source, open Opening) error {
	for i, s := range sources {
		if a.FloodPerHour <= 0 || open.Filed[i] < a.FloodPerHour {
			continue
		}
		a.Refused("flood")
		a.Log.WarnContext(ctx, "report flood refused", "merchant_id", o.MerchantID, "key_id", o.KeyID, "mode", o.Mode, "role", s.Role)
		if err := a.Filing.Refuse(ctx, o, s, open.Window, open.Now); err != nil {
			return err
		}
		return fault.New(fault.RateLimited, "too_many_reports", "This API key has filed too many reports on one address. Try again later.").
			After(open.Window.Add(floodWindow).Sub(open.Now))
	}
	return nil
}

// insert writes the draft, and draws another reference as long as its own is used. Open finds most used ones first,
// because a write that meets one undoes all that share its transaction.
func (a *App) insert(ctx context.Context, draft report.Report, sources []Source, open Opening, k idempotency.Key) (idempotency.Answer, error) {
	var last error
	for try := range tries {
		if open.Used || try > 0 {
			draft.Reference = a.NewReference()
		}
		body, err := filed(draft)
		if err != nil {
			return idempotency.Answer{}, err
		}
		event, err := eventOf("report.created", draft, open.Now)
		if err != nil {
			return idempotency.Answer{}, err
		}
		answer := idempotency.Answer{Status: statusCreated, Body: body}
		last = a.Filing.Insert(ctx, Newborn{Report: draft, Sources: sources, Window: open.Window, Event: event, Key: k, Answer: answer})
		switch {
		case last == nil:
			return answer, nil
		case errors.Is(last, idempotency.ErrTaken):
			return a.Filing.Settled(ctx, k)
		case !errors.Is(last, ErrReferenceUsed):
			return idempotency.Answer{}, last
		}
	}
	return idempotency.Answer{}, last
}

func eventOf(kind string, r report.Report, at time.Time) (Event, error) {
	e := Event{ID: id.New(id.Event, at), Type: kind, Report: r, OccurredAt: at}
	var err error
	e.Body, err = eventBody(e)
	return e, err
}
