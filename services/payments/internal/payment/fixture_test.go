package payment_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	. "causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

var start = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// fatal is the part of *testing.T and *rapid.T that the tests use.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// fixture is one payment with its deposit rows, its ledger and all its facts. It checks the invariants after every
// trigger.
type fixture struct {
	t      fatal
	policy Policy
	p      Payment
	rows   []Deposit
	now    time.Time

	rate     decimal.Decimal
	events   []Event
	changes  []Change
	alerts   []alert.Code
	journals map[string]bool
	balances map[string]decimal.Decimal
	held     *HoldPayout // the payout row that may be sent
	last     []Fact
	wins     int // successes minus returns
	refunds  []refund.Refund
	owed     []Owed // before the last trigger
	unwound  bool   // a refund has reversed the conversion
	edges    map[string]bool
}

func testRate() quote.Rate {
	return quote.Rate{Fiat: money.NGN, Crypto: "USDT", Value: dec("1600"), Mid: dec("1600"), USD: dec("1600"), At: start}
}

func priced(t fatal, network, symbol, fiat string, from quote.ChargeFrom) quote.Quote {
	t.Helper()
	n, _ := money.NetworkOf(network)
	a, _ := n.Asset(symbol)
	ask := quote.Ask{Currency: money.NGN, Asset: a, Network: n.Name, FiatAmount: dec(fiat), ChargeFrom: from}
	q, err := quote.First(money.NGN).Make(ask, quote.DefaultLimits()[money.NGN], testRate())
	if err != nil {
		t.Fatalf("pricing: %v", err)
	}
	return q
}

var account = Receiver{BankCode: "058", BankName: "Guaranty Trust Bank", AccountNumber: "0123456789", AccountName: "ADAEZE OKAFOR", NameVerified: true}

// newFixture creates a payment of 160 000 NGN: with the fee of 1 000 from fiat the payer owes exactly 100 USDT.
func newFixture(t fatal, kind Type, change ...func(*Payment)) *fixture {
	t.Helper()
	w := &fixture{
		t: t, policy: Defaults(), now: start, rate: dec("1600"), journals: map[string]bool{}, balances: map[string]decimal.Decimal{}, edges: map[string]bool{},
	}
	d := Payment{
		ID: "pay_1", Reference: "CW-ABCDEFGHJKMN", MerchantID: "m1", Mode: tenant.Test, Type: kind, Currency: money.NGN, FiatAmount: dec("160000"),
		ChargeFrom: quote.Fiat, Rail: "sim", Metadata: []byte("{}"),
	}
	if kind != Request {
		d.Quote, d.Address, d.NetworkName = priced(t, "ethereum", "USDT", "160000", quote.Fiat), "0xabc", "erc20"
	}
	if kind == Transfer || kind == Request || kind == MerchantPayment {
		d.Receiver = account
	}
	for _, f := range change {
		f(&d)
	}
	w.must(Create{Draft: d})
	return w
}

// newStray adopts an address to which an amount of USDT on ethereum has come, which is booked.
func newStray(t fatal, amount string) *fixture {
	t.Helper()
	w := &fixture{
		t: t, policy: Defaults(), now: start, rate: dec("1600"), journals: map[string]bool{}, balances: map[string]decimal.Decimal{}, edges: map[string]bool{},
	}
	d := Deposit{Key: "a", Network: "ethereum", Asset: "USDT", Amount: dec(amount), FirstSeenAt: start.Add(-time.Hour), Bookings: 1}
	deep(&d)
	w.book(ledger.Deposit{Key: d.Key, N: 1, Network: d.Network, Asset: d.Asset, Amount: d.Amount, To: ledger.Suspense(d.Asset)}.Confirmed())
	d.Booked, d.BookedAmount = "suspense", d.Amount
	w.rows = []Deposit{d}
	draft := Payment{ID: "pay_1", Reference: "pay_1", Mode: tenant.Test, Address: "0xabc", NetworkName: "ethereum"}
	draft.Quote.Network = "ethereum"
	w.must(Adopt{Draft: draft, Rows: w.rows})
	return w
}

func noReceiver(p *Payment) { p.Receiver = Receiver{} }

// toBalance makes a payment without a receiver one whose money is credited to the merchant's balance.
func toBalance(p *Payment) { p.Receiver, p.ToBalance = Receiver{}, true }

