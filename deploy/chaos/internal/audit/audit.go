// Package audit judges a chaos run from the outside: it reads the services' databases, the simulated bank's own table,
// the broker's queues and the merchant's receiver, and compares them with the merchant's requests. It shares no code
// with the services or libs, so that it repeats none of their mistakes.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/livenet"
	"causeway.internal/deploy/chaos/internal/load"
)

// Evidence is where the auditor looks.
type Evidence struct {
	Databases map[string]string
	AMQPAPI   string
	Vhost     string
	Merchants []string // whose payments the run made, and nobody else
	Asked     []load.Payment
	Received  []load.Delivery
	Listed    []load.Listed     // the list of events, as the merchant walked it at the end
	Outgoing  load.Outgoing     // asked for beside payments
	ListedOut []load.Listed     // events of withdrawals in that list
	Restores  []Restore         // what a restore necessarily loses is counted and is no fault
	Live      *livenet.Networks // the live networks, if any
}

// Verdict is the judgement of one payment; no fault means that it is as it must be.
type Verdict struct {
	Key       string
	Reference string
	Status    string
	Payouts   int // successful transfers at the rail
	Events    int
	Attempts  int // webhook requests, repeated ones included
	Untold    int // events whose delivery a restore took away
	Faults    []string
}

// Report is the judgement of a run.
type Report struct {
	Verdicts   []Verdict
	Faults     []string // of no single payment
	Payments   int
	Shapes     map[load.Shape]int
	Settled    int
	Payouts    int
	Events     int
	Duplicates int // deliveries of an event that had been accepted before: allowed, the merchant drops them by id
	Refused    int // deliveries that the receiver refused on purpose
	Lost       int // payments that did not end as they must, and events not delivered
	Away       int // payments made in the time that a restore took away
	Untold     int // events whose delivery a restore took away
	Proofs     []Proof
	Networks   []Network
	Kinds      []Kind
}

// Clean reports whether nothing at all was found.
func (r Report) Clean() bool {
	return len(r.Faults) == 0 && !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return len(v.Faults) > 0 })
}

// dossier is everything known of one payment.
type dossier struct {
	asked        load.Payment
	rows         []paymentRow
	payouts      []payoutRow
	rail         []railRow
	refunds      []refundRow
	deposits     []depositRow // as payments booked them
	seen         []depositRow // as wallets saw them
	deliveries   []load.Delivery
	listed       []load.Listed
	accountsLeft []accountRow   // the ledger's accounts of this payment
	lost         bool           // made in time that a restore of payments took away
	untold       map[int64]bool // events that a restore of the dispatcher may have taken away
}

// Judge reads everything and compares.
func Judge(ctx context.Context, e Evidence) (Report, error) {
	payments, err := pgx.Connect(ctx, e.Databases["payments"])
	if err != nil {
		return Report{}, fmt.Errorf("opening payments' database: %w", err)
	}
	defer payments.Close(ctx)
	wallets, err := pgx.Connect(ctx, e.Databases["wallets"])
	if err != nil {
		return Report{}, fmt.Errorf("opening wallets' database: %w", err)
	}
	defer wallets.Close(ctx)
	files, stray, err := collect(ctx, e, payments, wallets)
	if err != nil {
		return Report{}, err
	}
	report := Report{Faults: stray}
	stray, err = strayTransfers(ctx, payments, files)
	if err != nil {
		return Report{}, err
	}
	report.Faults = append(report.Faults, stray...)
	for _, f := range files {
		v := f.judge()
		report.Verdicts = append(report.Verdicts, v)
		report.count(f, v)
	}
	slices.SortFunc(report.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Key, b.Key) })
	common, byLaw, err := commonFaults(ctx, e, payments, wallets)
	if err != nil {
		return Report{}, err
	}
	report.Faults = append(report.Faults, common...)
	if report.Proofs, err = provenByBooks(ctx, payments, byLaw); err != nil {
		return report, err
	}
	out, err := readOutgoing(ctx, e, payments, wallets)
	if err != nil {
		return report, err
	}
	report.Kinds, report.Faults = out.judge(), append(report.Faults, out.faults...)
	report.Proofs = append(report.Proofs, out.proofs(byLaw)...)
	if e.Live == nil {
		return report, nil
	}
	chains, err := judgeChains(ctx, e.Live, payments, wallets)
	report.Networks, report.Faults = chains.networks, append(report.Faults, chains.faults...)
	report.Proofs = append(report.Proofs, chains.sum.proofs()...)
	return report, err
}

