package app

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/report"
)

// Lookup is the body of GET /v1/reports/lookup. The viewer determines the fields that are shown, not the reports that
// are found.
func (a *App) Lookup(ctx context.Context, viewer tenant.Owner, asked report.Asked) ([]byte, error) {
	l := asked.Clean()
	if l.Empty() {
		return a.listed(viewer, l, Page{})
	}
	if wait, ok := a.Lookups.Take(subjects(l)...); !ok {
		a.Refused("lookup")
		return nil, tooMany(wait)
	}
	page, err := a.Reading.Lookup(ctx, a.PublicModes, l)
	if err != nil {
		return nil, err
	}
	return a.listed(viewer, l, page)
}

// Own is the body of GET /v1/reports: the reports of a merchant, with the internal fields, which only the merchant
// sees.
func (a *App) Own(ctx context.Context, o tenant.Owner, q report.Own) ([]byte, error) {
	limit := q.Limit
	q.Limit++
	found, err := a.Reading.Own(ctx, o, q)
	if err != nil {
		return nil, err
	}
	return ownList(limit, found)
}

// subjects are the subjects of a look-up. They are cleaned, because another spelling is the same subject.
func subjects(l report.Lookup) []string {
	var all []string
	if l.Phone != "" {
		all = append(all, "phone:"+l.Phone)
	}
	if l.Wallet != "" {
		all = append(all, "wallet:"+l.Wallet)
	}
	return all
}

func tooMany(wait time.Duration) error {
	return fault.New(fault.RateLimited, "rate_limited", "Too many requests. Try again in a moment.").After(wait)
}

// Show is the body of GET /v1/reports/:reportId. Guesses that find nothing count against the caller's address.
func (a *App) Show(ctx context.Context, viewer tenant.Owner, clientIP, raw string) ([]byte, error) {
	reference, ok := report.Reference(raw)
	if !ok {
		return nil, ErrBadReference
	}
	from, counted := a.guesser(clientIP)
	if counted {
		if wait, ok := a.Guesses.Has(from); !ok {
			a.Refused("guess")
			return nil, tooMany(wait)
		}
	}
	r, err := a.Reading.Find(ctx, a.PublicModes, reference)
	if errors.Is(err, ErrNotFound) && counted {
		a.Guesses.Spend(from)
	}
	if err != nil {
		return nil, err
	}
	return success(reportData{a.shown(viewer, r)})
}

// ipv6Net is the length of an IPv6 subscriber's prefix.
const ipv6Net = 64

// guesser is the key under which a caller's guesses are counted.
func (a *App) guesser(clientIP string) (key string, counted bool) {
	ip, err := netip.ParseAddr(clientIP)
	if err != nil {
		return "unknown", true
	}
	ip = ip.Unmap()
	if a.SkipLoopback && ip.IsLoopback() {
		return "", false
	}
	if ip.Is6() {
		if p, err := ip.WithZone("").Prefix(ipv6Net); err == nil {
			return p.String(), true
		}
	}
	return ip.String(), true
}