// apply runs one trigger and checks the invariants.
func (w *fixture) apply(tr Trigger) error {
	w.t.Helper()
	before := w.p
	cell := Transitions()[before.State()][tr.Name()]
	w.owed = w.policy.Owed(before, w.rows, w.refunds)
	tr = w.known(tr)
	p, facts, err := w.policy.Apply(before, tr, w.now)
	if err != nil {
		if len(facts) != 0 || p.Status() != before.Status() || p.Sequence != before.Sequence {
			w.t.Fatalf("%s refused in %s but changed something", tr.Name(), before.State())
		}
		return err
	}
	if cell.Outcome == Refuse {
		w.t.Fatalf("%s in %s is refused by the table but was applied", tr.Name(), before.State())
	}
	if cell.Outcome == Record && p.State() != before.State() {
		w.t.Fatalf("%s in %s only records but led to %s", tr.Name(), before.State(), p.State())
	}
	w.p, w.last = p, facts
	w.take(before, tr)
	w.invariants(before, tr)
	return nil
}

// known fills in the refunds of the payment, as the use cases do.
func (w *fixture) known(tr Trigger) Trigger {
	switch t := tr.(type) {
	case Accept:
		t.Refunds = w.refunds
		return t
	case Retry:
		t.Refunds = w.refunds
		return t
	case Succeeded:
		t.Refunds = w.refunds
		return t
	case RequestRefund:
		t.Refunds = w.refunds
		return t
	case SetRefundAddress:
		t.Rows, t.Refunds = w.rows, w.refunds
		return t
	case ConfirmRefundAddress:
		t.Rows, t.Refunds = w.rows, w.refunds
		return t
	}
	return tr
}

func (w *fixture) must(tr Trigger) {
	w.t.Helper()
	if err := w.apply(tr); err != nil {
		w.t.Fatalf("%s in %s: %v", tr.Name(), w.p.State(), err)
	}
}

// take stores the facts as the store does.
func (w *fixture) take(before Payment, tr Trigger) {
	w.t.Helper()
	sequence, at := before.Sequence, before.State()
	for _, f := range w.last {
		switch f := f.(type) {
		case Change:
			if f.From != at {
				w.t.Fatalf("%s: history jumps from %s to %s", tr.Name(), at, f.From)
			}
			if f.To != f.From {
				w.hop(f, tr.Name())
			}
			at = f.To
			w.changes = append(w.changes, f)
		case Event:
			if sequence++; f.Payment.Sequence != sequence {
				w.t.Fatalf("%s: event %s has sequence %d, want %d", tr.Name(), f.Type, f.Payment.Sequence, sequence)
			}
			if s, ok := strings.CutPrefix(f.Type, "payment."); ok && Status(s).Valid() && f.Payment.Status() != Status(s) {
				w.t.Fatalf("event %s shows status %s", f.Type, f.Payment.Status())
			}
			w.events = append(w.events, f)
		case Post:
			w.book(f.Journal)
		case Mark:
			w.rows = Marked(w.rows, []Fact{f})
		case KeepRefund:
			w.keep(f.Refund)
		case HoldPayout:
			w.held = &f
		case VoidPayout:
			if w.held == nil || w.held.Reference != f.Reference {
				w.t.Fatalf("%s voids payout %s, which is not held", tr.Name(), f.Reference)
			}
			w.held = nil
		case Alert:
			w.alerts = append(w.alerts, f.Code)
		}
	}
	if sequence != w.p.Sequence || at != w.p.State() {
		w.t.Fatalf("%s: facts end at sequence %d in %s, the payment at %d in %s", tr.Name(), sequence, at, w.p.Sequence, w.p.State())
	}
}

// hop checks one step of a move against the table. A trigger that continues from a state which it has just entered uses
// that state's own cell, or the cell of deposits.
func (w *fixture) hop(f Change, by TriggerName) {
	w.t.Helper()
	for _, name := range []TriggerName{by, OnDeposits} {
		for _, e := range Transitions()[f.From][name].Edges {
			if e.To == f.To {
				w.edges[edgeName(f.From, name, f.To)] = true
				return
			}
		}
	}
	w.t.Fatalf("%s led from %s to %s, which the table does not know", by, f.From, f.To)
}

func edgeName(from State, tr TriggerName, to State) string {
	return fmt.Sprintf("%s --%s--> %s", from, tr, to)
}

