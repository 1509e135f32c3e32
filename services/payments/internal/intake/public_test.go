//go:build integration

package intake_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/rail/sim"
)

// counted counts the results of parallel calls: "ok" or the text of the refusal.
type counted struct {
	sync.Mutex
	said map[string]int
}

func (c *counted) add(err error) {
	c.Lock()
	defer c.Unlock()
	switch f, ok := errors.AsType[*fault.Error](err); {
	case err == nil:
		c.said["ok"]++
	case ok:
		c.said[f.Message]++
	default:
		c.said[err.Error()]++
	}
}

// Of sixteen parallel fulfilments of one request, one succeeds. Its address stays, and the other addresses return to
// the stock.
func TestFulfil_sixteenAtOnce(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	p := w.Make(fixture.Request())
	if p.Address != "" || p.Status() != payment.StatusCreated {
		t.Fatalf("a fresh request = %+v, want it created and without an address", p)
	}
	said := counted{said: map[string]int{}}
	var won idempotency.Answer
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			a, err := w.Fulfil(p.Reference, idempotency.Key{})
			said.add(err)
			if err == nil {
				said.Lock()
				won = a
				said.Unlock()
			}
		})
	}
	all.Wait()
	if said.said["ok"] != 1 || said.said["Request has already been fulfilled"] != 15 {
		t.Fatalf("16 parallel calls of Fulfil = %v, want 1 success and 15 refusals", said.said)
	}
	after := w.Find(p.Reference).Payment
	if !strings.Contains(string(won.Body), after.Address) || after.Status() != payment.StatusPending {
		t.Errorf("the winner was answered %s, the payment has %s", won.Body, after.Address)
	}
	for _, part := range []string{
		`{"success":true,"message":"Request fulfilled successfully","payment":{"reference":"`, `"status":"pending"`, `"cryptoAmount":31.5625`,
		`"network":"trc20"`, `"charge":{"fiat":500,"crypto":0.3125,"usd":0.31}`,
	} {
		if !strings.Contains(string(won.Body), part) {
			t.Errorf("the answer lacks %s: %s", part, won.Body)
		}
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE wallet_id IS NOT NULL`); n != 1 {
		t.Errorf("%d payments with a wallet", n)
	}
	for range 15 {
		w.Make(fixture.Command()) // the addresses of the losers are there for others
	}
	if got := w.Events(p); !slices.Equal(got, []string{"1 payment.created", "2 payment.pending"}) {
		t.Errorf("events %v", got)
	}
}

// A fulfilment is refused with the texts of the interface, and a refusal by state is stored under its key.
func TestFulfil_refusals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	refused := func(ref, want string, kind fault.Kind) {
		t.Helper()
		_, err := w.Intake.Fulfil(t.Context(), ref, payment.FulfilCommand{}, &fault.Problems{}, idempotency.Key{}) // an empty body changes nothing of it
		if f := fault.As(err); f.Message != want || f.Kind != kind {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	refused("CW-AAAAAAAAAAAA", "Payment not found", fault.NotFound)
	refused("nonsense", "Payment not found", fault.NotFound)
	refused(w.Make(fixture.Command()).Reference, "Payment is not a request", fault.Invalid)
	p := w.Make(fixture.Request())
	w.SQL(`UPDATE payments SET expires_at = now() - interval '1 hour' WHERE id = $1`, p.ID)
	refused(p.Reference, "Request has expired", fault.Conflict)
	w.SQL(`UPDATE payments SET closed = true, status = 'expired' WHERE id = $1`, p.ID)
	refused(p.Reference, "Request has expired", fault.Conflict)
	p = w.Make(fixture.Request())
	w.SQL(`UPDATE payments SET ended = 'cancelled', status = 'cancelled' WHERE id = $1`, p.ID)
	refused(p.Reference, "Request has been cancelled", fault.Conflict)

	p = w.Make(fixture.Request())
	_, err := w.Intake.Fulfil(t.Context(), p.Reference, payment.FulfilCommand{}, &fault.Problems{}, idempotency.Key{})
	if f := fault.As(err); len(f.Fields) != 3 {
		t.Errorf("an empty body: %v", err)
	}
	first, err := w.Fulfil(p.Reference, idempotency.Key{Scope: "a", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.Fulfil(p.Reference, idempotency.Key{Scope: "a", Key: "k"}); err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Errorf("replay: %s %v", again.Body, err)
	}
	for _, replayed := range []bool{false, true} {
		a, err := w.Fulfil(p.Reference, idempotency.Key{Scope: "b", Key: "k"})
		if err != nil || string(a.Body) != "request_already_fulfilled" || a.Replayed != replayed {
			t.Errorf("kept refusal: %+v %v", a, err)
		}
	}
}

// Of sixteen parallel claims of one funded gift for sixteen accounts, one succeeds, and one payout goes to its account.
func TestClaim_sixteenAtOnce(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Gift())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "confirmed")
	said := counted{said: map[string]int{}}
	var winner string
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			account := fmt.Sprintf("01234567%02d", i)
			a, err := w.Claim(p.Reference, account, idempotency.Key{})
			said.add(err)
			if err == nil {
				said.Lock()
				winner = account
				said.Unlock()
				if !strings.Contains(string(a.Body), `"status":"settling","receiver":{"accountName":"`) || !strings.Contains(string(a.Body), account) {
					t.Errorf("answer %s", a.Body)
				}
			}
		})
	}
	all.Wait()
	if said.said["ok"] != 1 || said.said["Gift has already been claimed"] != 15 {
		t.Fatalf("16 parallel calls of Claim = %v, want 1 success and 15 refusals", said.said)
	}
	w.Work(func() bool { return w.Status(p) == "settled" })
	if n := fixture.Ask[int](w, `SELECT count(*) FROM sim_transfers`); n != 1 {
		t.Errorf("%d transfers at the bank", n)
	}
	if got := fixture.Ask[string](w, `SELECT account_number FROM sim_transfers`); got != winner {
		t.Errorf("paid %s, the winner is %s", got, winner)
	}
	w.Balanced()
}

