// Package httpapi is the HTTP API of reports: it decodes requests, calls the use cases and returns their bytes. It
// knows no rule of a report and no row.
package httpapi

import (
	"context"
	"math"
	"slices"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

// Routes adds every route of the service.
func Routes(s *httpkit.Server, u *app.App, processes func(context.Context) (presence.Answer, error)) {
	httpkit.Handle(s, "GET /v1/admin/health/reports", httpkit.ForOperators, func(ctx context.Context, _ nothing) (presence.Answer, error) {
		return processes(ctx)
	})
	httpkit.Handle(s, "POST /v1/reports", httpkit.ForMerchants, func(ctx context.Context, r fileRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.File(ctx, in.Owner, r.filing, &r.problems, r.unread, in.Key())
	})
	httpkit.Handle(s, "GET /v1/reports", httpkit.ForMerchants, func(ctx context.Context, r ownRequest) ([]byte, error) {
		return u.Own(ctx, httpkit.From(ctx).Owner, r.asked)
	})
	httpkit.Handle(s, "GET /v1/reports/lookup", httpkit.ForAll, func(ctx context.Context, r lookupRequest) ([]byte, error) {
		return u.Lookup(ctx, httpkit.From(ctx).Owner, r.asked)
	})
	httpkit.Handle(s, "GET /v1/reports/{reportId}", httpkit.ForAll, func(ctx context.Context, r oneRequest) ([]byte, error) {
		in := httpkit.From(ctx)
		return u.Show(ctx, in.Owner, in.Identity.ClientIP, r.reference)
	})
	httpkit.Handle(s, "PATCH /v1/reports/{reportId}", httpkit.ForMerchants, func(ctx context.Context, r changeRequest) ([]byte, error) {
		in := httpkit.From(ctx)
		return u.Change(ctx, in.Owner, in.RequestID, r.reference, r.change)
	})
	httpkit.Handle(s, "GET /v1/admin/reports/subjects", httpkit.ForOperators, func(ctx context.Context, r subjectsRequest) ([]byte, error) {
		return u.Subjects(ctx, r.modes, r.address)
	})
	httpkit.Handle(s, "GET /v1/admin/reports/confirmations", httpkit.ForOperators, func(ctx context.Context, r suspectsRequest) ([]byte, error) {
		return u.Suspects(ctx, r.asked)
	})
	httpkit.Handle(s, "POST /v1/admin/reports/confirmations", httpkit.ForOperators, func(ctx context.Context, r judgeRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.judgement.Operator, r.judgement.RequestID = in.Identity.Operator, in.RequestID
		return u.Judge(ctx, r.judgement, in.Key())
	})
	httpkit.Handle(s, "GET /v1/admin/reports/floods", httpkit.ForOperators, func(ctx context.Context, r floodsRequest) ([]byte, error) {
		return u.Floods(ctx, r.modes, r.limit, r.after)
	})
}

// asSent bounds a text before it is cleaned; its own limit applies to the cleaned text.
const asSent = httpkit.BodyMax

type fileRequest struct {
	filing   report.Filing
	problems fault.Problems
	unread   []string
}

// Read decodes the body of POST /v1/reports (docs/api-contract.md#reports). The pure package holds the rules; Read
// finds unreadable fields and passes them on, so that the caller sees everything at once.
func (r *fileRequest) Read(in *httpkit.Input) {
	b := in.Body()
	text := func(name string) string {
		s := b.Text(name, asSent)
		if s == "" && b.Has(name) {
			r.unread = append(r.unread, name)
		}
		return s
	}
	r.filing = report.Filing{
		Kind: text("complaintType"), Name: text("name"), Phone: text("phoneNumber"), Wallet: text("walletAddress"),
		Session: text("sessionReference"), Fraudster: text("fraudsterWalletAddress"), Text: text("description"),
	}
	r.problems = in.Deferred()
}

// Limits of a look-up (docs/api-contract.md#pagination).
const (
	limitDefault = 50
	limitMax     = 200
)

type lookupRequest struct{ asked report.Asked }

// Read decodes the query of GET /v1/reports/lookup (docs/api-contract.md#reports).
func (r *lookupRequest) Read(in *httpkit.Input) {
	r.asked = report.Asked{
		Phone: in.Query("phoneNumber"), Wallet: in.Query("walletAddress"),
		Status: in.QueryOneOf("status", append(words(report.Statuses()), report.AnyStatus)...),
		Kind:   in.QueryOneOf("complaintType", words(report.Kinds())...),
		Limit:  in.QueryInt("limit", limitDefault, 1, limitMax), Offset: in.QueryInt("offset", 0, 0, math.MaxInt),
		ByCursor: in.QueryGiven("cursor"),
	}
	if text := in.Query("cursor"); text != "" {
		after, ok := report.ParseCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.asked.After = &after
	}
	r.asked.Check(&in.Problems)
}

type ownRequest struct{ asked report.Own }

// ownMax is the largest page of a list that has no offset (docs/api-contract.md#pagination).
const ownMax = 100

// Read decodes the query of GET /v1/reports (docs/api-contract.md#reports).
func (r *ownRequest) Read(in *httpkit.Input) {
	r.asked = report.Own{Statuses: report.Statuses(), Kinds: report.Kinds(), Limit: in.QueryInt("limit", limitDefault, 1, ownMax)}
	if some := in.QuerySomeOf("status", append(words(report.Statuses()), report.AnyStatus)...); len(some) > 0 && !slices.Contains(some, report.AnyStatus) {
		r.asked.Statuses = nil
		for _, s := range some {
			r.asked.Statuses = append(r.asked.Statuses, report.Status(s))
		}
	}
	if kind := in.QueryOneOf("complaintType", words(report.Kinds())...); kind != "" {
		r.asked.Kinds = []report.Kind{report.Kind(kind)}
	}
	if text := in.Query("cursor"); text != "" {
		after, ok := report.ParseCursor(text)
		if !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
		r.asked.After = &after
	}
}

func words[T ~string](all []T) []string {
	out := make([]string, 0, len(all)+1)
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

type oneRequest struct{ reference string }

// Read takes the report id out of the path.
func (r *oneRequest) Read(in *httpkit.Input) { r.reference = in.Path("reportId") }

type changeRequest struct {
	reference string
	change    report.Change
}

// Read decodes the body of PATCH /v1/reports/:reportId (docs/api-contract.md#reports).
func (r *changeRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reportId")
	if _, ok := report.Reference(r.reference); !ok {
		return // answered before the body is read
	}
	b := in.Body()
	status := b.RequiredText("status", asSent)
	r.change = report.Change{To: report.Status(status)}
	if status != "" && !report.IsStatus(status) {
		b.Problem("status", "must be one of pending, processing, resolved, dismissed")
	}
	optional := func(name string, limit int) *string {
		if s := b.Text(name, limit); s != "" {
			return &s
		}
		return nil
	}
	r.change.Confirmer = optional("confirmer", report.ConfirmerMax)
	r.change.Notes = optional("adminNotes", report.NotesMax)
}

// modesOf reads the modes of an operator's request; none means both.
func modesOf(in *httpkit.Input) []tenant.Mode {
	if mode := in.QueryOneOf("mode", words(tenant.Modes())...); mode != "" {
		return []tenant.Mode{tenant.Mode(mode)}
	}
	return tenant.Modes()
}

type subjectsRequest struct {
	modes   []tenant.Mode
	address string
}

// Read decodes the query of GET /v1/admin/reports/subjects.
func (r *subjectsRequest) Read(in *httpkit.Input) {
	r.modes = modesOf(in)
	r.address = report.Trim(in.Query("walletAddress"))
	switch {
	case r.address == "":
		in.Problems.Add("walletAddress", "is required")
	case !report.Storable(r.address):
		in.Problems.Add("walletAddress", "must be text without NUL characters")
	}
}

type floodsRequest struct {
	modes []tenant.Mode
	limit int
	after *app.FloodsAfter
}

const floodsMax = 100

// Read decodes the query of GET /v1/admin/reports/floods.
func (r *floodsRequest) Read(in *httpkit.Input) {
	r.modes = modesOf(in)
	r.limit = in.QueryInt("limit", limitDefault, 1, floodsMax)
	if text := in.Query("cursor"); text != "" {
		var ok bool
		if r.after, ok = app.ParseFloodsAfter(text); !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
	}
}

// States of the list of confirmations.
const (
	waiting   = "waiting"
	confirmed = "confirmed"
)

type suspectsRequest struct{ asked app.Suspects }

// Read decodes the query of GET /v1/admin/reports/confirmations.
func (r *suspectsRequest) Read(in *httpkit.Input) {
	r.asked = app.Suspects{
		Modes: modesOf(in), Confirmed: in.QueryOneOf("state", waiting, confirmed) == confirmed,
		Merchants: int64(in.QueryInt("merchants", 0, 1, math.MaxInt32)), Limit: in.QueryInt("limit", limitDefault, 1, floodsMax),
	}
	if text := in.Query("cursor"); text != "" {
		var ok bool
		if r.asked.After, ok = app.ParseSuspectsAfter(text); !ok {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
	}
}

// confirm is an action of an operator on an accused address; app.Withdraw is the other one.
const confirm = "confirm"

type judgeRequest struct{ judgement app.Judgement }

// Read decodes the body of POST /v1/admin/reports/confirmations.
func (r *judgeRequest) Read(in *httpkit.Input) {
	b := in.Body()
	mode, action := b.RequiredText("mode", asSent), b.RequiredText("action", asSent)
	r.judgement = app.Judgement{
		Mode: tenant.Mode(mode), Address: b.RequiredText("walletAddress", report.AddressMax), Confirmed: action == confirm,
		Reason: b.RequiredText("reason", reasonMax),
	}
	if mode != "" && !slices.Contains(tenant.Modes(), tenant.Mode(mode)) {
		b.Problem("mode", "must be live or test")
	}
	if action != "" && action != confirm && action != app.Withdraw {
		b.Problem("action", "must be confirm or withdraw")
	}
}

// reasonMax is how long an operator's reason may be.
const reasonMax = 1000

// nothing is the input of a request that needs none.
type nothing struct{}

// Read implements httpkit.Reader.
func (*nothing) Read(*httpkit.Input) {}