func (w *fixture) book(j ledger.Journal) {
	w.t.Helper()
	if err := j.Check(); err != nil {
		w.t.Fatalf("Check() of a journal = %v, want it balanced", err)
	}
	if w.journals[j.Key] {
		w.t.Fatalf("journal %s is written twice", j.Key)
	}
	w.journals[j.Key] = true
	switch j.Event {
	case ledger.EventPayoutDone, ledger.EventSettledByUser:
		w.wins++
	case ledger.EventPayoutBack:
		w.wins--
	}
	for _, e := range j.Entries {
		amount := e.Amount
		if e.Side != e.Account.Normal {
			amount = amount.Neg()
		}
		w.balances[e.Account.Code] = w.balances[e.Account.Code].Add(amount)
	}
}

// invariants are checked after every trigger.
func (w *fixture) invariants(before Payment, tr Trigger) {
	w.t.Helper()
	received := decimal.Zero
	for _, d := range w.rows {
		idle := d.BlockHeight <= 0 && (w.p.Closed || d.FirstSeenAt.After(w.p.ExpiresAt))
		if !d.Reverted && !idle && d.Asset == w.p.Quote.Crypto && d.Network == w.p.Quote.Network {
			received = received.Add(d.Amount)
		}
	}
	if _, ok := tr.(Deposits); ok && !received.Equal(w.p.Received) {
		w.t.Fatalf("receivedAmount is %s, the transfers sum to %s", w.p.Received, received)
	}
	for code, b := range w.balances {
		kind, _, _ := strings.Cut(code, ":")
		if b.IsNegative() && (kind == "customer" || kind == "payable" || kind == "clearing") {
			w.t.Fatalf("%s in %s: account %s is at %s", tr.Name(), before.State(), code, b)
		}
	}
	inFlight := w.p.Payout == PayoutHeld || w.p.Payout == PayoutSending || w.p.Payout == PayoutUnknown
	if clearing := w.balances["clearing:payout:"+w.p.Rail+":NGN"]; clearing.IsPositive() != inFlight {
		w.t.Fatalf("clearing is at %s with payout %s", clearing, w.p.Payout)
	}
	if (w.held != nil) != (w.p.Attempt > 0 && w.p.Payout != NoPayout) {
		w.t.Fatalf("payout row %v with payout %s", w.held, w.p.Payout)
	}
	if w.wins < 0 || w.wins > 1 {
		w.t.Fatalf("%d payouts succeeded", w.wins)
	}
	if settled := w.p.Status() == StatusSettled; settled != (w.wins == 1) && w.p.End != Refunded {
		w.t.Fatalf("status %s with %d successes", w.p.Status(), w.wins)
	}
	if approved, ok := tr.(ChangeRefund); ok && before.Credit.Frozen && !w.p.Credit.Frozen {
		if w.unwound = true; before.Status() != StatusNeedsReview || approved.Trigger.Name != refund.OnApprove || before.Payout == PayoutSucceeded {
			w.t.Fatalf("%s of a refund of %s in %s reverses the conversion", approved.Trigger.Name, approved.Refund.Amount, before.State())
		}
	}
	if _, ok := tr.(RequestRefund); ok && before.Credit.Frozen != w.p.Credit.Frozen {
		w.t.Fatalf("a request for a refund in %s reverses the conversion", before.State())
	}
	if w.p.Payout != NoPayout && !w.p.Credit.Frozen && w.p.End != Refunded && !w.unwound {
		w.t.Fatalf("payout %s without confirmed money", w.p.Payout)
	}
	if w.p.Credit.Frozen && w.p.ConfirmedAt.IsZero() {
		w.t.Fatalf("converted money without confirmedAt")
	}
	if (w.p.Status() == StatusSettled) != !w.p.SettledAt.IsZero() {
		w.t.Fatalf("status %s with settledAt %s", w.p.Status(), w.p.SettledAt)
	}
	switch before.Status() {
	case StatusRefunded:
		if before.State() != StateNone && w.p.Status() != StatusRefunded && tr.Name() != OnRefundChanged {
			w.t.Fatalf("refunded led to %s", w.p.Status())
		}
	case StatusSettled:
		if w.p.Status() != StatusSettled && tr.Name() != OnPayoutReturned {
			w.t.Fatalf("settled led to %s by %s", w.p.Status(), tr.Name())
		}
	}
	if w.p.Type == Stray && (len(w.events) > 0 || w.p.Credit.N > 0 || w.p.Attempt > 0) {
		w.t.Fatalf("%s: a stray payment has %d events, %d conversions and %d payouts", tr.Name(), len(w.events), w.p.Credit.N, w.p.Attempt)
	}
	if _, told := tr.(Deposits); told {
		w.unmined(before)
	}
	w.money(before, tr)
	w.paybacks(before, tr)
	w.duplicate(tr)
}

