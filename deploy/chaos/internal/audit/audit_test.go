package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/deploy/chaos/internal/load"
)

// whole is the file of a payment of a shape with which everything is right.
func whole(shape load.Shape) *dossier {
	want := outcomes[shape]
	row := paymentRow{
		ID: "pay_1", Reference: "CW-A", Status: want.status, Exception: want.exception, Address: "T1", Currency: "NGN",
		FiatAmount: "50000", CryptoAmount: "31.25", Received: "31.25", PayoutAmount: "49500", Sequence: int64(len(want.told)),
	}
	f := &dossier{asked: load.Payment{
		Key: "run-1", Reference: "CW-A", Address: "T1", CryptoAmount: "31.25", Shape: shape, Account: "0123456789", Sent: []string{"31.25"},
		Pair: load.Pair{Crypto: "USDT", Network: "tron"},
	}}
	paid := "49500"
	switch shape {
	case load.Parts, load.DustLast:
		f.asked.Sent = []string{"30.9375", "0.3125"}
	case load.DustAlone:
		f.asked.Sent, row.Received = []string{"0.3125"}, "0"
	case load.Short: // 30 000 of 50 000, less 500
		f.asked.Sent, row.Received, paid = []string{"18.75"}, "18.75", "29500"
	case load.Over: // 125 000, less 1 000: the next step of the table
		f.asked.Sent, row.Received, paid = []string{"78.125"}, "78.125", "124000"
	case load.Late: // the rate fell by a hundredth
		paid = "49005"
	case load.Cancelled:
		f.asked.Sent, row.Received = nil, "0"
	case load.Refunded:
		f.asked.Payer = "TPayer"
		f.refunds = []refundRow{{"rfd_1", "pay_1", "confirmed", "31.25", f.asked.Payer, "confirmed"}}
	case load.ClaimedTwice:
		f.asked.Account, f.asked.Claimed = "", []string{"0123456789"}
	}
	f.rows = []paymentRow{row}
	for i, amount := range f.asked.Sent {
		hash, booked := fmt.Sprint("0x", i), "customer"
		if want.suspense {
			booked = "suspense"
		}
		f.seen = append(f.seen, depositRow{Owner: "T1", TxHash: hash})
		f.deposits = append(f.deposits, depositRow{Owner: "pay_1", TxHash: hash, Amount: amount, Booked: booked})
	}
	if want.payout != "" {
		f.payouts = []payoutRow{{"pay_1", want.payout, paid}}
	}
	if want.bank != "" {
		f.rail = []railRow{{"cw-a-1", want.bank, paid, "NGN", "0123456789"}}
	}
	f.accountsLeft = []accountRow{{"pay_1", "customer", "0"}, {"pay_1", "payable", "0"}}
	if want.kept {
		f.accountsLeft[1].Balance = paid
	}
	if shape == load.DustAlone {
		f.accountsLeft[0].Balance = "0.3125"
	}
	for i, what := range want.told {
		status := what
		switch what {
		case "underpaid":
			status = "pending"
		case "refund_confirmed":
			status = "needs_review"
		}
		if i == len(want.told)-1 {
			status = want.status
		}
		event := load.Listed{ID: "evt_" + what, Type: "payment." + what, Reference: "CW-A", Status: status, Sequence: int64(i + 1)}
		f.listed = append(f.listed, event)
		f.deliveries = append(f.deliveries, load.Delivery{
			EventID: event.ID, Type: event.Type, Reference: event.Reference, Status: status, Sequence: event.Sequence, Accepted: true,
		})
	}
	return f
}

func shapes() []load.Shape { return slices.Sorted(maps.Keys(outcomes)) }

// A payment of every shape can be right.
func TestJudge_everyShapeCanBeRight(t *testing.T) {
	for _, shape := range shapes() {
		if v := whole(shape).judge(); len(v.Faults) > 0 {
			t.Errorf("judge a whole payment of the shape %s: got the faults %v, want none", shape, v.Faults)
		}
	}
	refused := &dossier{asked: load.Payment{Key: "run-1", Shape: load.NoAccount, Refused: true}}
	if v := refused.judge(); len(v.Faults) > 0 {
		t.Errorf("judge a refused payment of the shape %s: got the faults %v, want none", load.NoAccount, v.Faults)
	}
}

