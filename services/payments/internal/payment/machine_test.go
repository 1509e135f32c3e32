package payment_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/libs/fault"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

func TestTableIsTotal(t *testing.T) {
	table := Transitions()
	if len(table) != len(States()) {
		t.Errorf("the table has %d states, there are %d", len(table), len(States()))
	}
	for _, s := range States() {
		if len(table[s]) != len(TriggerNames()) {
			t.Errorf("%s has %d triggers, there are %d", s, len(table[s]), len(TriggerNames()))
		}
		for _, name := range TriggerNames() {
			switch c := table[s][name]; c.Outcome {
			case Move:
				if len(c.Edges) == 0 {
					t.Errorf("%s in %s moves nowhere", name, s)
				}
			case Record, Refuse:
				if len(c.Edges) != 0 {
					t.Errorf("%s in %s does not move but has edges", name, s)
				}
			default:
				t.Errorf("%s in %s has no outcome", name, s)
			}
		}
	}
}

// one payment in each state, by the shortest way there.
func inState(t *testing.T, s State) *fixture {
	w := newFixture(t, Transfer)
	switch s {
	case StateNone:
		w.p = Payment{}
	case State(StatusCreated):
		w = newFixture(t, Request)
	case State(StatusPending):
	case State(StatusConfirming):
		w.deposit("a", "100", shallow)
	case State(StatusConfirmed):
		w.deposit("a", "100", deep)
	case StateUnfunded:
		w = newFixture(t, Gift)
		w.must(ClaimGift{Receiver: account})
	case State(StatusSettling):
		w.deposit("a", "100", deep)
		w.send()
	case State(StatusSettled):
		w.deposit("a", "100", deep)
		w.send()
		w.succeed()
	case State(StatusExpired):
		w.close()
	case State(StatusCancelled):
		w.must(Cancel{})
	case State(StatusNeedsReview):
		w.deposit("a", "100", other("polygon", "USDT"))
		w.close()
	case State(StatusRefunded):
		w.deposit("a", "100", other("polygon", "USDT"))
		w.close()
		w.must(SetRefundAddress{Address: "0xdef"})
		w.must(MarkRefunded{Tx: "0x1", Rows: w.rows})
	}
	if w.p.State() != s {
		t.Fatalf("payment is in %s, want %s", w.p.State(), s)
	}
	return w
}

// Every cell that refuses returns an error that callers may see, and changes nothing. Only an incomplete draft,
// fulfilment or claim is an internal error.
func TestEveryRefusalIsAFault(t *testing.T) {
	triggers := []Trigger{
		Create{},
		Adopt{},
		Fulfil{},
		Cancel{},
		ClaimGift{Receiver: account},
		Settle{},
		NewToken{},
		SetRefundAddress{},
		ProposeRefundAddress{},
		ConfirmRefundAddress{Address: "0xdef"},
		Named{},
		Deposits{},
		WindowOver{},
		DeadlineOver{},
		Screened{},
		Sending{},
		Unknown{},
		Succeeded{},
		Failed{},
		Returned{},
		Accept{},
		Retry{},
		MarkRefunded{},
		RequestRefund{},
		ChangeRefund{},
	}
	if len(triggers) != len(TriggerNames()) {
		t.Fatalf("%d triggers, %d names", len(triggers), len(TriggerNames()))
	}
	for _, s := range States() {
		for _, tr := range triggers {
			if Transitions()[s][tr.Name()].Outcome != Refuse {
				continue
			}
			err := inState(t, s).apply(tr)
			if f := fault.As(err); err == nil || f.Kind == fault.Internal {
				t.Errorf("%s in %s: %v", tr.Name(), s, err)
			}
		}
	}
}