// keep stores a refund as the store does: by compare-and-set of its version.
func (w *fixture) keep(r refund.Refund) {
	w.t.Helper()
	i := slices.IndexFunc(w.refunds, func(o refund.Refund) bool { return o.ID == r.ID })
	switch {
	case i < 0 && r.Version == 1:
		w.refunds = append(w.refunds, r)
	case i >= 0 && w.refunds[i].Version == r.Version-1:
		w.refunds[i] = r
	default:
		w.t.Fatalf("refund %s is written with version %d", r.ID, r.Version)
	}
}

// paybacks checks that the rows and the ledger agree on what is owed to the payer, that the clearing accounts hold the
// open refunds, and that no refund took more than was owed.
func (w *fixture) paybacks(before Payment, tr Trigger) {
	w.t.Helper()
	owed, open := map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	for _, d := range w.rows {
		owed[d.Asset] = owed[d.Asset].Add(d.BookedAmount).Sub(d.Refunded)
	}
	if w.p.Credit.Frozen {
		owed[w.p.Quote.Crypto] = owed[w.p.Quote.Crypto].Sub(w.p.Credit.Crypto)
	}
	for asset, sum := range owed {
		if books := w.balances["customer:"+w.p.ID+":"+asset].Add(w.balances["suspense:"+asset]); !books.Equal(sum) {
			w.t.Fatalf("%s in %s: the rows owe %s %s, the ledger %s", tr.Name(), before.State(), sum, asset, books)
		}
	}
	for _, r := range w.refunds {
		if account := "clearing:refund:" + r.Network + ":" + r.Asset; r.State.Open() && !r.Reserves() {
			open[account] = open[account].Add(r.Amount)
		}
	}
	for code, b := range w.balances {
		if strings.HasPrefix(code, "clearing:refund:") && !b.Equal(open[code]) {
			w.t.Fatalf("%s in %s: %s is at %s, the open refunds are %s", tr.Name(), before.State(), code, b, open[code])
		}
	}
	if _, ok := tr.(RequestRefund); ok {
		was, r := w.owed, w.refunds[len(w.refunds)-1]
		i := slices.IndexFunc(was, func(o Owed) bool { return o.Network == r.Network && o.Asset == r.Asset })
		if i < 0 || r.Amount.GreaterThan(was[i].Amount) {
			w.t.Fatalf("a refund of %s %s on %s in %s, owed %v", r.Amount, r.Asset, r.Network, before.State(), was)
		}
	}
}

// unmined checks transfers in no block: none is in the ledger. A converted one counts as lost while the payment is in
// review or after its payout left. In every other state the conversion is undone.
func (w *fixture) unmined(before Payment) {
	w.t.Helper()
	for _, d := range w.rows {
		if d.BlockHeight > 0 || d.Reverted {
			continue
		}
		if d.Booked != "" {
			w.t.Fatalf("in %s: %s is in no block and is booked", before.State(), d.Key)
		}
		if d.Counted.IsPositive() && !w.p.Reorged {
			w.t.Fatalf("in %s: %s is in no block, was converted, and no event says so", before.State(), d.Key)
		}
	}
}

// money checks every conversion: it is not above the gross, not above the worth at the locked rate, and not above the
// quote where a limit has no room or no operator named the amount.
func (w *fixture) money(before Payment, tr Trigger) {
	w.t.Helper()
	c, q := w.p.Credit, w.p.Quote
	if !c.Frozen || before.Credit.Frozen && before.Credit.N == c.N {
		return
	}
	if gross := c.Crypto.Mul(q.Rate.Value); c.Payout.IsNegative() || c.Fee.IsNegative() || c.Payout.Add(c.Fee).GreaterThan(gross) && c.Payout.GreaterThan(q.PayoutAmount) {
		w.t.Fatalf("%s converted to %s and %s, worth %s", c.Crypto, c.Payout, c.Fee, gross)
	}
	limit := w.policy.PayoutLimit(w.p.Currency)
	if c.Payout.GreaterThan(limit) {
		w.t.Fatalf("a payout of %s is above the maximum", c.Payout)
	}
	accept, decided := tr.(Accept)
	if (w.policy.NoRoom && !decided || decided && accept.Payout.IsZero()) && c.Payout.GreaterThan(q.PayoutAmount) {
		w.t.Fatalf("%s pays %s, quoted %s", tr.Name(), c.Payout, q.PayoutAmount)
	}
	if w.p.Timing == Late && w.p.Rate().GreaterThan(q.Rate.Value) {
		w.t.Fatalf("late money is worth %s, locked %s", w.p.Rate(), q.Rate.Value)
	}
}

