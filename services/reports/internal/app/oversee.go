package app

import (
	"context"

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

// Floods is the body of GET /v1/admin/reports/floods: the keys that were refused for filing too much on one address.
func (a *App) Floods(ctx context.Context, modes []report.Mode, limit int, after *FloodsAfter) ([]byte, error) {
	sources, err := a.Oversight.Floods(ctx, modes, limit+1, after)
	if err != nil {
		return nil, err
	}
	return flooded(limit, sources)
}
