//go:build integration

package sandbox_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/sandbox"
)

// clean is a screener to whom nobody is on a list.
type clean struct{}

func (clean) Screen(context.Context, tenant.Mode, string, []string) (change.Verdict, error) {
	return change.Verdict{Lists: "list 1"}, nil
}

// troubled makes payments that are screened, whose networks are followed, and whose merchants may take parts down.
func troubled(t *testing.T) *fixture.Payments {
	t.Helper()
	w := fixture.New(t)
	w.Fill(8)
	w.Scanned(100, time.Now())
	w.With(func(d *fixture.Deps) {
		d.Screening, d.Policy.Screen = admission.NewScreening(sandbox.Screener{Screener: clean{}}, d.Log), true
		d.Scans = admission.NewScans(w.Store.Scans, time.Hour, func(tenant.Mode, string, bool) {}, d.Log)
		d.Outages = admission.NewOutages(w.Store.Outages)
		d.Scans.Outages = d.Outages
	})
	if err := w.Deps.Scans.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// simulate asks the simulated chain for a transfer and returns what it was asked for.
func simulate(w *fixture.Payments, p payment.Payment, d sandbox.Deposit) wire.SimulateDeposit {
	w.T.Helper()
	d.Confirmations = -1
	if _, err := w.Sandbox.SimulateDeposit(w.T.Context(), fixture.Owner, p.Reference, d, &fault.Problems{}, idempotency.Key{}); err != nil {
		w.T.Fatalf("SimulateDeposit(%+v) = %v, want no error", d, err)
	}
	var m wire.SimulateDeposit
	if err := json.Unmarshal(fixture.Ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1 ORDER BY id DESC LIMIT 1`, string(wire.SimulateDepositV1)), &m); err != nil {
		w.T.Fatal(err)
	}
	return m
}

// arrives delivers what wallets says of the transfer.
func arrives(w *fixture.Payments, p payment.Payment, asked wire.SimulateDeposit) {
	w.T.Helper()
	n, _ := money.NetworkOf("tron")
	asset, _ := n.Asset("USDT")
	amount := money.Canonical(asset.FromUnits(*fixture.Number(asked.Amount)))
	m := w.Message(p, fixture.Coin{Key: asked.RequestID, Amount: amount, Version: 1, Depth: fixture.Enough})
	m.Senders = []string{asked.Sender}
	w.Deliver(m)
}

func TestSandbox_screeningHold(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	p := w.Make(fixture.Command())
	asked := simulate(w, p, sandbox.Deposit{Outcome: sandbox.OutcomeHold})
	arrives(w, p, asked)
	w.Want(p, "needs_review screening_hold")
	other := w.Make(fixture.Command())
	arrives(w, other, simulate(w, other, sandbox.Deposit{}))
	w.WorkUntil(other, "settled")
	if _, err := w.Resolve(p, operators.Order{Action: operators.ActionAccept, Reason: "a false hit", Operator: "ada"}); err != nil {
		t.Fatalf("an operator's accept = %v, want no error", err)
	}
	w.WorkUntil(p, "settled")
	if events := w.Events(p); !slices.ContainsFunc(events, func(e string) bool { return strings.HasSuffix(e, " payment.needs_review") }) {
		t.Errorf("events %v, want payment.needs_review among them", events)
	}
	w.Balanced()
}

func TestSandbox_overLimit(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	p := w.Make(fixture.Command())
	asked := simulate(w, p, sandbox.Deposit{Outcome: sandbox.OutcomeOver})
	if asked.Amount != "37500000" {
		t.Errorf("%s units were sent, want a fifth more than 31.25", asked.Amount)
	}
	arrives(w, p, asked)
	w.Want(p, "needs_review over_limit")
	if _, err := w.Resolve(p, operators.Order{Action: operators.ActionAccept, Reason: "the limit has room again", Operator: "ada"}); err != nil {
		t.Fatalf("an operator's accept = %v, want no error", err)
	}
	w.WorkUntil(p, "settled overpaid")
	r := w.Make(fixture.OwnSettled())
	_, err := w.Sandbox.SimulateDeposit(t.Context(), fixture.Owner, r.Reference, sandbox.Deposit{Outcome: sandbox.OutcomeOver}, &fault.Problems{}, idempotency.Key{})
	if fault.As(err).Kind != fault.Invalid {
		t.Errorf("over_limit of a type that converts no more than its quote = %v, want a refusal", err)
	}
	w.Balanced()
}

// A live payment is no payment of the sandbox, and the magic senders mean nothing in live mode.
func TestSandbox_isOfTestModeAlone(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	p := w.Make(fixture.Command())
	asked := simulate(w, p, sandbox.Deposit{Outcome: sandbox.OutcomeHold})
	live, err := sandbox.Screener{Screener: clean{}}.Screen(t.Context(), tenant.Live, "tron", []string{asked.Sender})
	if err != nil || live.Hit {
		t.Errorf("the magic sender in live mode = %+v, %v; want no hit", live, err)
	}
	owner := tenant.Owner{MerchantID: "m1", Mode: tenant.Live}
	_, err = w.Sandbox.TakeDown(t.Context(), owner, sandbox.Outage{What: "rates", Seconds: 60}, &fault.Problems{}, idempotency.Key{})
	if fault.As(err).Kind != fault.NotFound {
		t.Errorf("an outage in live mode = %v, want no such route", err)
	}
}

// takeDown takes a part of the test mode of a merchant down.
func takeDown(w *fixture.Payments, merchant, what, network string, seconds int64, k idempotency.Key) string {
	w.T.Helper()
	o := tenant.Owner{MerchantID: merchant, KeyID: 7, Mode: tenant.Test}
	a, err := w.Sandbox.TakeDown(w.T.Context(), o, sandbox.Outage{What: what, Network: network, Seconds: seconds}, &fault.Problems{}, k)
	if err != nil {
		w.T.Fatalf("TakeDown(%s %s) = %v, want no error", what, network, err)
	}
	return string(a.Body)
}

func TestSandbox_rateOutage(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	takeDown(w, "m2", "rates", "", 60, idempotency.Key{})
	w.Make(fixture.Command()) // another merchant's outage
	k := idempotency.Key{Scope: "s", Key: "k"}
	first := takeDown(w, "m1", "rates", "", 60, k)
	if again := takeDown(w, "m1", "rates", "", 60, k); again != first || !strings.Contains(first, `"what":"rates","network":null,"until":"`) {
		t.Errorf("a replay answers %s, the first %s", again, first)
	}
	create := idempotency.Key{Scope: "s", Key: "create"}
	if _, err := w.Create(fixture.Command(), create); fault.As(err).Code != "rate_unavailable" {
		t.Fatalf("a create without prices = %v, want rate_unavailable", err)
	}
	r := w.Make(fixture.Request()) // has no price yet
	if _, err := w.Fulfil(r.Reference, idempotency.Key{}); fault.As(err).Code != "rate_unavailable" {
		t.Errorf("a fulfilment without prices = %v, want rate_unavailable", err)
	}
	takeDown(w, "m1", "rates", "", 0, idempotency.Key{})
	if _, err := w.Create(fixture.Command(), create); err != nil {
		t.Errorf("the same create after the outage = %v, want no error", err)
	}
	if _, err := w.Fulfil(r.Reference, idempotency.Key{}); err != nil {
		t.Errorf("a fulfilment after the outage = %v, want no error", err)
	}
}

func TestSandbox_networkClosed(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	paid := w.Make(fixture.Command())
	arrives(w, paid, simulate(w, paid, sandbox.Deposit{}))
	w.Want(paid, "confirmed")
	gift := w.Make(fixture.Gift())
	arrives(w, gift, simulate(w, gift, sandbox.Deposit{}))
	takeDown(w, "m1", "network", "trc20", 60, idempotency.Key{})
	if _, err := w.Create(fixture.Command(), idempotency.Key{}); fault.As(err).Code != "network_unavailable" {
		t.Errorf("a create on a closed network = %v, want network_unavailable", err)
	}
	if _, err := w.Claim(gift.Reference, "0123456789", idempotency.Key{}); fault.As(err).Code != "network_unavailable" {
		t.Errorf("a claim on a closed network = %v, want network_unavailable", err)
	}
	for range 3 {
		w.Hurry()
		if err := w.Step(); err != nil {
			t.Fatal(err)
		}
	}
	w.Want(paid, "confirmed")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts WHERE sends > 0`); n != 0 {
		t.Errorf("%d payouts left while the network was closed", n)
	}
	takeDown(w, "m1", "network", "tron", 0, idempotency.Key{})
	w.Work(func() bool { w.Hurry(); return w.Status(paid) == "settled" })
	if _, err := w.Claim(gift.Reference, "0123456789", idempotency.Key{}); err != nil {
		t.Errorf("a claim after the outage = %v, want no error", err)
	}
	w.Balanced()
}

// A transfer whose block left the chain makes its payment reorged. The payment goes on when another block holds the
// transfer, or the payer pays again.
func TestSandbox_reorg(t *testing.T) {
	t.Parallel()
	w := troubled(t)
	for name, outcome := range map[string]string{"returns": sandbox.OutcomeReorg, "dropped": sandbox.OutcomeDropped} {
		p := w.Make(fixture.Command())
		asked := simulate(w, p, sandbox.Deposit{Outcome: outcome})
		if asked.LeavesAfter != 1 || asked.Returns != (outcome == sandbox.OutcomeReorg) || asked.Confirmations < 2 {
			t.Errorf("%s: wallets is asked for %+v", name, asked)
		}
		coin := fixture.Coin{Key: id.New("t", time.Now()), Amount: "31.25", Version: 1, Depth: 1}
		w.See(p, coin)
		coin.Version, coin.Reverted, coin.Depth = 2, true, 0
		w.See(p, coin)
		if got := w.Status(p); !strings.HasSuffix(got, " reorged") {
			t.Errorf("%s: %s, want it reorged", name, got)
		}
		again := fixture.Coin{Key: coin.Key, Amount: "31.25", Version: 3, Depth: fixture.Enough, Block: "another"}
		if outcome == sandbox.OutcomeDropped {
			again.Key, again.Version = id.New("t", time.Now()), 1
		}
		w.See(p, again)
		w.WorkUntil(p, "settled")
		if events := strings.Join(w.Events(p), " "); !strings.Contains(events, "payment.reorged") {
			t.Errorf("%s: events %s, want payment.reorged among them", name, events)
		}
	}
	w.Balanced()
}