// Of every shape, each row that says anything else than it must is found.
func TestJudge_everyShapeCanBeWrong(t *testing.T) {
	for _, shape := range shapes() {
		for name, harm := range map[string]func(f *dossier){
			"another status":    func(f *dossier) { f.rows[0].Status = "confirming" },
			"another exception": func(f *dossier) { f.rows[0].Exception = "reorged" },
			"a payout too many": func(f *dossier) { f.payouts = append(f.payouts, payoutRow{"pay_1", "succeeded", "49500"}) },
			"paid once more": func(f *dossier) {
				f.rail = append(f.rail, railRow{"cw-a-2", "succeed", "49500", "NGN", "0123456789"})
			},
			"a transfer not booked": func(f *dossier) {
				f.asked.Sent = append(f.asked.Sent, "1")
			},
			"a transfer booked twice": func(f *dossier) {
				f.deposits = append(f.deposits, depositRow{Owner: "pay_1", TxHash: "0x9", Amount: "1"})
			},
			"the payer's money kept": func(f *dossier) { f.accountsLeft[0].Balance = "7" },
			"the payout still owed":  func(f *dossier) { f.accountsLeft[1].Balance = "7" },
			"an event lost from the list": func(f *dossier) {
				f.listed = f.listed[1:]
			},
			"an event listed twice": func(f *dossier) { f.listed = append(f.listed, f.listed[0]) },
			"listed under another id": func(f *dossier) {
				f.listed[0].ID = "evt_other"
			},
			"listed with another end": func(f *dossier) { f.listed[len(f.listed)-1].Status = "created" },
			"a callback lost":         func(f *dossier) { f.deliveries = f.deliveries[1:] },
			"an event without a state": func(f *dossier) {
				f.deliveries[len(f.deliveries)-1].Type = "payment.reorged"
			},
		} {
			f := whole(shape)
			harm(f)
			if len(f.judge().Faults) == 0 {
				t.Errorf("%s: %s is not found", shape, name)
			}
		}
		if whole(shape).rail == nil {
			continue
		}
		for name, harm := range map[string]func(r *railRow){
			"another amount":   func(r *railRow) { r.Amount = "60000" },
			"less":             func(r *railRow) { r.Amount = "20000" },
			"another currency": func(r *railRow) { r.Currency = "GHS" },
			"another account":  func(r *railRow) { r.Account = "0000000009" },
			"another outcome":  func(r *railRow) { r.Outcome = "timeout" },
		} {
			f := whole(shape)
			harm(&f.rail[0])
			f.payouts[0].Amount = f.rail[0].Amount
			if len(f.judge().Faults) == 0 {
				t.Errorf("%s: %s at the bank is not found", shape, name)
			}
		}
	}
}

