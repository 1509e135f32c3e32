package audit

import (
	"strings"
	"testing"

	"causeway.internal/deploy/chaos/internal/load"
)

// whole is the file of a payment with which everything is right.
func whole() *dossier {
	f := &dossier{
		asked: load.Payment{Key: "run-1", Reference: "CW-A", Address: "T1", CryptoAmount: "31.25", Deposited: true},
		rows: []paymentRow{{
			ID: "pay_1", Reference: "CW-A", Status: "settled", Address: "T1", Currency: "NGN",
			CryptoAmount: "31.25", Received: "31.25", PayoutAmount: "49500", Sequence: 5,
		}},
		payouts:  []payoutRow{{"pay_1", "succeeded"}},
		rail:     []railRow{{"cw-a-1", "succeed", "49500", "NGN"}},
		deposits: []depositRow{{"pay_1", "0x1", false}},
		seen:     []depositRow{{"T1", "0x1", false}},
	}
	for i, state := range needed {
		f.deliveries = append(f.deliveries, load.Delivery{
			EventID: "evt_" + state, Type: "payment." + state, Reference: "CW-A", Status: state, Sequence: int64(i + 1), Accepted: true,
		})
	}
	return f
}

func TestJudge_findsNothingWrongWithAWholePayment(t *testing.T) {
	f := whole()
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
		"deposit twice":         {func(f *dossier) { f.seen = append(f.seen, f.seen[0]) }, "saw 2 deposits"},
		"deposit not booked":    {func(f *dossier) { f.deposits = nil }, "booked 0"},
		"deposit reverted":      {func(f *dossier) { f.deposits[0].Reverted = true }, "reverted"},
		"received less":         {func(f *dossier) { f.rows[0].Received = "31" }, "received 31 of 31.25"},
		"two payout rows":       {func(f *dossier) { f.payouts = append(f.payouts, payoutRow{"pay_1", "failed"}) }, "2 payouts"},
		"paid twice":            {func(f *dossier) { f.rail = append(f.rail, railRow{"cw-a-2", "succeed", "49500", "NGN"}) }, "the rail knows 2 transfers"},
		"never paid":            {func(f *dossier) { f.rail = nil }, "the rail knows 0 transfers"},
		"paid another amount":   {func(f *dossier) { f.rail[0].Amount = "495000" }, "the rail paid 495000"},
		"paid another currency": {func(f *dossier) { f.rail[0].Currency = "GHS" }, "the rail paid 49500 GHS"},
		"event lost":            {func(f *dossier) { f.deliveries = f.deliveries[:4] }, "events 5 of 5 never arrived"},
		"event never accepted":  {func(f *dossier) { f.deliveries[2].Accepted = false }, "events 3 of 5 never arrived"},
		"event under two ids": {func(f *dossier) {
			second := f.deliveries[1]
			second.EventID = "evt_other"
			f.deliveries = append(f.deliveries, second)
		}, "under two ids"},
		"forged event":       {func(f *dossier) { f.deliveries[3].Problem = "no signature matches" }, "no signature matches"},
		"event out of range": {func(f *dossier) { f.rows[0].Sequence = 4 }, "event 5 of 4"},
		"state never told":   {func(f *dossier) { f.deliveries[1].Type = "payment.overpaid" }, "no payment.confirming arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole()
			test.harm(f)
			faults := strings.Join(f.judge().Faults, "; ")
			if !strings.Contains(faults, test.want) {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
	}
}

func TestCount_lost(t *testing.T) {
	f := whole()
	f.rows[0].Status, f.deliveries = "settling", f.deliveries[:3]
	var r Report
	r.count(f, f.judge())
	if r.Settled != 0 || r.Lost != 3 {
		t.Errorf("report %+v", r)
	}
}