// A gift may be claimed before it is funded. Its payout leaves when the money is confirmed.
func TestClaim_beforeFunding(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Gift())
	if _, err := w.Claim(p.Reference, "0123456789", idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	w.Want(p, "settling unfunded")
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Fatalf("%d payouts without money", n)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1})
	w.Want(p, "settling unfunded")
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 2, Depth: fixture.Enough})
	w.Want(p, "settling")
	w.Work(func() bool { return w.Status(p) == "settled" })
	w.Balanced()
}

func TestClaim_refusals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(8)
	refused := func(ref, account, want string, kind fault.Kind) {
		t.Helper()
		_, err := w.Claim(ref, account, idempotency.Key{})
		if f := fault.As(err); !strings.Contains(f.Message, want) || f.Kind != kind {
			t.Errorf("%s: %v, want %q", account, err, want)
		}
	}
	const good = "0123456789"
	refused("CW-AAAAAAAAAAAA", good, "Payment not found", fault.NotFound)
	refused(w.Make(fixture.Command()).Reference, "", "Payment is not a gift", fault.Invalid)
	p := w.Make(fixture.Gift())
	refused(p.Reference, "", "receiver.accountNumber", fault.Invalid)
	refused(p.Reference, "12", "receiver.accountNumber", fault.Invalid)
	refused(p.Reference, sim.AccountNotFound, "receiver.accountNumber", fault.Invalid)
	refused(p.Reference, sim.AccountNameDown, "name", fault.Unavailable)
	w.Want(p, "pending")
	if _, err := w.Claim(p.Reference, good, idempotency.Key{}); err != nil {
		t.Fatalf("the gift is no longer free: %v", err)
	}
	refused(p.Reference, good, "Gift has already been claimed", fault.Invalid)
	refused(p.Reference, "", "Gift has already been claimed", fault.Invalid)
	for status, set := range map[string]string{"expired": "closed = true", "cancelled": "ended = 'cancelled', claim = 'void'"} {
		p = w.Make(fixture.Gift())
		w.SQL(`UPDATE payments SET status = '`+status+`', `+set+` WHERE id = $1`, p.ID)
		refused(p.Reference, good, "Gift has "+map[string]string{"expired": "expired", "cancelled": "been cancelled"}[status], fault.Conflict)
	}
}