func TestStatusesAndEventsAreNamedLikeTheInterface(t *testing.T) {
	want := []string{
		"payment.created", "payment.pending", "payment.confirming", "payment.confirmed", "payment.settling", "payment.settled",
		"payment.expired", "payment.cancelled", "payment.needs_review", "payment.refunded", "payment.underpaid", "payment.overpaid", "payment.reorged",
		"payment.wrong_asset", "payment.refund_address_changed", "payment.refund_address_proposed", "payment.refund_requested", "payment.refund_approved", "payment.refund_signing", "payment.refund_sent",
		"payment.refund_confirmed", "payment.refund_failed",
	}
	if got := EventTypes(); !slices.Equal(got, want) {
		t.Errorf("event types %v", got)
	}
}

// machine drives one payment at random: a chain that reorgs, a payer who sends any amount at any time, a rail that
// answers anything in any order, and a merchant, a recipient and an operator who use every operation.
type machine struct {
	w    *fixture
	keys int
}

func (m *machine) step(t *rapid.T) {
	w := m.w
	w.t = t
	refusable := func(tr Trigger) { _ = w.apply(tr) } // apply checks that a refusal changes nothing
	switch rapid.SampledFrom(actions).Draw(t, "action") {
	case "deposit":
		m.keys++
		amount := rapid.SampledFrom([]string{"0.05", "10", "40", "60", "99.5", "100", "101", "150", "40000"}).Draw(t, "amount")
		pair := rapid.SampledFrom([][2]string{{"ethereum", "USDT"}, {"ethereum", "USDT"}, {"ethereum", "USDT"}, {"polygon", "USDT"}}).Draw(t, "pair")
		d := Deposit{Key: string(rune('a' + m.keys)), Network: pair[0], Asset: pair[1], Amount: dec(amount), FirstSeenAt: w.now}
		if rapid.Bool().Draw(t, "mined") {
			d.BlockHeight, d.BlockTime = 7, w.now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(t, "ago"))*time.Second)
		}
		w.rows = append(w.rows, d)
		m.tell()
	case "mine":
		if d := m.any(t); d != nil {
			d.Reverted, d.BlockHeight, d.BlockTime = false, 7, w.now
			d.Depth = rapid.SampledFrom([]int64{1, 5, 12, 200}).Draw(t, "depth")
			d.BlockHash = rapid.SampledFrom([]string{"one", "one", "other"}).Draw(t, "block")
			d.Finalized = d.Depth == 200
			m.perhaps(t)
		}
	case "reorg":
		if d := m.any(t); d != nil {
			d.Reverted, d.Depth, d.BlockHeight, d.Finalized = true, 0, 0, false
			m.perhaps(t)
		}
	case "wait":
		if d := m.any(t); d != nil && d.Reverted {
			d.Reverted, d.BlockTime = false, time.Time{}
			m.perhaps(t)
		}
	case "remine":
		if d := m.any(t); d != nil {
			d.Reverted, d.BlockHeight, d.Depth, d.Amount = false, 7, 12, dec(rapid.SampledFrom([]string{"30", "100", "120"}).Draw(t, "other amount"))
			m.tell()
		}
	case "tell":
		m.tell()
	case "time":
		w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 45, 60 * 25, 60 * 24 * 8, 60 * 24 * 31}).Draw(t, "minutes")) * time.Minute)
		w.rate = dec(rapid.SampledFrom([]string{"1600", "1610", "1700", "0"}).Draw(t, "rate"))
	case "window":
		refusable(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: w.now})
	case "early":
		refusable(WindowOver{Rows: w.rows, Rate: w.rate, Early: true})
	case "deadline":
		refusable(DeadlineOver{})
	case "screened":
		refusable(Screened{Verdict: rapid.SampledFrom([]Screening{Clear, Clear, Hit}).Draw(t, "verdict"), Rows: w.rows})
	case "cancel":
		refusable(Cancel{})
	case "claim":
		refusable(ClaimGift{Receiver: account})
	case "fulfil":
		refusable(Fulfil{Quote: priced(t, "ethereum", "USDT", "160000", quote.Crypto), Address: "0xabc"})
	case "settle":
		hash := []byte("12345678901234567890123456789012")
		refusable(NewToken{Token{Hash: hash, ExpiresAt: w.now.Add(time.Hour)}})
		refusable(Settle{TokenHash: hash})
	case "name":
		named := account
		named.AccountName = rapid.SampledFrom([]string{"A", "B"}).Draw(t, "name")
		refusable(Named{named})
	case "sending":
		refusable(Sending{Attempt: m.attempt(t)})
	case "unknown":
		refusable(Unknown{Attempt: m.attempt(t)})
	case "succeeded":
		refusable(Succeeded{Attempt: m.attempt(t), Fee: decimal.Zero})
	case "failed":
		refusable(Failed{Attempt: m.attempt(t), Over: rapid.SampledFrom([]string{"", "", "other"}).Draw(t, "over")})
	case "returned":
		refusable(Returned{Attempt: m.attempt(t)})
	case "accept":
		m.accept(t)
	case "retry":
		refusable(Retry{})
	case "propose":
		refusable(ProposeRefundAddress{Address: rapid.SampledFrom([]string{"0xabc", "0xdef"}).Draw(t, "proposal"), Rows: w.rows})
		refusable(ConfirmRefundAddress{Address: "0xdef"})
	case "refund":
		refusable(SetRefundAddress{Address: "0xdef"})
		var later []string
		if last := len(w.rows) - 1; last > 0 && rapid.Bool().Draw(t, "with later money") {
			later = []string{w.rows[last].Key}
		}
		refusable(MarkRefunded{Tx: "0x1", Rows: w.rows, Later: later, Refunds: w.refunds})
	case "payback":
		refusable(SetRefundAddress{Address: rapid.SampledFrom([]string{"0xdef", "0xdef", "0xdef", "0xfed"}).Draw(t, "refund address")})
		m.payback(t)
	case "paid back":
		if len(w.refunds) == 0 {
			return
		}
		r := w.refunds[rapid.IntRange(0, len(w.refunds)-1).Draw(t, "refund")]
		told := r.Told + rapid.SampledFrom([]int64{0, 1, 1, 1, 2}).Draw(t, "told")
		name := rapid.SampledFrom(refund.TriggerNames()).Draw(t, "refund trigger")
		if name == refund.OnApprove || name == refund.OnRefuse || name == refund.OnCancel {
			told = 0
		}
		refusable(ChangeRefund{Refund: r, Rows: w.rows, Refunds: w.refunds, Trigger: refund.Trigger{
			Name: name, Approval: refund.Automatic, TxHash: fmt.Sprintf("0x%s%d", r.ID, r.Version), Fee: dec("0.01"), Told: told,
		}})
	}
}

