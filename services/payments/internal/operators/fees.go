package operators

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/views"
)

// actionFees is the publication of a fee schedule, as approvals name it.
const actionFees = "publish_fees"

// ErrNoFees refuses an id that no fee schedule has.
var ErrNoFees = fault.New(fault.NotFound, "fee_schedule_not_found", "Fee schedule not found")

// FeeOrder is the decoded body of POST /v1/admin/fee-schedules.
type FeeOrder struct {
	Operator string
	fees.Scope
	Tiers     []quote.Tier // empty ends the merchant's own fees; nil is missing
	ValidFrom time.Time    // zero is as soon as possible
	Note      string
}

// FeeState is the table of fee schedules, as the rule of a publication sees it.
type FeeState struct {
	Now    time.Time
	Number int64             // of the newest schedule
	Newest int64             // number of the newest schedule of the scope, 0 without one
	Open   *approval.Request // that waits for another operator
}

// FeeRuling is the result of a rule: a schedule, a request that waits, or a refusal that withdraws the open request.
type FeeRuling struct {
	Publish *fees.Published
	Waits   *approval.Request
	Refused error
	Answer  idempotency.Answer
}

// FeeRule decides on a publication.
type FeeRule func(FeeState) (FeeRuling, error)

// FeeFilter selects schedules, the newest first. An empty text selects all. A mode selects the schedules of both modes
// too.
type FeeFilter struct {
	fees.Scope
	Before string // number of the last row of the page before
	Most   int
}

// FeeObject is the name under which the approval of a publication is kept.
func FeeObject(s fees.Scope) string {
	return strings.Join([]string{"fees", string(s.Mode), string(s.Currency), s.MerchantID}, " ")
}

const (
	merchantMax = 50
	futureMost  = 366 * 24 * time.Hour
)

func (d FeeOrder) check(problems *fault.Problems) {
	if !d.Currency.Valid() {
		problems.Add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	if !d.Mode.Valid() {
		problems.Add("mode", "must be one of live, test")
	}
	if m := d.MerchantID; strings.TrimSpace(m) != m || utf8.RuneCountInString(m) > merchantMax {
		problems.Add("merchantId", "must have at most %d characters, without spaces at its ends", merchantMax)
	}
	switch {
	case d.Tiers == nil:
		problems.Add("tiers", "is required")
	case len(d.Tiers) > 0 || d.MerchantID == "":
		quote.CheckTiers(d.Tiers, d.Currency, problems)
	}
	if d.Note == "" {
		problems.Add("note", "is required")
	}
}

// starts is the moment from which the schedule holds. Every process has read it by then.
func (d FeeOrder) starts(now time.Time) (time.Time, error) {
	soonest := now.Add(fees.Lead)
	if d.ValidFrom.IsZero() {
		return soonest.UTC().Truncate(time.Millisecond), nil
	}
	if d.ValidFrom.Before(soonest) || d.ValidFrom.After(now.Add(futureMost)) {
		var problems fault.Problems
		problems.Add("validFrom", "must be at least %.0f seconds and at most 366 days ahead", fees.Lead.Seconds())
		return time.Time{}, problems.Err()
	}
	return d.ValidFrom.UTC().Truncate(time.Millisecond), nil
}

// confirms lists the values that a second operator confirms.
func (d FeeOrder) confirms() []string {
	from := ""
	if !d.ValidFrom.IsZero() {
		from = timestamp.Text(d.ValidFrom)
	}
	return []string{quote.TiersText(d.Tiers), from}
}

type feeAnswer struct {
	Success  bool    `json:"success"`
	Schedule feeView `json:"feeSchedule"`
}

// PublishFees publishes a fee schedule, which changes no priced payment. In live mode it takes two operators, as an
// order that moves money does.
func (a *Operators) PublishFees(ctx context.Context, d FeeOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	d.check(problems)
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	answer, err := a.Store.PublishFees(ctx, d.Scope, k, func(s FeeState) (FeeRuling, error) { return a.ruleFees(d, s) })
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Access.Store.Settled(ctx, k)
	}
	return answer, err
}

