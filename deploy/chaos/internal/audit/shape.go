package audit

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"causeway.internal/deploy/chaos/internal/load"
)

// outcome is what must have come of a payment of one shape, by the documented rules alone.
type outcome struct {
	status    string
	exception string
	payout    string   // state of the one payout, "" when there must be none
	bank      string   // what the simulated bank's statement says of its one transfer, "" when there must be none
	amount    amount   // of the payout and of the transfer
	kept      bool     // the payout's amount is still owed to the receiver: it failed, or came back
	suspense  bool     // what the payer sent belongs to no running payment
	refunded  bool     // and was sent back to the payer
	told      []string // events that must be among those that arrived
}

// amount says what a payout pays.
type amount int

const (
	quoted     amount = iota
	inShare           // the part that was received, at the locked rate, less the fee of that part by the table of fees
	atMostLate        // at the lower of the locked and the present rate, which the drift allowed keeps near the quote
)

var (
	paidEvents = []string{"pending", "confirming", "confirmed", "settling", "settled"}
	paid       = outcome{status: "settled", payout: "succeeded", bank: "succeed", told: paidEvents}
	failed     = outcome{
		status: "needs_review", exception: "payout_failed", payout: "failed", bank: "fail", kept: true,
		told: []string{"pending", "confirming", "confirmed", "settling", "needs_review"},
	}
	// The return may be seen before the success. No payment.settled is sent then.
	returned = outcome{
		status: "needs_review", exception: "payout_returned", payout: "returned", bank: "return", kept: true,
		told: []string{"pending", "confirming", "confirmed", "settling", "needs_review"},
	}
)

// outcomes has every shape but NoAccount, of which nothing may come.
var outcomes = map[load.Shape]outcome{
	load.Plain: paid,
	load.Parts: paid,
	load.DustLast: {
		status: "settled", payout: "succeeded", bank: "succeed", told: append([]string{"underpaid"}, paidEvents...),
	},
	load.TimesOut: paid, load.NeverMade: paid, load.OrderedToHang: paid,
	load.NamesDown: paid, // a payout waits for the name a while and then goes without
	load.Fails:     failed, load.OrderedToFail: failed,
	load.Returns: returned, load.OrderedToReturn: returned,
	load.Short: {
		status: "settled", exception: "underpaid", payout: "succeeded", bank: "succeed", amount: inShare,
		told: append([]string{"underpaid"}, paidEvents...),
	},
	load.Over: {
		status: "settled", exception: "overpaid", payout: "succeeded", bank: "succeed", amount: inShare, told: paidEvents,
	},
	load.Late: {
		status: "settled", exception: "paid_late", payout: "succeeded", bank: "succeed", amount: atMostLate,
		told: append([]string{"expired"}, paidEvents...),
	},
	load.DustAlone: {status: "expired", told: []string{"pending", "expired"}},
	load.Cancelled: {status: "cancelled", told: []string{"pending", "cancelled"}},
	load.CancelledPaid: {
		status: "needs_review", exception: "paid_late", suspense: true, told: []string{"pending", "cancelled", "needs_review"},
	},
	load.Refunded: {
		status: "refunded", exception: "paid_late", suspense: true, refunded: true,
		told: []string{"pending", "cancelled", "needs_review", "refund_confirmed", "refunded"},
	},
	load.Withdrawn: {status: "settled", told: []string{"pending", "confirming", "confirmed", "settled"}}, // audit/outgoing.go says the rest
	load.ClaimedTwice: {
		status: "settled", payout: "succeeded", bank: "succeed", told: []string{"pending", "settling", "settled"},
	},
}

// judgeMoney: what the payer sent was seen and booked once, what is owed was paid once, and the ledger says so.
func (f *dossier) judgeMoney(row paymentRow, want outcome, v *Verdict, fault func(string, ...any)) {
	if n := len(f.asked.Sent); len(f.seen) != n || len(f.deposits) != n {
		fault("the payer sent %d transfers, wallets saw %d, payments booked %d", n, len(f.seen), len(f.deposits))
	}
	sent := new(big.Rat)
	for _, text := range f.asked.Sent {
		sent.Add(sent, rat(text))
	}
	booked, suspense := new(big.Rat), new(big.Rat)
	for _, d := range f.deposits {
		booked.Add(booked, rat(d.Amount))
		if d.Booked == "suspense" {
			suspense.Add(suspense, rat(d.Amount))
		}
	}
	for _, d := range slices.Concat(f.seen, f.deposits) {
		if d.Reverted {
			fault("deposit %s is reverted", d.TxHash)
		}
	}
	if booked.Cmp(sent) != 0 {
		fault("the payer sent %s, payments booked %s", text(sent), text(booked))
	}
	if f.asked.Shape != load.DustAlone && rat(row.Received).Cmp(sent) != 0 {
		fault("received %s of %s that were sent", row.Received, text(sent))
	}
	f.judgeRefund(want, sent, fault)
	f.judgePayout(row, want, v, fault)
	f.judgeLedger(want, sent, suspense, fault)
}

