package page

import "time"

// stage is the meaning of a payment's status and exception for its payer.
type stage struct {
	Name string // key of the texts: stage.<name>.title and .text
	Tone string // wait, good, bad or warn
	Step int    // the step under way of send, seen, confirmed and done; 0 shows none, 5 has done all
	Open bool   // money may be sent
	Poll time.Duration
}

// The pauses between two polls of the script: while a change is due soon, and while one is possible.
const (
	often  = 3 * time.Second
	seldom = 15 * time.Second
)

// stageOf is the stage of a payment at a time. Every pair of status and exception has one.
func stageOf(p payment, now time.Time) stage {
	switch p.Status {
	case "created":
		if !now.Before(p.ExpiresAt) {
			return stage{Name: "request-expired", Tone: "bad", Poll: seldom}
		}
		return stage{Name: "choose", Tone: "wait", Poll: seldom}
	case "pending":
		return pendingStage(p, now)
	case "confirming":
		return stage{Name: "confirming", Tone: "good", Step: 3, Poll: often}
	case "confirmed":
		return confirmedStage(p)
	case "settling":
		if p.Exception == "unfunded" {
			return unfundedStage(p, now)
		}
		return stage{Name: "settling", Tone: "good", Step: 4, Poll: often}
	case "settled":
		return settledStage(p)
	case "expired":
		if p.Address == "" {
			return stage{Name: "request-expired", Tone: "bad"}
		}
		return stage{Name: "expired", Tone: "bad", Poll: seldom}
	case "cancelled":
		return stage{Name: "cancelled", Tone: "bad", Poll: seldom}
	case "refunded":
		return stage{Name: "refunded", Tone: "good"}
	}
	return stage{Name: "review", Tone: "warn", Poll: seldom} // needs_review, and statuses of a newer service
}

func pendingStage(p payment, now time.Time) stage {
	switch {
	case !now.Before(p.ExpiresAt):
		return stage{Name: "closing", Tone: "warn", Step: 1, Poll: often}
	case some(p.ReceivedAmount):
		return stage{Name: "topup", Tone: "warn", Step: 1, Open: true, Poll: often}
	}
	return stage{Name: "send", Tone: "wait", Step: 1, Open: true, Poll: often}
}

// unfundedStage is that of a gift that was claimed before it was paid.
func unfundedStage(p payment, now time.Time) stage {
	if some(p.ReceivedAmount) && !some(p.RemainingAmount) {
		return stage{Name: "confirming", Tone: "good", Step: 3, Poll: often}
	}
	return pendingStage(p, now)
}

func confirmedStage(p payment) stage {
	switch {
	case p.Exception == "screening_hold":
		return stage{Name: "held", Tone: "warn", Step: 4, Poll: seldom}
	case p.Type == "gift":
		return stage{Name: "gift-ready", Tone: "good", Step: 4, Poll: seldom}
	}
	return stage{Name: "confirmed", Tone: "good", Step: 4, Poll: often}
}

func settledStage(p payment) stage {
	if p.ForMerchant() {
		return stage{Name: "settled-merchant", Tone: "good", Step: 5}
	}
	return stage{Name: "settled", Tone: "good", Step: 5}
}

// noteOf is the key of a further note to the payer, or "".
func noteOf(p payment) string {
	switch p.Exception {
	case "underpaid":
		return underpaidNote(p)
	case "overpaid":
		return overpaidNote(p)
	case "paid_late", "reorged", "wrong_asset":
		return "note." + p.Exception
	}
	return ""
}

func underpaidNote(p payment) string {
	switch {
	case p.Status == "pending": // the stage says so
		return ""
	case p.Status == "needs_review":
		return "note.underpaid.review"
	case p.Status == "confirming":
		return "note.underpaid.counts"
	case p.converted() && !p.ForMerchant():
		return "note.underpaid.paid"
	}
	return "note.underpaid"
}

// overpaidNote says where the surplus goes: types of one person to another pay it out, the others owe it to the payer
// (docs/api-contract.md#deposits).
func overpaidNote(p payment) string {
	switch {
	case p.Status == "needs_review":
		return "note.overpaid"
	case p.TakesRefund || len(p.Refunds) > 0:
		return "note.overpaid.owed"
	case p.Type != "transfer" && p.Type != "gift":
		return "note.overpaid.surplus"
	case p.converted():
		return "note.overpaid.paid"
	}
	return "note.overpaid"
}

// converted reports that the payout is fixed.
func (p payment) converted() bool {
	return p.Status == "confirmed" || p.Status == "settling" || p.Status == "settled"
}

// ForMerchant reports a payment whose payout is no concern of its payer.
func (p payment) ForMerchant() bool { return p.Type == "merchant" || p.Type == "bank_confirmation" }

// next is the key of what happens after this stage, or "".
func next(p payment, s stage) string {
	switch s.Name {
	case "send", "confirming":
		switch {
		case p.Type == "gift":
			return "next.gift"
		case p.ForMerchant():
			return "next.merchant"
		}
		return "next.payout"
	case "confirmed":
		if p.ForMerchant() {
			return "next.confirmed.merchant"
		}
		return "next.confirmed.payout"
	}
	return ""
}

// mark is one step of a list: past, now or to come.
type mark struct {
	Key   string
	State string
}

// marks lists steps; the one of this number, from 1, is under way.
func marks(now int, keys ...string) []mark {
	out := make([]mark, len(keys))
	for i, key := range keys {
		out[i] = mark{key, "later"}
		switch {
		case i+1 < now:
			out[i].State = "past"
		case i+1 == now:
			out[i].State = "now"
		}
	}
	return out
}

// steps are those of a payment at a stage; none for a stage without a next step.
func steps(p payment, s stage) []mark {
	if s.Step == 0 {
		return nil
	}
	last := "step.done"
	switch p.Type {
	case "gift":
		last = "step.done.gift"
	case "merchant", "bank_confirmation":
		last = "step.done.merchant"
	}
	return marks(s.Step, "step.send", "step.seen", "step.confirmed", last)
}

// claimSteps are those of a gift that is claimed.
func claimSteps(p payment) []mark {
	now := 3
	switch {
	case p.Status == "settled":
		now = 4
	case unpaid(p):
		now = 2
	}
	return marks(now, "claim.step.claimed", "claim.step.funded", "claim.step.paid")
}
