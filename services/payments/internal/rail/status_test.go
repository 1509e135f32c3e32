package rail_test

import (
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/bank"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/flutterwave"
	"causeway.internal/services/payments/internal/rail/paystack"
	"causeway.internal/services/payments/internal/rail/self"
	"causeway.internal/services/payments/internal/rail/sim"
)

// The pages that document the rails' statuses.
const (
	paystackStatuses = "https://paystack.com/docs/transfers/how-transfers-work/, table of statuses with their conclusiveness"
	paystackNowhere  = "no document: seen at bulk transfers; inconclusive, and it says that Paystack has the order"
	flutterwaveV3    = "https://developer.flutterwave.com/docs/making-payments/transfers/overview and the Node-v3 SDK at 537f9f4"
	flutterwaveV4    = "https://developer.flutterwave.com/reference/transfers_post.md: version 4 alone, which is not spoken here"
)

// words are all documented statuses of the rails, with their meaning for Causeway.
var words = []struct {
	rail, word string
	seen       payout.Seen
	source     string
}{
	{paystack.Name, "pending", payout.Accepted, paystackStatuses},
	{paystack.Name, "otp", payout.Accepted, paystackStatuses},
	{paystack.Name, "received", payout.Accepted, paystackStatuses},
	{paystack.Name, "success", payout.Success, paystackStatuses},
	{paystack.Name, "failed", payout.Failure, paystackStatuses},
	{paystack.Name, "abandoned", payout.Failure, paystackStatuses},
	{paystack.Name, "blocked", payout.Failure, paystackStatuses},
	{paystack.Name, "rejected", payout.Failure, paystackStatuses},
	{paystack.Name, "reversed", payout.GaveBack, paystackStatuses}, // "the transfer amount is returned", also for a pending transfer
	{paystack.Name, "processing", payout.Accepted, paystackNowhere},
	{paystack.Name, "queued", payout.Accepted, paystackNowhere},
	{flutterwave.Name, "NEW", payout.Accepted, flutterwaveV3},
	{flutterwave.Name, "PENDING", payout.Accepted, flutterwaveV3},
	{flutterwave.Name, "SUCCESSFUL", payout.Success, flutterwaveV3},
	{flutterwave.Name, "FAILED", payout.Failure, flutterwaveV3},
	{flutterwave.Name, "INITIATED", payout.Unsure, flutterwaveV4},
	{flutterwave.Name, "CANCELLED", payout.Unsure, flutterwaveV4},
	{flutterwave.Name, "REVERSED", payout.Unsure, flutterwaveV4},
}

// TestEveryWordOfARail checks that each documented status has its documented meaning, that exactly one status is a
// success, and that an undocumented status, also one of another rail, is unknown.
func TestEveryWordOfARail(t *testing.T) {
	foreign := []string{"", "SUCCESS", "Success", "successful", "completed", "COMPLETED", "paid", "settled", "0", "null", "success ", "a word of next year"}
	for _, w := range words {
		foreign = append(foreign, w.word)
	}
	for name, r := range real(t) {
		o := order(money.NGN, "500")
		r.bank.Decide(name, bank.Pending)
		if _, err := r.Send(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		means := func(word string) payout.Seen {
			r.bank.Conclude(name, o.Ref, word)
			return rail.Queried(r.Query(t.Context(), money.NGN, o.Ref)).Seen
		}
		own, successes := map[string]bool{}, 0
		for _, w := range words {
			if w.rail != name {
				continue
			}
			own[w.word] = true
			seen := means(w.word)
			if seen != w.seen {
				t.Errorf("%s says %q: %s, want %s (%s)", name, w.word, seen, w.seen, w.source)
			}
			if seen == payout.Success {
				successes++
			}
		}
		if successes != 1 {
			t.Errorf("%s has %d words for a success", name, successes)
		}
		for _, word := range foreign {
			// The outcomes are names of the test kit, whose bank translates them to Flutterwave's statuses.
			kit := name == flutterwave.Name && (word == bank.Pending || word == bank.OTP || word == bank.Success || word == bank.Failed)
			if seen := means(word); !own[word] && !kit && seen != payout.Unsure {
				t.Errorf("%s says %q, which it does not document: %s", name, word, seen)
			}
		}
	}
}

// TestEveryState checks that only the state Succeeded is a success. The simulated bank uses these states itself
// (docs/api-contract.md#sandbox). The caller's own rail uses none: it refuses orders and knows no reference.
func TestEveryState(t *testing.T) {
	for state, want := range map[rail.State]payout.Seen{
		rail.Pending: payout.Accepted, rail.ActionRequired: payout.Accepted, rail.Succeeded: payout.Success, rail.Failed: payout.Failure,
		rail.Returned: payout.GaveBack, "": payout.Unsure, "success": payout.Unsure, "reversed": payout.Unsure,
	} {
		if seen := rail.Queried(rail.Status{State: state}, nil).Seen; seen != want {
			t.Errorf("the state %q is %s, want %s", state, seen, want)
		}
		if seen := rail.Sent(rail.Status{State: state}, nil).Seen; seen != want {
			t.Errorf("the state %q in the answer to an order is %s, want %s", state, seen, want)
		}
	}
	r := self.Rail{}
	if seen := rail.Sent(r.Send(t.Context(), order(money.NGN, "1"))).Seen; seen != payout.Refused {
		t.Errorf("%s takes an order: %s", self.Name, seen)
	}
	if seen := rail.Queried(r.Query(t.Context(), money.NGN, bank.Reference())).Seen; seen != payout.NoSuchRef {
		t.Errorf("%s knows a reference: %s", self.Name, seen)
	}
	for _, o := range []sim.Outcome{sim.Succeed, sim.Fail, sim.Return, sim.Timeout} {
		if seen := rail.Queried(rail.Status{State: rail.State(o)}, nil).Seen; seen != payout.Unsure {
			t.Errorf("an order to %s, %q, is taken for a state: %s", sim.Name, o, seen)
		}
	}
}
