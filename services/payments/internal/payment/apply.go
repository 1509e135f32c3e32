package payment

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/refund"
)

// Apply is the one transition function. It looks up the outcome of (state, trigger) in the table, runs its guards, and
// returns the changed payment and the facts that are written in the same transaction. A trigger that was applied before
// changes nothing and returns no facts. An error refuses the trigger and leaves the payment unchanged. now is the
// database's time.
func (pol Policy) Apply(p Payment, t Trigger, now time.Time) (Payment, []Fact, error) {
	cell := transitions[p.State()][t.Name()]
	if cell.Outcome == Refuse {
		return p, nil, refusal(p, t.Name())
	}
	if p.Unclaimed > 0 && disposes(t) {
		return p, nil, errUnclaimed
	}
	c := &change{
		pol: pol, p: p, now: now, trigger: t.Name(), from: p.State(), status: p.Status(), rows: slices.Clone(rowsOf(t)),
		refunds: slices.Clone(refundsOf(t)),
		under:   p.Has(ExceptionUnderpaid), over: p.Has(ExceptionOverpaid), reorged: p.Reorged, wrong: p.WrongAsset,
	}
	if p.State() == StateNone {
		c.status = ""
	}
	if needsRows(t) && len(c.rows) < p.Transfers {
		return p, nil, errRowsMissing(t.Name())
	}
	if err := cell.act(c, t); err != nil {
		return p, nil, err
	}
	c.step()
	if !c.moved && len(c.facts) == 0 && same(p, c.p) {
		return p, nil, nil
	}
	if !c.moved {
		c.facts = append(c.facts, Change{Trigger: c.trigger, From: c.from, To: c.from, Exception: c.p.Exception()})
	}
	return c.p, c.facts, nil
}

func errRowsMissing(t TriggerName) error {
	return fault.New(fault.Internal, "rows_missing", "%s has fewer deposit rows than the payment", t)
}

// Timer returns when the timer is due and which trigger it applies. A confirmed payment has its DeadlineAt. Before the
// due money arrives, a payment has the end of its window, or WaitsUntil while some money is unmined. due is zero
// without a timer. A payment with an address is closed only after its network is scanned ScanMargin past due.
func (p Payment) Timer() (due time.Time, t TriggerName) {
	switch state := p.State(); {
	case state == confirmed:
		return p.DeadlineAt, OnDeadline
	case p.Closed, state != created && state != pending && state != confirming && state != unfunded:
	case !p.WaitsUntil.IsZero():
		return p.WaitsUntil, OnWindow
	case p.Funding != Seen:
		return p.ExpiresAt, OnWindow
	}
	return time.Time{}, ""
}

// needsRows reports the triggers that judge the deposits.
func needsRows(t Trigger) bool {
	switch t := t.(type) {
	case SetRefundAddress:
		return len(t.Refunds) > 0
	case ConfirmRefundAddress:
		return len(t.Refunds) > 0
	case Deposits, WindowOver, Screened, Accept, MarkRefunded, RequestRefund, ChangeRefund, ProposeRefundAddress:
		return true
	}
	return false
}

func rowsOf(t Trigger) []Deposit {
	switch t := t.(type) {
	case Adopt:
		return t.Rows
	case Deposits:
		return t.Rows
	case DeadlineOver:
		return t.Rows
	case WindowOver:
		return t.Rows
	case Screened:
		return t.Rows
	case Accept:
		return t.Rows
	case MarkRefunded:
		return t.Rows
	case RequestRefund:
		return t.Rows
	case ChangeRefund:
		return t.Rows
	case ProposeRefundAddress:
		return t.Rows
	case SetRefundAddress:
		return t.Rows
	case ConfirmRefundAddress:
		return t.Rows
	}
	return nil
}

func refundsOf(t Trigger) []refund.Refund {
	switch t := t.(type) {
	case Accept:
		return t.Refunds
	case Retry:
		return t.Refunds
	case Succeeded:
		return t.Refunds
	case MarkRefunded:
		return t.Refunds
	case RequestRefund:
		return t.Refunds
	case ChangeRefund:
		return t.Refunds
	case ProposeRefundAddress:
		return t.Refunds
	case SetRefundAddress:
		return t.Refunds
	case ConfirmRefundAddress:
		return t.Refunds
	}
	return nil
}

var timeZero time.Time

