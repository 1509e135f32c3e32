package app

import (
	"context"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// Change moves a report of the caller's own merchant and mode, and returns the body of the answer, with the internal
// fields.
func (a *App) Change(ctx context.Context, o tenant.Owner, requestID, raw string, c report.Change) ([]byte, error) {
	reference, ok := report.Reference(raw)
	if !ok {
		return nil, ErrBadReference
	}
	var changed report.Report
	err := a.Changing.Change(ctx, o, requestID, reference, func(r report.Report, now time.Time) (Decision, error) {
		var err error
		if changed, err = r.Apply(c, now); err != nil {
			return Decision{}, err
		}
		event, err := eventOf("report.updated", changed, now)
		return Decision{Report: changed, Event: event}, err
	})
	if err != nil {
		return nil, err
	}
	return managed(changed)
}