func (r *Report) count(f *dossier, v Verdict) {
	r.Payments++
	if r.Shapes == nil {
		r.Shapes = map[load.Shape]int{}
	}
	r.Shapes[f.asked.Shape]++
	r.Payouts += v.Payouts
	r.Events += v.Events
	if f.lost {
		r.Away++
		return
	}
	if v.Status == "settled" {
		r.Settled++
	}
	if v.Status != outcomes[f.asked.Shape].status {
		r.Lost++
	}
	accepted := map[string]bool{}
	for _, d := range f.deliveries {
		switch {
		case accepted[d.EventID]:
			r.Duplicates++
		case d.Accepted:
			accepted[d.EventID] = true
		default:
			r.Refused++
		}
	}
	if len(f.rows) == 1 {
		missing := max(0, int(f.rows[0].Sequence)-len(accepted))
		untold := min(missing, v.Untold)
		r.Untold += untold
		r.Lost += missing - untold
	}
}

// collect builds one dossier per payment asked for; what belongs to none of them is a fault of its own.
func collect(ctx context.Context, e Evidence, payments, wallets *pgx.Conn) ([]*dossier, []string, error) {
	byReference, byID, byAddress := map[string]*dossier{}, map[string]*dossier{}, map[string]*dossier{}
	var files []*dossier
	var stray []string
	for _, p := range e.Asked {
		f := &dossier{asked: p}
		files = append(files, f)
		if p.Reference == "" {
			continue
		}
		if byReference[p.Reference] != nil {
			stray = append(stray, "two requests were answered with payment "+p.Reference)
		}
		byReference[p.Reference] = f
	}
	rows, err := readPayments(ctx, payments, e.Merchants)
	if err != nil {
		return nil, nil, err
	}
	untold, err := lostEvents(ctx, e, payments)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		f := byReference[row.Reference]
		if f == nil {
			stray = append(stray, "payment "+row.Reference+" was made and never answered: a request made two, or its answer was lost for good")
			continue
		}
		f.rows = append(f.rows, row)
		byID[row.ID], byAddress[row.Address], f.untold = f, f, untold[row.ID]
	}
	shown := map[string]*dossier{}
	for _, f := range files {
		if f.asked.Address == "" {
			continue
		}
		if other := shown[f.asked.Address]; other != nil {
			stray = append(stray, fmt.Sprintf("address %s was shown for %s and for %s", f.asked.Address, other.asked.Reference, f.asked.Reference))
		}
		shown[f.asked.Address] = f
		if byAddress[f.asked.Address] == nil {
			byAddress[f.asked.Address] = f
		}
		f.lost = len(f.rows) == 0 && e.lostAt("payments", f.asked.Answered, 0)
	}
	if err := attach(ctx, payments, wallets, byID, byReference, byAddress); err != nil {
		return nil, nil, err
	}
	for _, d := range e.Received {
		f := byReference[d.Reference]
		if f == nil {
			stray = append(stray, fmt.Sprintf("callback %s (%s) belongs to no payment of this run: %s", d.EventID, d.Type, d.Problem))
			continue
		}
		f.deliveries = append(f.deliveries, d)
	}
	for _, l := range e.Listed {
		f := byReference[l.Reference]
		if f == nil {
			stray = append(stray, fmt.Sprintf("listed event %s (%s) belongs to no payment of this run", l.ID, l.Type))
			continue
		}
		f.listed = append(f.listed, l)
	}
	return files, stray, nil
}