// payback asks for a refund. One within what is owed is taken, one above is refused.
func (m *machine) payback(t *rapid.T) {
	w := m.w
	owed := w.policy.Owed(w.p, w.rows, w.refunds)
	r := refund.Refund{ID: fmt.Sprintf("rfd_%d", len(w.refunds)), Network: "ethereum", Asset: "USDT"}
	most := decimal.Zero
	if len(owed) > 0 {
		o := rapid.SampledFrom(owed).Draw(t, "owed")
		r.Network, r.Asset, most = o.Network, o.Asset, o.Amount
	}
	r.Amount = rapid.SampledFrom([]decimal.Decimal{{}, most, most.Div(dec("2")), most.Add(dec("0.01"))}).Draw(t, "refund amount")
	err := w.apply(RequestRefund{Refund: r, Rows: w.rows})
	if taken := most.IsPositive() && r.Amount.LessThanOrEqual(most); taken != (err == nil) && w.p.State() != StateNone {
		t.Fatalf("a refund of %s in %s gives %v, owed %v", r.Amount, w.p.State(), err, owed)
	}
}

// accept accepts with or without an amount. The payout equals the offer and never exceeds the maximum.
func (m *machine) accept(t *rapid.T) {
	w := m.w
	offer, ok := w.policy.Offer(w.p, w.rows, w.refunds)
	amount := rapid.SampledFrom([]decimal.Decimal{{}, offer.Plain, offer.Most, dec("7")}).Draw(t, "payout amount")
	want := amount
	if amount.IsZero() {
		want = offer.Plain
	}
	switch err := w.apply(Accept{Rows: w.rows, Payout: amount}); {
	case err == nil && (!ok || !w.p.Credit.Payout.Equal(want) || want.GreaterThan(w.policy.PayoutLimit(w.p.Currency))):
		t.Fatalf("accept of %s pays %s, offered %+v (%v)", amount, w.p.Credit.Payout, offer, ok)
	case err == nil && amount.IsZero() && w.p.Credit.Payout.GreaterThan(w.p.Quote.PayoutAmount):
		t.Fatalf("a plain accept pays %s, quoted %s", w.p.Credit.Payout, w.p.Quote.PayoutAmount)
	case err != nil && ok && (amount.IsZero() || amount.Equal(offer.Plain) || amount.Equal(offer.Most)):
		t.Fatalf("accept of %s is refused, offered %+v: %v", amount, offer, err)
	}
}