// duplicate applies a trigger from outside a second time: nothing may change.
func (w *fixture) duplicate(tr Trigger) {
	w.t.Helper()
	switch again := tr.(type) {
	case Deposits:
		again.Rows = w.rows
		tr = again
	case WindowOver:
		again.Rows = w.rows
		tr = again
	case Screened:
		again.Rows = w.rows
		tr = again
	case Unknown, Succeeded, Failed, Returned, DeadlineOver, Named, SetRefundAddress:
	default:
		return
	}
	p, facts, err := w.policy.Apply(w.p, tr, w.now)
	if err != nil {
		return
	}
	for _, f := range facts {
		if _, ok := f.(Alert); ok {
			return // an incident is an alert each time the rail repeats it
		}
	}
	if len(facts) != 0 || p.Sequence != w.p.Sequence {
		w.t.Fatalf("%s applied twice in %s gives %d facts: %+v", tr.Name(), w.p.State(), len(facts), facts)
	}
}

// deposit adds or replaces a transfer and applies it to the payment.
func (w *fixture) deposit(key, amount string, change ...func(*Deposit)) {
	w.t.Helper()
	d := Deposit{Key: key, Network: "ethereum", Asset: "USDT", TxHash: "0x" + key, Amount: dec(amount), FirstSeenAt: w.now}
	i := slices.IndexFunc(w.rows, func(d Deposit) bool { return d.Key == key })
	if i >= 0 {
		d = w.rows[i]
		d.Amount = dec(amount)
	}
	for _, f := range change {
		f(&d)
	}
	if i >= 0 {
		w.rows[i] = d
	} else {
		w.rows = append(w.rows, d)
	}
	w.tell()
}

func (w *fixture) tell() {
	w.t.Helper()
	w.must(Deposits{Rows: w.rows, Rate: w.rate})
}

func deep(d *Deposit)     { d.Reverted, d.BlockHeight, d.Depth = false, 100, 12 }
func shallow(d *Deposit)  { d.Reverted, d.BlockHeight, d.Depth = false, 100, 1 }
func reverted(d *Deposit) { d.Reverted, d.Depth = true, 0 } // wallets names the block that it left
func block(hash string) func(*Deposit) {
	return func(d *Deposit) { d.BlockHash = hash }
}

func seenAt(at time.Time) func(*Deposit) {
	return func(d *Deposit) { d.FirstSeenAt = at }
}

func other(network, asset string) func(*Deposit) {
	return func(d *Deposit) { d.Network, d.Asset, d.BlockHeight = network, asset, 100 }
}

// close ends the window as the timer does once the network is scanned past it.
func (w *fixture) close() {
	w.t.Helper()
	w.now = w.p.ExpiresAt.Add(2 * time.Minute)
	w.must(WindowOver{Rows: w.rows, Rate: w.rate, ScannedTo: w.p.ExpiresAt.Add(time.Minute)})
}

// is checks status and exception.
func (w *fixture) is(s Status, e Exception) {
	w.t.Helper()
	if w.p.Status() != s || w.p.Exception() != e {
		w.t.Fatalf("payment is %s %q, want %s %q", w.p.Status(), w.p.Exception(), s, e)
	}
}

// said checks the events since the last look.
func (w *fixture) said(want ...string) {
	w.t.Helper()
	var got []string
	for _, e := range w.events {
		got = append(got, strings.TrimPrefix(e.Type, "payment."))
	}
	w.events = nil
	if !slices.Equal(got, want) {
		w.t.Fatalf("events %v, want %v", got, want)
	}
}

func (w *fixture) payout(want string) {
	w.t.Helper()
	if w.held == nil || !w.held.Amount.Equal(dec(want)) {
		w.t.Fatalf("payout %+v, want %s", w.held, want)
	}
}

func (w *fixture) send()    { w.t.Helper(); w.must(Sending{Attempt: w.p.Attempt}) }
func (w *fixture) succeed() { w.t.Helper(); w.must(Succeeded{Attempt: w.p.Attempt}) }
