// Package operators decides payments and payouts that wait for a person, and lists them.
package operators

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/views"
)

// Operators decides payments and payouts that wait for a person, and lists them.
type Operators struct {
	Store          Store
	Access         *access.Payments
	Providers      map[tenant.Mode]provider.Set
	Receivers      *receivers.Receivers
	Destinations   destination.Checker
	Policy         payment.Policy
	Render         views.Renderer
	Keys           *keyring.Ring
	SecondAbove    map[money.Currency]decimal.Decimal // an order that moves more than this needs a second operator
	UnclaimedAfter time.Duration                      // rest after which money that is owed can be booked as unclaimed
	Shard          shard.Code
	Families       map[tenant.Mode][]money.Family
	StockLeast     int // smallest target of the stock of addresses
	Now            func() time.Time
}

// needsSecond reports whether an order needs a second operator: it moves more than SecondAbove, it pays a live payment
// to another account, or it ends a live stray payment. before and after are the payment around the order.
func (a *Operators) needsSecond(before change.View, after payment.Payment, action string) bool {
	p := before.Payment
	above, bounded := a.SecondAbove[p.Currency]
	if p.Type == payment.Stray { // its money has no worth in a currency
		return p.Mode == tenant.Live && a.SecondAbove != nil
	}
	if !bounded {
		return false
	}
	moved := after.PayoutAmount()
	switch action {
	case ActionRefunded:
		moved = decimal.Max(p.FiatAmount, p.PayoutAmount(), inFiat(before))
	case ActionRetry:
		if p.Mode == tenant.Live && !sameAccount(p.Receiver, after.Receiver) {
			return true
		}
	}
	return moved.GreaterThan(above)
}

func sameAccount(a, b payment.Receiver) bool {
	return a.BankCode == b.BankCode && a.AccountNumber == b.AccountNumber
}

// inFiat is the value of the transfers on the chain at the payment's own rate.
func inFiat(v change.View) (sum decimal.Decimal) {
	q := v.Payment.Quote
	for _, d := range v.Rows {
		switch {
		case d.Reverted:
		case d.Asset == q.Crypto && d.Network == q.Network:
			sum = sum.Add(d.Amount.Mul(q.Rate.Value))
		default:
			sum = sum.Add(d.USD.Mul(q.Rate.USD))
		}
	}
	return sum
}

// digest is a keyed hash of everything in an order that a second operator confirms. It is keyed because an account
// number may be in it.
func (a *Operators) digest(paymentID string, order ...string) []byte {
	return a.Keys.Blind(strings.Join(order, "\x00"), "approval/"+paymentID)
}

// confirms lists the values of a decision that a second operator confirms: the order and its payout.
func (d Order) confirms(after payment.Payment) []string {
	return []string{d.Action, strings.Join(d.hashes(), ","), after.Receiver.BankCode, after.Receiver.AccountNumber, money.Canonical(after.PayoutAmount())}
}

// outdated withdraws the open request about a payment that has changed since.
func outdated(p payment.Payment) change.Result {
	return change.Result{Payment: p, Withdrawn: true, Refused: approval.ErrOutdated}
}

type approvalAnswer struct {
	Success  bool          `json:"success"`
	Payment  any           `json:"payment"`
	Approval approval.View `json:"approval"`
}

// asked stores the order of the first operator and changes nothing else.
func (a *Operators) asked(v change.View, brought bool, r approval.Request, now time.Time) (change.Result, error) {
	body, err := views.Encode(approvalAnswer{true, a.reviewedOf(v, brought), r.Waiting(now)})
	return change.Result{Payment: v.Payment, Answer: &idempotency.Answer{Status: change.StatusOK, Body: body}, Approval: &r}, err
}

// StrayDeposit is money on an address that no payment has.
type StrayDeposit struct {
	Deposit payment.Deposit
	Mode    tenant.Mode
	Address string
	Created time.Time
}

// Held is a payment that waits for a person, with the decisions about its senders.
type Held struct {
	View      change.View
	Decisions []HeldDecision
}