var actions = []string{
	"deposit", "deposit", "mine", "mine", "mine", "reorg", "wait", "remine", "tell", "time", "window", "window", "early", "deadline", "screened", "cancel",
	"claim", "fulfil", "settle", "name", "sending", "sending", "unknown", "succeeded", "failed", "returned", "accept", "retry", "propose", "refund",
	"payback", "payback", "paid back", "paid back", "paid back",
}

// attempt is mostly the current one, sometimes an older one or one that does not exist.
func (m *machine) attempt(t *rapid.T) int {
	return max(0, m.w.p.Attempt+rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "attempt"))
}

func (m *machine) any(t *rapid.T) *Deposit {
	if len(m.w.rows) == 0 {
		return nil
	}
	return &m.w.rows[rapid.IntRange(0, len(m.w.rows)-1).Draw(t, "row")]
}

// perhaps applies the deposits at once, or leaves them to the next trigger with all rows.
func (m *machine) perhaps(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "silent") > 0 {
		m.tell()
	}
}

func (m *machine) tell() {
	if m.w.p.Address != "" {
		m.w.tell()
	} else {
		m.w.rows = nil
	}
}

// life runs random steps on one payment; edges collects the moves.
func life(edges map[string]bool) func(*rapid.T) {
	return func(t *rapid.T) {
		kind := rapid.SampledFrom(StoredTypes()).Draw(t, "type")
		var m *machine
		if kind == Stray {
			m = &machine{w: newStray(t, "150")}
		} else {
			var change []func(*Payment)
			if kind == MerchantPayment && rapid.Bool().Draw(t, "caller settles") {
				change = append(change, noReceiver)
				if rapid.Bool().Draw(t, "to the balance") {
					change = append(change, toBalance)
				}
			}
			m = &machine{w: newFixture(t, kind, change...)}
		}
		m.w.policy.NoRoom = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "no room")
		m.w.policy.Screen = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "screening")
		t.Repeat(map[string]func(*rapid.T){"": func(*rapid.T) {}, "step": m.step})
		maps.Copy(edges, m.w.edges)
	}
}

func TestAnyInterleavingKeepsTheInvariants(t *testing.T) {
	walked := map[string]bool{}
	rapid.Check(t, life(walked))
	for _, s := range States() {
		for _, name := range TriggerNames() {
			for _, e := range Transitions()[s][name].Edges {
				if edge := edgeName(s, name, e.To); !walked[edge] {
					t.Logf("not walked this time: %s (%s)", edge, e.When)
				}
			}
		}
	}
}

func FuzzLife(f *testing.F) { f.Fuzz(rapid.MakeFuzz(life(map[string]bool{}))) }