func (f *dossier) judge() Verdict {
	v := Verdict{Key: f.asked.Key, Reference: f.asked.Reference, Attempts: len(f.deliveries)}
	fault := func(format string, args ...any) { v.Faults = append(v.Faults, fmt.Sprintf(format, args...)) }
	if f.lost {
		return f.judgeLost()
	}
	if f.asked.Problem != "" {
		fault("the merchant could not go on: %s", f.asked.Problem)
	}
	if f.asked.Shape == load.NoAccount {
		if !f.asked.Refused || len(f.rows) > 0 {
			fault("a payment to an account that does not exist was not refused")
		}
		return v
	}
	want, known := outcomes[f.asked.Shape]
	if !known {
		fault("nobody says what must come of the shape %q", f.asked.Shape)
	}
	if len(f.rows) != 1 {
		fault("%d payments for one request", len(f.rows))
		return v
	}
	row := f.rows[0]
	v.Reference, v.Status = row.Reference, row.Status
	if f.asked.Address != row.Address {
		fault("answered with address %s, stored with %s", f.asked.Address, row.Address)
	}
	if row.Status != want.status || row.Exception != want.exception {
		fault("%s: status %s, exception %q, must be %s, %q", f.asked.Shape, row.Status, row.Exception, want.status, want.exception)
	}
	f.judgeMoney(row, want, &v, fault)
	f.judgeEvents(row, want.told, &v, fault)
	f.judgeListed(row, fault)
	return v
}

// judgeEvents checks that every sequence number from 1 on exists under one id and was accepted, with every required
// event among them.
func (f *dossier) judgeEvents(row paymentRow, told []string, v *Verdict, fault func(string, ...any)) {
	ids, accepted, types := map[int64]string{}, map[int64]bool{}, map[string]bool{}
	for _, d := range f.deliveries {
		if d.Problem != "" {
			fault("callback %s: %s", d.EventID, d.Problem)
			continue
		}
		if id := ids[d.Sequence]; id != "" && id != d.EventID {
			fault("event %d came under two ids, %s and %s", d.Sequence, id, d.EventID)
		}
		ids[d.Sequence] = d.EventID
		if d.Accepted {
			accepted[d.Sequence] = true
			types[d.Type] = true
		}
		if d.Sequence < 1 || d.Sequence > row.Sequence {
			fault("event %d of %d", d.Sequence, row.Sequence)
		}
	}
	v.Events = len(accepted)
	var lost []string
	for n := int64(1); n <= row.Sequence; n++ {
		switch {
		case accepted[n]:
		case f.untold[n]:
			v.Untold++
		default:
			lost = append(lost, fmt.Sprint(n))
		}
	}
	if len(lost) > 0 {
		fault("events %s of %d never arrived", strings.Join(lost, ","), row.Sequence)
	}
	for _, what := range told {
		if !types["payment."+what] && v.Untold == 0 {
			fault("no payment.%s arrived", what)
		}
	}
}

// Settled waits until every payment of the run has ended and the merchant has what it must get. It gives up when
// nothing has changed for the time of patience, or after mostPatience times as long, and returns what is still missing.
func Settled(ctx context.Context, patience time.Duration, e Evidence, received func() []load.Delivery) (waiting string, err error) {
	return settle(ctx, patience, lookEvery, func(ctx context.Context) (string, error) { return unfinished(ctx, e, received()) })
}

const (
	lookEvery    = 500 * time.Millisecond
	mostPatience = 3
)

// settle looks until nothing is missing. Sweeps of one address follow each other, each after the final block of the one
// before, so the end of a run that makes progress may take long; one that makes none will not end.
func settle(ctx context.Context, patience, every time.Duration, look func(context.Context) (string, error)) (waiting string, err error) {
	ctx, cancel := context.WithTimeout(ctx, mostPatience*patience)
	defer cancel()
	for changed := time.Now(); ; {
		found, err := look(ctx)
		if found == "" && err == nil {
			return "", nil
		}
		if found != waiting {
			waiting, changed = found, time.Now()
		}
		if time.Since(changed) > patience {
			return waiting, err
		}
		select {
		case <-ctx.Done():
			return waiting, err
		case <-time.After(every):
		}
	}
}