// judgeRefund: what was sent back is what the payer sent, once, to the payer's own address, in both databases.
func (f *dossier) judgeRefund(want outcome, sent *big.Rat, fault func(string, ...any)) {
	var all []string
	for _, r := range f.refunds {
		all = append(all, r.State)
		if rat(r.Amount).Cmp(sent) != 0 || r.Address != f.asked.Payer {
			fault("%s is refunded to %s, must be %s to %s", r.Amount, r.Address, text(sent), f.asked.Payer)
		}
		if r.Sent != "confirmed" {
			fault("the refund is %s for payments and %q for wallets", r.State, r.Sent)
		}
	}
	must := ""
	if want.refunded {
		must = "confirmed"
	}
	if strings.Join(all, ",") != must {
		fault("refunds %q, must be %q", strings.Join(all, ","), must)
	}
}

// judgePayout holds the payout against the bank's own statement.
func (f *dossier) judgePayout(row paymentRow, want outcome, v *Verdict, fault func(string, ...any)) {
	var states, statement []string
	for _, p := range f.payouts {
		states = append(states, p.State)
	}
	if strings.Join(states, ",") != want.payout {
		fault("payouts %q, must be %q", strings.Join(states, ","), want.payout)
	}
	for _, r := range f.rail {
		statement = append(statement, r.Outcome)
		if r.Outcome == "succeed" {
			v.Payouts++
		}
		least, most := want.amount.bounds(row)
		if rat(r.Amount).Cmp(least) < 0 || rat(r.Amount).Cmp(most) > 0 || r.Currency != row.Currency {
			fault("the bank's order is for %s %s, owed are %s to %s %s", r.Amount, r.Currency, text(least), text(most), row.Currency)
		}
		if accounts := f.accounts(); !slices.Contains(accounts, r.Account) {
			fault("the bank's order is for account %s, want %s", r.Account, strings.Join(accounts, " or "))
		}
	}
	if strings.Join(statement, ",") != want.bank {
		fault("the bank's statement says %q, must be %q", strings.Join(statement, ","), want.bank)
	}
	for i, p := range f.payouts {
		if i < len(f.rail) && rat(p.Amount).Cmp(rat(f.rail[i].Amount)) != 0 {
			fault("the payout says %s, the bank's statement %s", p.Amount, f.rail[i].Amount)
		}
	}
	if len(f.asked.Claimed) > 1 {
		fault("the gift was given to %d people", len(f.asked.Claimed))
	}
}

// accounts are whom the bank may pay.
func (f *dossier) accounts() []string {
	switch {
	case f.asked.Account != "":
		return []string{f.asked.Account}
	case len(f.asked.Claimed) > 0:
		return f.asked.Claimed
	}
	return load.Claimers // the answer to an earlier claimant was lost
}

// judgeLedger: the accounts of the payment are empty but for what is still owed.
func (f *dossier) judgeLedger(want outcome, sent, suspense *big.Rat, fault func(string, ...any)) {
	left := map[string]*big.Rat{"customer": new(big.Rat), "payable": new(big.Rat)}
	for _, a := range f.accountsLeft {
		if left[a.Kind] == nil {
			left[a.Kind] = new(big.Rat)
		}
		left[a.Kind].Add(left[a.Kind], rat(a.Balance))
	}
	owed := map[string]*big.Rat{"customer": new(big.Rat), "payable": new(big.Rat)}
	switch {
	case want.kept && len(f.rail) == 1:
		owed["payable"] = rat(f.rail[0].Amount)
	case want.suspense && suspense.Cmp(sent) != 0:
		fault("%s of %s are in suspense", text(suspense), text(sent))
	case f.asked.Shape == load.DustAlone: // its money is the payer's, or in suspense if it was confirmed after the window
		owed["customer"] = new(big.Rat).Sub(sent, suspense)
	}
	for kind, balance := range left {
		if must := owed[kind]; must == nil || balance.Cmp(must) != 0 {
			fault("the ledger's account %s of the payment has %s, must have %s", kind, text(balance), text(must))
		}
	}
}