func (a *Operators) ruleFees(d FeeOrder, s FeeState) (FeeRuling, error) {
	from, err := d.starts(s.Now)
	if err != nil {
		return FeeRuling{}, err
	}
	if d.Mode == tenant.Live && a.SecondAbove != nil {
		object := FeeObject(d.Scope)
		by := approval.Request{
			Object: object, Version: s.Newest, Action: actionFees, Digest: a.digest(object, d.confirms()...), Operator: d.Operator, Reason: d.Note,
		}
		confirmed, err := by.Confirms(s.Open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return FeeRuling{Refused: err}, nil
		case err != nil:
			return FeeRuling{}, err
		case !confirmed:
			answer, err := waitsFor(by, s.Now)
			return FeeRuling{Waits: &by, Answer: answer}, err
		}
		d.Note = s.Open.Joined(d.Note)
	}
	p := fees.Published{
		Schedule: quote.Schedule{ID: id.Placed(id.Fees, a.Shard, s.Now), Tiers: d.Tiers}, Scope: d.Scope, Number: s.Number + 1,
		ValidFrom: from, CreatedAt: s.Now, CreatedBy: d.Operator, Note: d.Note,
	}
	body, err := views.Encode(feeAnswer{true, feeViewOf(p)})
	return FeeRuling{Publish: &p, Answer: idempotency.Answer{Status: change.StatusCreated, Body: body}}, err
}

type feeView struct {
	ID         string         `json:"id"`
	Number     int64          `json:"number"`
	Currency   money.Currency `json:"fiatCurrency"`
	Mode       *string        `json:"mode"`
	MerchantID *string        `json:"merchantId"`
	Tiers      []tierView     `json:"tiers"`
	ValidFrom  string         `json:"validFrom"`
	CreatedAt  string         `json:"createdAt"`
	CreatedBy  string         `json:"createdBy"`
	Note       string         `json:"note"`
}

type tierView struct {
	UpTo  *money.Number `json:"upTo"`
	Flat  money.Number  `json:"flat"`
	BPS   money.Number  `json:"basisPoints"`
	Least *money.Number `json:"minimum"`
	Most  *money.Number `json:"maximum"`
}

func feeViewOf(p fees.Published) feeView {
	v := feeView{
		p.ID, p.Number, p.Currency, orNull(string(p.Mode)), orNull(p.MerchantID), make([]tierView, 0, len(p.Tiers)),
		timestamp.Text(p.ValidFrom), timestamp.Text(p.CreatedAt), p.CreatedBy, p.Note,
	}
	for _, t := range p.Tiers {
		v.Tiers = append(v.Tiers, tierView{positive(t.UpTo), money.N(t.Flat), money.N(t.BPS), positive(t.Least), positive(t.Most)})
	}
	return v
}

func positive(d decimal.Decimal) *money.Number {
	if !d.IsPositive() {
		return nil
	}
	n := money.N(d)
	return &n
}

// FeeSchedules is the body of GET /v1/admin/fee-schedules.
func (a *Operators) FeeSchedules(ctx context.Context, f FeeFilter) ([]byte, error) {
	limit := f.Most
	f.Most++
	rows, err := a.Store.FeeSchedules(ctx, f)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(r fees.Published) string { return strconv.FormatInt(r.Number, 10) })
	out := make([]feeView, 0, len(rows))
	for _, r := range rows {
		out = append(out, feeViewOf(r))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Schedules  []feeView        `json:"feeSchedules"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, p})
}

// FeeSchedule is the body of GET /v1/admin/fee-schedules/{id}.
func (a *Operators) FeeSchedule(ctx context.Context, scheduleID string) ([]byte, error) {
	p, err := a.Store.FeeSchedule(ctx, scheduleID)
	if err != nil {
		return nil, err
	}
	return views.Encode(feeAnswer{true, feeViewOf(p)})
}

// FeeLine is a schedule as one line for a terminal.
func FeeLine(p fees.Published) string {
	all := func(text, everyone string) string {
		if text == "" {
			return everyone
		}
		return text
	}
	tiers := quote.TiersText(p.Tiers)
	if len(p.Tiers) == 0 {
		tiers = "as everyone"
	}
	return fmt.Sprintf("%d %s: %s, mode %s, merchant %s, %s, from %s, by %s: %s", p.Number, p.ID, p.Currency, all(string(p.Mode), "both"),
		all(p.MerchantID, "everyone"), tiers, timestamp.Text(p.ValidFrom), p.CreatedBy, p.Note)
}