// A shape's own rule can be broken, and that is found.
func TestJudge_eachShapesOwnRule(t *testing.T) {
	for name, c := range map[string]struct {
		shape load.Shape
		harm  func(*dossier)
		want  string
	}{
		"short with the fee of the quote in share": {load.Short, func(f *dossier) { f.rail[0].Amount = "29700" }, "owed are 29499.99 to 29500"},
		"over with the fee of the quote":           {load.Over, func(f *dossier) { f.rail[0].Amount = "124500" }, "owed are 123999.99 to 124000"},
		"late above the lock":                      {load.Late, func(f *dossier) { f.rail[0].Amount = "49500.01" }, "the bank's order is for 49500.01"},
		"claimed by two":                           {load.ClaimedTwice, func(f *dossier) { f.asked.Claimed = load.Claimers }, "given to 2 people"},
		"paid to who was refused": {
			load.ClaimedTwice, func(f *dossier) { f.rail[0].Account = load.Claimers[1] }, "want 0123456789",
		},
		"failed and given away":    {load.Fails, func(f *dossier) { f.accountsLeft[1].Balance = "0" }, "account payable of the payment has 0, must have 49500"},
		"cancelled money taken":    {load.CancelledPaid, func(f *dossier) { f.deposits[0].Booked = "customer" }, "0 of 31.25 are in suspense"},
		"dust taken":               {load.DustAlone, func(f *dossier) { f.accountsLeft[0].Balance = "0" }, "account customer of the payment has 0, must have 0.3125"},
		"dust opens a payment":     {load.DustAlone, func(f *dossier) { f.rows[0].Status = "needs_review" }, "must be expired"},
		"dust ignored":             {load.DustLast, func(f *dossier) { f.rows[0].Status, f.rows[0].Exception = "pending", "underpaid" }, "must be settled"},
		"a late one on time":       {load.Late, func(f *dossier) { f.rows[0].Exception = "" }, `must be settled, "paid_late"`},
		"two orders of one payout": {load.NeverMade, func(f *dossier) { f.rail = append(f.rail, f.rail[0]) }, `statement says "succeed,succeed"`},
		"no name, and never paid":  {load.NamesDown, func(f *dossier) { f.rail = nil }, `statement says "", must be "succeed"`},
		"an account that is none":  {load.NoAccount, func(f *dossier) { f.rows = []paymentRow{{ID: "pay_1"}} }, "was not refused"},
		"not refunded":             {load.Refunded, func(f *dossier) { f.refunds = nil }, `refunds "", must be "confirmed"`},
		"refunded twice":           {load.Refunded, func(f *dossier) { f.refunds = append(f.refunds, f.refunds[0]) }, `must be "confirmed"`},
		"refunded to a thief":      {load.Refunded, func(f *dossier) { f.refunds[0].Address = "T9" }, "is refunded to T9"},
		"refunded in part":         {load.Refunded, func(f *dossier) { f.refunds[0].Amount = "31" }, "31 is refunded"},
		"refund never sent":        {load.Refunded, func(f *dossier) { f.refunds[0].Sent = "signing" }, `confirmed for payments and "signing" for wallets`},
		"refund of nobody":         {load.CancelledPaid, func(f *dossier) { f.refunds = whole(load.Refunded).refunds }, `must be ""`},
		"an unknown shape":         {load.Shape("square"), func(*dossier) {}, "nobody says"},
	} {
		f := whole(c.shape)
		c.harm(f)
		if faults := strings.Join(f.judge().Faults, "; "); !strings.Contains(faults, c.want) {
			t.Errorf("%s: faults %q, want %q", name, faults, c.want)
		}
	}
}

// The fee is that of the table, rounded up to the cent, and never more than a tenth.
func TestFee(t *testing.T) {
	for of, want := range map[string]string{
		"100000": "500", "100000.01": "1000", "1000000": "1000", "2000000": "1500", "2000000.01": "1500.01", "4000": "400", "33.33": "3.34",
	} {
		if got := fee(rat(of)); got.Cmp(rat(want)) != 0 {
			t.Errorf("of %s: %s, want %s", of, text(got), want)
		}
	}
}

func TestJudge_findsNothingWrongWithAWholePayment(t *testing.T) {
	f := whole(load.Plain)
	// Refused once and delivered again, and once more after acceptance: neither is a fault.
	again := f.deliveries[0]
	refused := again
	refused.Accepted = false
	f.deliveries = append([]load.Delivery{refused}, append(f.deliveries, again)...)
	v := f.judge()
	if len(v.Faults) > 0 || v.Payouts != 1 || v.Events != 5 || v.Attempts != 7 {
		t.Errorf("verdict %+v", v)
	}
	var r Report
	r.count(f, v)
	if r.Settled != 1 || r.Lost != 0 || r.Duplicates != 1 || r.Refused != 1 || r.Events != 5 {
		t.Errorf("report %+v", r)
	}
}