// change is the state of one call of Apply.
type change struct {
	pol     Policy
	p       Payment
	now     time.Time
	trigger TriggerName
	rows    []Deposit
	refunds []refund.Refund
	facts   []Fact
	marks   map[string]int // position of each transfer's mark among the facts

	from                        State  // last state written to the history
	status                      Status // status of the last event
	under, over, reorged, wrong bool   // flags of the last events
	grew                        bool   // an opened payment has more money than before
	appeared, vanished          bool   // money of any asset came or went, dust excluded
	moved                       bool
}

// step records the changes since the last step: a history row, an event for a new status, and an event for each
// exception that arose or grew. A change that passes several statuses calls it at each one.
func (c *change) step() {
	if to := c.p.State(); to != c.from {
		c.facts = append(c.facts, Change{Trigger: c.trigger, From: c.from, To: to, Exception: c.p.Exception()})
		c.from, c.moved = to, true
	}
	if s := c.p.Status(); s != c.status {
		c.status = s
		c.event("payment."+string(s), s == StatusConfirmed && c.p.CallerSettles())
	}
	if under := c.p.Has(ExceptionUnderpaid); under != c.under || (under && c.grew) {
		if c.under = under; under {
			c.event(EventUnderpaid, false)
		}
	}
	if over := c.p.Has(ExceptionOverpaid); over != c.over || (over && c.grew) {
		if c.over = over; over {
			c.event(EventOverpaid, false)
		}
	}
	if c.p.Reorged != c.reorged {
		if c.reorged = c.p.Reorged; c.reorged {
			c.event(EventReorged, false)
		}
	}
	if c.p.WrongAsset != c.wrong {
		if c.wrong = c.p.WrongAsset; c.wrong {
			c.event(EventWrongAsset, false)
		}
	}
	c.grew = false
}

// event tells the merchant. A stray payment has none.
func (c *change) event(name string, token bool) {
	if c.p.Type == Stray {
		return
	}
	c.p.Sequence++
	c.facts = append(c.facts, Event{Type: name, Payment: c.p, WithToken: token}) // a copy; later steps do not change it
}

func (c *change) post(j ledger.Journal) {
	if !j.Empty() {
		c.facts = append(c.facts, Post{Journal: j})
	}
}

func (c *change) alert(code alert.Code, text string) {
	c.facts = append(c.facts, Alert{Code: code, Text: text})
}

// payoutEntry is the current attempt for the ledger.
func (c *change) payoutEntry() ledger.Payout {
	amount := c.pol.payable(c.p.Rail, c.p.Currency, c.p.Credit.Payout)
	return ledger.Payout{
		Payment: c.p.ID, Reference: payout.Reference(c.p.Reference, c.p.Attempt), N: c.p.Holds, Rail: c.p.Rail,
		Currency: c.p.Currency, Amount: amount, Residue: c.p.Credit.Payout.Sub(amount),
	}
}

func (c *change) conversion() ledger.Conversion {
	return ledger.Conversion{
		Payment: c.p.ID, N: c.p.Credit.N, Asset: c.p.Quote.Crypto, Crypto: c.p.Credit.Crypto, Currency: c.p.Currency,
		Payout: c.p.Credit.Payout, Fee: c.p.Credit.Fee,
	}
}

// holdPayout reserves the money of the current attempt and creates its row.
func (c *change) holdPayout() {
	if c.p.Attempt == 0 {
		c.p.Attempt = 1
	}
	c.p.Holds++
	c.p.Payout = PayoutHeld
	e := c.payoutEntry()
	c.post(e.Held())
	c.facts = append(c.facts, HoldPayout{
		Reference: e.Reference, Attempt: c.p.Attempt, Rail: c.p.Rail, Amount: e.Amount, Currency: e.Currency, Receiver: c.p.Receiver,
	})
}

// voidPayout withdraws a payout that has not left.
func (c *change) voidPayout() {
	if c.p.Payout != PayoutHeld {
		return
	}
	e := c.payoutEntry()
	c.post(e.Voided())
	c.facts = append(c.facts, VoidPayout{Reference: e.Reference})
	c.p.Payout = NoPayout
}

// same reports whether two payments are equal. It compares every field, so a field that is added later is compared too.
func same(a, b Payment) bool { return equal(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()) }

func equal(a, b reflect.Value) bool {
	switch x := a.Addr().Interface().(type) {
	case *decimal.Decimal:
		return x.Equal(*b.Addr().Interface().(*decimal.Decimal))
	case *time.Time:
		return x.Equal(*b.Addr().Interface().(*time.Time))
	case *[]byte:
		return bytes.Equal(*x, *b.Addr().Interface().(*[]byte))
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	default:
		return a.Equal(b)
	}
}
