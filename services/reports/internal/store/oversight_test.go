//go:build integration

package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/report"
)

type subject struct {
	WalletAddress, Mode                                          string
	Counts, FiledFrom                                            struct{ Total, Pending, Processing, Resolved, Dismissed int64 }
	DistinctReporters, DistinctMerchants, ResolvedFraudMerchants int64
	FirstReportedAt, LastReportedAt                              *string
	Sources                                                      []source
}

type source struct {
	WalletAddress, Mode, Role, MerchantID string
	APIKeyID                              int64
	Reports, ReportsThisHour, Refused     int64
	LastRefusedAt                         *string
}

func (w *fixture) subject(mode tenant.Mode, address string) subject {
	w.t.Helper()
	body, err := w.Subjects(w.t.Context(), []tenant.Mode{mode}, address)
	if err != nil {
		w.t.Fatal(err)
	}
	var a struct{ Data struct{ Subjects []subject } }
	if err := json.Unmarshal(body, &a); err != nil || len(a.Data.Subjects) != 1 {
		w.t.Fatalf("read the subject %s: %v", body, err)
	}
	return a.Data.Subjects[0]
}

// Operators see how often, by whom and with what outcome an address is accused. Payments receives the number of
// merchants with a resolved fraud report, once for each, and counts no other report.
func TestSubjects_countsAndSignal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := tenant.Owner{MerchantID: "other", KeyID: 9, Mode: tenant.Test}
	first := w.file(acme, report.Filing{Phone: "111111", Fraudster: "0xBaD"})
	again := w.file(acme, report.Filing{Phone: "111-111", Fraudster: "0xbad"})
	lost := w.file(acme, report.Filing{Phone: "222222", Fraudster: "0xBAD", Kind: "stolen_funds"})
	third := w.file(other, report.Filing{Wallet: "0xBAD", Fraudster: " 0xbad "})
	w.file(tenant.Owner{MerchantID: "acme", KeyID: 1, Mode: tenant.Live}, report.Filing{Phone: "333333", Fraudster: "0xbad"})
	w.file(acme, report.Filing{Phone: "444444", Fraudster: "0xgood"})

	s := w.subject(tenant.Test, "0XBAD")
	if s.Counts.Total != 4 || s.Counts.Pending != 4 || s.DistinctReporters != 3 || s.DistinctMerchants != 2 || s.ResolvedFraudMerchants != 0 ||
		s.FiledFrom.Total != 1 || s.WalletAddress != "0xbad" || s.FirstReportedAt == nil {
		t.Errorf("count the reports on 0xbad: got %+v", s)
	}
	if got := joined(s.Sources, func(s source) string { return fmt.Sprintf("%s/%d/%s:%d", s.MerchantID, s.APIKeyID, s.Role, s.Reports) }); got != "acme/7/fraudster:3 other/9/fraudster:1 other/9/reporter:1" {
		t.Errorf("sources %s", got)
	}
	if live := w.subject(tenant.Live, "0xbad"); live.Counts.Total != 1 || live.DistinctReporters != 1 {
		t.Errorf("count the reports on 0xbad in live mode: got %+v, want one", live)
	}
	if none := w.subject(tenant.Test, "nobody"); none.Counts.Total != 0 || none.FirstReportedAt != nil || len(none.Sources) != 0 {
		t.Errorf("count the reports on nobody: got %+v, want none", none)
	}
	signals := func() []wire.FraudSignal { return messages[wire.FraudSignal](w, wire.FraudSignalV1) }
	for _, step := range []struct {
		owner tenant.Owner
		id    string
		to    []report.Status
		want  string // merchants/reports of every signal so far
	}{
		{acme, lost.ReportID, []report.Status{report.Processing, report.Resolved}, ""}, // not a fraud report
		{acme, first.ReportID, []report.Status{report.Processing}, ""},
		{acme, first.ReportID, []report.Status{report.Resolved}, "1/1"},
		{acme, again.ReportID, []report.Status{report.Processing, report.Resolved}, "1/1 1/2"},
		{other, third.ReportID, []report.Status{report.Processing, report.Resolved}, "1/1 1/2 2/3"},
	} {
		for _, to := range step.to {
			if err := w.move(step.owner, step.id, to); err != nil {
				t.Fatal(err)
			}
		}
		if got := joined(signals(), func(s wire.FraudSignal) string { return fmt.Sprintf("%d/%d", s.Merchants, s.Reports) }); got != step.want {
			t.Errorf("after %v: signals %s, want %s", step.to, got, step.want)
		}
	}
	last := time.Now().Add(-time.Hour).UnixMilli() // versions are newer than any before a restore
	for _, one := range signals() {
		if one.Version <= last {
			t.Errorf("version %d after %d", one.Version, last)
		}
		last = one.Version
		if one.Mode != tenant.Test || one.Address != "0xbad" || one.OccurredAt.IsZero() {
			t.Errorf("read the signal: got %+v, want 0xbad in test mode with a time", one)
		}
	}
	if s = w.subject(tenant.Test, "0xbad"); s.Counts.Resolved != 4 || s.ResolvedFraudMerchants != 2 {
		t.Errorf("count after all are resolved: got %+v, want 4 resolved, of 2 merchants", s)
	}
	w.checkCounts()
}