// Each thing that must never happen is done to a whole payment, and must be seen.
func TestJudge_seesEachFault(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(*dossier)
		want string
	}{
		"lost payment":          {func(f *dossier) { f.rows = nil }, "0 payments for one request"},
		"doubled payment":       {func(f *dossier) { f.rows = append(f.rows, f.rows[0]) }, "2 payments for one request"},
		"not settled":           {func(f *dossier) { f.rows[0].Status = "settling" }, "status settling"},
		"exception":             {func(f *dossier) { f.rows[0].Exception = "underpaid" }, `exception "underpaid"`},
		"another address":       {func(f *dossier) { f.rows[0].Address = "T2" }, "stored with T2"},
		"merchant stuck":        {func(f *dossier) { f.asked.Problem = "deposit: 404" }, "could not go on"},
		"deposit twice":         {func(f *dossier) { f.seen = append(f.seen, f.seen[0]) }, "wallets saw 2"},
		"deposit not booked":    {func(f *dossier) { f.deposits = nil }, "payments booked 0"},
		"deposit reverted":      {func(f *dossier) { f.deposits[0].Reverted = true }, "reverted"},
		"received less":         {func(f *dossier) { f.rows[0].Received = "31" }, "received 31 of 31.25"},
		"two payout rows":       {func(f *dossier) { f.payouts = append(f.payouts, payoutRow{"pay_1", "failed", "49500"}) }, `payouts "succeeded,failed"`},
		"paid twice":            {func(f *dossier) { f.rail = append(f.rail, railRow{"cw-a-2", "succeed", "49500", "NGN", "0123456789"}) }, `statement says "succeed,succeed"`},
		"never paid":            {func(f *dossier) { f.rail = nil }, `statement says ""`},
		"paid another amount":   {func(f *dossier) { f.rail[0].Amount = "495000" }, "order is for 495000"},
		"paid another currency": {func(f *dossier) { f.rail[0].Currency = "GHS" }, "order is for 49500 GHS"},
		"event lost":            {func(f *dossier) { f.deliveries = f.deliveries[:4] }, "events 5 of 5 never arrived"},
		"event never accepted":  {func(f *dossier) { f.deliveries[2].Accepted = false }, "events 3 of 5 never arrived"},
		"event under two ids": {func(f *dossier) {
			second := f.deliveries[1]
			second.EventID = "evt_other"
			f.deliveries = append(f.deliveries, second)
		}, "under two ids"},
		"forged event":        {func(f *dossier) { f.deliveries[3].Problem = "no signature matches" }, "no signature matches"},
		"event out of range":  {func(f *dossier) { f.rows[0].Sequence = 4 }, "event 5 of 4"},
		"state without event": {func(f *dossier) { f.deliveries[1].Type = "payment.overpaid" }, "no payment.confirming arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole(load.Plain)
			test.harm(f)
			faults := strings.Join(f.judge().Faults, "; ")
			if !strings.Contains(faults, test.want) {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
	}
}

func TestCount_lost(t *testing.T) {
	f := whole(load.Plain)
	f.rows[0].Status, f.deliveries = "settling", f.deliveries[:3]
	var r Report
	r.count(f, f.judge())
	if r.Settled != 0 || r.Lost != 3 {
		t.Errorf("report %+v", r)
	}
}

// The end of a run waits while something changes, and gives up when nothing does, or when the changes do not end.
func TestSettle(t *testing.T) {
	t.Parallel()
	const patience, every = time.Minute, 7 * time.Second
	left := func(n int) string {
		if n <= 0 {
			return ""
		}
		return fmt.Sprintf("%d deposits not swept", n)
	}
	halves := func(after time.Duration) int { return int(after / (patience / 2)) }
	for name, test := range map[string]struct {
		look  func(after time.Duration) string
		want  string
		least time.Duration
	}{
		"all done":            {func(time.Duration) string { return "" }, "", 0},
		"slow, with progress": {func(after time.Duration) string { return left(4 - halves(after)) }, "", 2 * patience},
		"nothing changes":     {func(time.Duration) string { return left(3) }, left(3), patience},
		"changes without end": {func(after time.Duration) string { return left(1 + halves(after)) }, left(6), 3 * patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got, err := settle(t.Context(), patience, every, func(context.Context) (string, error) { return test.look(time.Since(began)), nil })
				if took := time.Since(began); err != nil || got != test.want || took < test.least || took > test.least+every {
					t.Errorf("settle: got %q, %v after %s, want %q after %s and less than %s more", got, err, took, test.want, test.least, every)
				}
			})
		})
	}
}