// bounds are what a payout must be at least and at most.
func (a amount) bounds(row paymentRow) (least, most *big.Rat) {
	whole := rat(row.PayoutAmount)
	switch a {
	case inShare:
		pays := share(row)
		return new(big.Rat).Sub(pays, cent), pays
	case atMostLate:
		return new(big.Rat).Mul(whole, big.NewRat(98, 100)), whole
	case quoted:
	}
	return whole, whole
}

// cent is the smallest unit of NGN: amounts are rounded down to it once for the gross and once for the fee.
var cent = big.NewRat(1, 100)

// share is the payout of a transfer with the fee from fiat whose payer sent another amount: the same share of the
// priced amount, less the fee that the table has for that share.
func share(row paymentRow) *big.Rat {
	if due := rat(row.CryptoAmount); due.Sign() > 0 {
		gross := new(big.Rat).Mul(rat(row.FiatAmount), rat(row.Received))
		gross = floor(gross.Quo(gross, due))
		return gross.Sub(gross, fee(gross))
	}
	return new(big.Rat)
}

// fees is the table for NGN that the documentation has; above its last step 7.5 basis points are taken.
var fees = []struct{ upTo, fee int64 }{{100_000, 500}, {1_000_000, 1_000}, {2_000_000, 1_500}}

// fee is what the table takes of an amount, and never more than a tenth, rounded up to the cent.
func fee(of *big.Rat) *big.Rat {
	taken := new(big.Rat).Mul(of, big.NewRat(75, 100_000))
	for _, step := range slices.Backward(fees) {
		if of.Cmp(big.NewRat(step.upTo, 1)) <= 0 {
			taken = big.NewRat(step.fee, 1)
		}
	}
	if tenth := new(big.Rat).Quo(of, big.NewRat(10, 1)); taken.Cmp(tenth) > 0 {
		taken = tenth
	}
	up := floor(taken)
	if up.Cmp(taken) < 0 {
		up.Add(up, cent)
	}
	return up
}

// floor cuts an amount off at the cent.
func floor(r *big.Rat) *big.Rat {
	cents := new(big.Int).Quo(new(big.Int).Mul(r.Num(), big.NewInt(100)), r.Denom())
	return new(big.Rat).SetFrac(cents, big.NewInt(100))
}

// rat reads an amount; what is none counts as nothing, and so is found wrong.
func rat(text string) *big.Rat {
	if r, ok := new(big.Rat).SetString(text); ok {
		return r
	}
	return new(big.Rat)
}

func text(r *big.Rat) string {
	if r == nil {
		return "nothing"
	}
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(18), "0"), ".")
}

// judgeListed: the list of events has each of the payment's events once, under the id that was delivered, without a
// gap, and the last one has the status that the payment ended with.
func (f *dossier) judgeListed(row paymentRow, fault func(string, ...any)) {
	listed, delivered := map[int64]load.Listed{}, map[int64]string{}
	for _, d := range f.deliveries {
		delivered[d.Sequence] = d.EventID
	}
	for _, e := range f.listed {
		if _, twice := listed[e.Sequence]; twice {
			fault("event %d is listed twice", e.Sequence)
		}
		listed[e.Sequence] = e
		if id := delivered[e.Sequence]; id != "" && id != e.ID {
			fault("event %d is listed as %s and was delivered as %s", e.Sequence, e.ID, id)
		}
		if status := strings.TrimPrefix(e.Type, "payment."); slices.Contains(statuses, status) && status != e.Status {
			fault("event %d is listed as %s with the status %s", e.Sequence, e.Type, e.Status)
		}
		if e.Sequence < 1 || e.Sequence > row.Sequence {
			fault("event %d of %d is listed", e.Sequence, row.Sequence)
		}
	}
	var missing []string
	for n := int64(1); n <= row.Sequence; n++ {
		if _, there := listed[n]; !there && !f.untold[n] {
			missing = append(missing, fmt.Sprint(n))
		}
	}
	if len(missing) > 0 {
		fault("events %s of %d are not listed", strings.Join(missing, ","), row.Sequence)
	}
	if last, there := listed[row.Sequence]; there && last.Status != row.Status {
		fault("the last event says %s, the payment is %s", last.Status, row.Status)
	}
}

// statuses are those that an event of the same name tells of.
var statuses = []string{
	"created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded",
}