// One key may file so many reports on one address an hour; the rest is refused, another key and another address are
// not, and operators see who was refused.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.FloodPerHour = 3
	refused := 0
	w.Refused = func(limit string) {
		if limit == "flood" {
			refused++
		}
	}
	fraud := report.Filing{Kind: "fraud", Name: "N", Phone: "111111", Fraudster: "0xBAD"}
	for i := range 5 {
		_, err := w.try(t.Context(), acme, fraud, idempotency.Key{})
		if (err != nil) != (i >= 3) {
			t.Fatalf("report %d: %v", i+1, err)
		}
		if err != nil {
			if f := fault.As(err); f.Kind != fault.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > time.Hour {
				t.Errorf("file too many reports: got %+v, want a rate limit of at most an hour", f)
			}
		}
	}
	for name, one := range map[string]struct {
		owner  tenant.Owner
		filing report.Filing
	}{
		"another key":     {tenant.Owner{MerchantID: "acme", KeyID: 8, Mode: tenant.Test}, fraud},
		"the other mode":  {tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}, fraud},
		"another address": {acme, report.Filing{Kind: "fraud", Name: "N", Phone: "111111", Fraudster: "0xBAD2"}},
		"no address":      {acme, report.Filing{Kind: "fraud", Name: "N", Phone: "111111"}},
	} {
		if _, err := w.try(t.Context(), one.owner, one.filing, idempotency.Key{}); err != nil {
			t.Errorf("file from %s: %v", name, err)
		}
	}
	for range 3 {
		w.file(acme, report.Filing{Wallet: "Twallet"})
	}
	w.file(acme, report.Filing{Phone: "444444", Fraudster: "0xOLD"})
	if _, err := w.pool.Exec(t.Context(), `UPDATE sources SET window_at = window_at + interval '1 hour' WHERE address = '0xold'`); err != nil { // as one of the next hour beside it
		t.Fatal(err)
	}
	w.file(acme, report.Filing{Phone: "444444", Fraudster: "0xOLD"})
	if n := ask[int](w, `SELECT window_n FROM sources WHERE address = '0xold'`); n != 1 {
		t.Errorf("%d reports are counted in the next hour, want none of this hour", n)
	}
	if _, err := w.try(t.Context(), acme, report.Filing{Kind: "fraud", Name: "N", Wallet: "Twallet"}, idempotency.Key{}); !isCode(err, "too_many_reports") {
		t.Errorf("a reporter's wallet is not counted: %v", err)
	}
	if refused != 3 {
		t.Errorf("%d refusals counted, want 3", refused)
	}
	if s := w.subject(tenant.Test, "0xbad"); len(s.Sources) != 2 || s.Sources[0].Refused != 2 || s.Sources[0].Reports != 3 || s.Sources[0].ReportsThisHour != 3 {
		t.Errorf("count what was refused: got %+v, want 2 refused and 3 filed of the first source", s.Sources)
	}
	var pages []string
	var after *app.FloodsAfter
	for {
		body, err := w.Floods(t.Context(), tenant.Modes(), 1, after)
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			Floods     []source
			Pagination struct {
				NextCursor *string
				HasMore    bool
			}
		}
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Floods {
			pages = append(pages, fmt.Sprintf("%s %s %d", f.WalletAddress, f.Role, f.Refused))
		}
		if !a.Pagination.HasMore {
			break
		}
		if after, _ = app.ParseFloodsAfter(*a.Pagination.NextCursor); after == nil {
			t.Fatal("the cursor cannot be read")
		}
	}
	if got := fmt.Sprint(pages); got != "[Twallet reporter 1 0xbad fraudster 2]" {
		t.Errorf("floods %s", got)
	}
	// The next hour begins anew.
	if _, err := w.pool.Exec(t.Context(), `UPDATE sources SET window_at = window_at - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try(t.Context(), acme, fraud, idempotency.Key{}); err != nil {
		t.Errorf("in the next hour: %v", err)
	}
	if s := w.subject(tenant.Test, "0xbad"); s.Sources[0].ReportsThisHour != 1 || s.Sources[0].Reports != 4 {
		t.Errorf("count in the next hour: got %+v, want one of four", s.Sources)
	}
	w.checkCounts()
}