// HeldDecision is a decision about senders, as operators see it.
type HeldDecision struct {
	Stage   string `json:"stage"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Lists   string `json:"lists"`
	At      string `json:"at"`
}

// Store is the tables that operators read and change. Its lists show the open work, newest first: before is the key of
// the last row of the page before, or empty; most is how many rows a page may have.
type Store interface {
	// List gives up to f.Limit payments of all merchants.
	List(ctx context.Context, f views.Filter) ([]change.View, error)
	// FindByID is the whole payment of that id.
	FindByID(ctx context.Context, paymentID string) (change.View, error)
	// Pauses lists the pauses, Pause begins one and Resume ends one.
	Pauses(ctx context.Context) ([]admission.Pause, error)
	Pause(ctx context.Context, p admission.Pause, k idempotency.Key, answer func(admission.Pause) (idempotency.Answer, error)) (admission.Pause, error)
	Resume(ctx context.Context, id int64, operator, reason string) (admission.Pause, error)
	// KeepTerms keeps the terms of a merchant, unless it has newer ones.
	KeepTerms(ctx context.Context, t admission.Term) error
	// Asked is the open request about a payment, nil without one.
	Asked(ctx context.Context, paymentID string) (*approval.Request, error)
	// UpdateOnce changes a payment by its id and stores the answer under the key.
	UpdateOnce(ctx context.Context, paymentID string, k idempotency.Key, f change.Func) error
	// Adopt decides by the rule on the payment of the address of a deposit, under the lock of the address, and stores
	// the answer under the key.
	Adopt(ctx context.Context, mode tenant.Mode, deposit string, k idempotency.Key, rule AdoptRule) (idempotency.Answer, error)
	// PayoutPayment is the id of the payment that a payout belongs to.
	PayoutPayment(ctx context.Context, payoutID string) (paymentID string, err error)
	// UpdatePayoutOnce changes a payout together with its payment and stores the answer under the key.
	UpdatePayoutOnce(ctx context.Context, paymentID, payoutID string, k idempotency.Key, f change.Func) error

	// Lookups are the questions about transactions and an address with their answers.
	Lookups(ctx context.Context, mode tenant.Mode, address string, networks, hashes []string) ([]Lookup, error)

	// PublishFees decides on a schedule of the scope by the rule, alone at a time, and stores its answer under the key.
	PublishFees(ctx context.Context, scope fees.Scope, k idempotency.Key, rule FeeRule) (idempotency.Answer, error)
	// FeeSchedules lists published schedules.
	FeeSchedules(ctx context.Context, f FeeFilter) ([]fees.Published, error)
	// FeeSchedule is the schedule of an id.
	FeeSchedule(ctx context.Context, scheduleID string) (fees.Published, error)

	// Owed is a page of the last list of what is owed, and when that list was made.
	Owed(ctx context.Context, f OwedFilter) (rows []OwedRow, made time.Time, err error)

	// BookUnclaimed decides on a booking of unclaimed money by the rule, under the lock of its payment or deposit, and
	// stores the answer under the key.
	BookUnclaimed(ctx context.Context, d Debtor, k idempotency.Key, rule UnclaimedRule) (idempotency.Answer, error)
	// ReturnUnclaimed decides on the return of unclaimed money under its lock, and stores the answer under the key.
	ReturnUnclaimed(ctx context.Context, unclaimedID string, k idempotency.Key, rule ReturnRule) (idempotency.Answer, error)
	// Unclaimed lists bookings, with all also those that were returned.
	Unclaimed(ctx context.Context, all bool, before string, most int) ([]Unclaimed, error)

	Strays(ctx context.Context, before string, most int) ([]StrayDeposit, error)
	Doubts(ctx context.Context, before string, most int) ([]payout.Payout, error)
	Holds(ctx context.Context, before string, most int) ([]Held, error)
	Differences(ctx context.Context, all bool, before string, most int) ([]books.Difference, error)

	Overview
}

// page cuts a list that was read with one row more than a page holds, and names the row at which the next one begins.
func page[T any](rows []T, limit int, key func(T) string) ([]T, views.Pagination) {
	return views.PageOf(rows, limit, key)
}

// ReadCursor is the key that a cursor of an operators' list holds; ok is false for anything else.
func ReadCursor(text string) (key string, ok bool) {
	const most = 512
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 2 || len(raw) > most || raw[0] != 'o' || strings.ContainsRune(string(raw), 0) {
		return "", false
	}
	return string(raw[1:]), true
}

type strayView struct {
	Key         string       `json:"key"`
	Mode        tenant.Mode  `json:"mode"`
	Network     string       `json:"network"`
	Crypto      string       `json:"crypto"`
	Address     string       `json:"address"`
	TxHash      string       `json:"txHash"`
	Amount      money.Number `json:"amount"`
	Booked      bool         `json:"inSuspense"`
	Reverted    bool         `json:"reverted"`
	FirstSeenAt string       `json:"firstSeenAt"`
	// Witness says that no second host has confirmed the transfer.
	Witness payment.Witness `json:"witness,omitempty"`
}

func strayOf(s StrayDeposit) strayView {
	d := s.Deposit
	return strayView{
		d.Key, s.Mode, d.Network, d.Asset, s.Address, d.TxHash, money.N(d.Amount), d.Booked != "", d.Reverted, timestamp.Text(d.FirstSeenAt),
		payment.Doubt([]payment.Deposit{d}),
	}
}

// StrayKey is the key of a row in the list of strays.
func StrayKey(d StrayDeposit) string {
	return d.Created.UTC().Format(time.RFC3339Nano) + " " + d.Deposit.Key
}

// Strays is the body of GET /v1/admin/deposits/unattributed.
func (a *Operators) Strays(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Strays(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, StrayKey)
	out := make([]strayView, 0, len(rows))
	for _, s := range rows {
		out = append(out, strayOf(s))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Deposits   []strayView      `json:"deposits"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, p})
}

type doubtView struct {
	reviewedPayout
	PaymentID    string      `json:"paymentId"`
	Mode         tenant.Mode `json:"mode"`
	Rail         string      `json:"rail"`
	Frozen       bool        `json:"frozen"`
	Stopped      bool        `json:"stopped"`
	GivenUp      bool        `json:"givenUp"`
	Sends        int         `json:"sends"`
	Misses       int         `json:"misses"`
	FirstSentAt  *string     `json:"firstSentAt"`
	SentAt       *string     `json:"sentAt"`
	NextAt       *string     `json:"nextAt"`
	Answer       string      `json:"lastAnswer"`
	AnswerAt     *string     `json:"lastAnswerAt"`
	Concluded    string      `json:"concluded"`
	ConcludedAt  *string     `json:"concludedAt"`
	Contradicted bool        `json:"contradicted"`
	Reason       string      `json:"reason"`
}

func doubtOf(o payout.Payout) doubtView {
	first := o.FirstSentAt
	if first.IsZero() {
		first = o.SentAt
	}
	paid := reviewedPayoutOf(o)
	if id.HideGifts(o.Reference) != o.Reference {
		paid.Reference = nil
	}
	return doubtView{
		paid,
		o.PaymentID, o.Mode, o.Rail, o.Frozen, o.Stopped, o.Paged, o.Sends, o.Misses,
		timestamp.OrNull(first), timestamp.OrNull(o.SentAt), timestamp.OrNull(o.NextAt), id.HideGifts(o.Answer), timestamp.OrNull(o.AnswerAt),
		concludedAs(o.Concluded), timestamp.OrNull(o.ConcludedAt), o.Contradicted, id.HideGifts(o.Reason),
	}
}

// Doubts is the body of GET /v1/admin/payouts: payouts of unknown outcome, payouts whose answer does not match the
// order, and payouts whose rail contradicts the operator who concluded them.
func (a *Operators) Doubts(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Doubts(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(o payout.Payout) string { return o.ID })
	out := make([]doubtView, 0, len(rows))
	for _, o := range rows {
		out = append(out, doubtOf(o))
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Payouts    []doubtView      `json:"payouts"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, p})
}

type heldView struct {
	Hold       payment.Hold   `json:"hold"`
	Screenings []HeldDecision `json:"screenings"`
	reviewed
}

// Holds is the body of GET /v1/admin/holds: payments that wait for a person's decision before their money moves.
func (a *Operators) Holds(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Holds(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(h Held) string { return h.View.Payment.ID })
	out := make([]heldView, 0, len(rows))
	for _, h := range rows {
		listed, err := a.listedOf(ctx, h.View)
		if err != nil {
			return nil, err
		}
		out = append(out, heldView{h.View.Payment.Hold, h.Decisions, listed})
	}
	return views.Encode(struct {
		Success    bool             `json:"success"`
		Payments   []heldView       `json:"payments"`
		Pagination views.Pagination `json:"pagination"`
	}{true, out, p})
}

type differenceView struct {
	ID         string       `json:"id"`
	Kind       string       `json:"kind"`
	Object     string       `json:"object"`
	Asset      string       `json:"asset"`
	Owner      string       `json:"owner"`
	Expected   money.Number `json:"expected"`
	Found      money.Number `json:"found"`
	FirstAt    string       `json:"firstFoundAt"`
	LastAt     string       `json:"lastFoundAt"`
	ResolvedAt *string      `json:"resolvedAt"`
	AgeDays    int64        `json:"ageDays"`
}

// Differences is the body of GET /v1/admin/differences.
func (a *Operators) Differences(ctx context.Context, all bool, before string, limit int) ([]byte, error) {
	rows, err := a.Store.Differences(ctx, all, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := page(rows, limit, func(d books.Difference) string { return strconv.FormatInt(d.ID, 10) })
	out := make([]differenceView, 0, len(rows))
	for _, d := range rows {
		const day = 24 * time.Hour
		out = append(out, differenceView{
			strconv.FormatInt(d.ID, 10), d.Kind, d.Object, d.Asset, d.Owner, money.N(d.Expected), money.N(d.Found), timestamp.Text(d.FirstAt), timestamp.Text(d.LastAt),
			timestamp.OrNull(d.ResolvedAt), int64(a.Now().Sub(d.FirstAt) / day),
		})
	}
	return views.Encode(struct {
		Success     bool             `json:"success"`
		Differences []differenceView `json:"differences"`
		Pagination  views.Pagination `json:"pagination"`
	}{true, out, p})
}
