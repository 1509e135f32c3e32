package audit

import (
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/chaos/internal/load"
)

// away is the file of a payment that was made, paid and paid out in the time that a restore of payments took away.
func away() *dossier {
	f := whole(load.Plain)
	f.rows, f.payouts, f.lost = nil, nil, true
	f.deposits = []depositRow{{Owner: "T1", TxHash: "0x1", Reverted: false}}
	return f
}

func TestJudgeLost(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(*dossier)
		want string // "" for no fault
	}{
		"as it must be":              {func(*dossier) {}, ""},
		"the merchant found it gone": {func(f *dossier) { f.asked.Problem, f.seen, f.deposits, f.rail = "deposit: 404", nil, nil, nil }, ""},
		"paid twice":                 {func(f *dossier) { f.rail = append(f.rail, railRow{"cw-a-2", "succeed", "49500", "NGN", "0123456789"}) }, "the rail knows 2 transfers"},
		"deposit lost":               {func(f *dossier) { f.deposits = nil }, "saw 1 deposits, payments keeps 0"},
		"deposit taken twice":        {func(f *dossier) { f.deposits = append(f.deposits, f.deposits[0]) }, "keeps 2 in suspense"},
		"forged event":               {func(f *dossier) { f.deliveries[3].Problem = "no signature matches" }, "no signature matches"},
		"event under two ids": {func(f *dossier) {
			f.deliveries = append(f.deliveries, load.Delivery{EventID: "evt_other", Sequence: 2})
		}, "under two ids"},
	} {
		t.Run(name, func(t *testing.T) {
			f := away()
			test.harm(f)
			faults := strings.Join(f.judge().Faults, "; ")
			if (test.want == "") != (faults == "") || !strings.Contains(faults, test.want) {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
	}
	var r Report
	f := away()
	r.count(f, f.judge())
	if r.Away != 1 || r.Lost != 0 || r.Settled != 0 || r.Payouts != 1 {
		t.Errorf("report %+v", r)
	}
}

// Only events of the lost time may be missing after a restore of the dispatcher's database.
func TestJudge_eventsOfTheLostTime(t *testing.T) {
	f := whole(load.Plain)
	f.deliveries, f.untold = f.deliveries[:4], map[int64]bool{4: true, 5: true}
	v := f.judge()
	var r Report
	r.count(f, v)
	if len(v.Faults) > 0 || v.Untold != 1 || r.Untold != 1 || r.Lost != 0 {
		t.Errorf("judge events of the lost time: got %+v and the report %+v, want no fault, one untold and none lost", v, r)
	}
	f.deliveries = f.deliveries[1:]
	if faults := strings.Join(f.judge().Faults, "; "); !strings.Contains(faults, "events 1 of 5 never arrived") {
		t.Errorf("faults %q", faults)
	}
}

func TestLostAt(t *testing.T) {
	backup := time.Now()
	e := Evidence{Restores: []Restore{{Service: "payments", Backup: backup, Back: backup.Add(time.Minute)}}}
	for _, c := range []struct {
		service string
		after   time.Duration
		slack   time.Duration
		want    bool
	}{
		{"payments", time.Second, 0, true},
		{"payments", -time.Second, 0, false},
		{"payments", -time.Second, 2 * time.Second, true},
		{"payments", 61 * time.Second, 0, false},
		{"wallets", time.Second, 0, false},
	} {
		if got := e.lostAt(c.service, backup.Add(c.after), c.slack); got != c.want {
			t.Errorf("lostAt of %+v: got %t", c, got)
		}
	}
	if !e.restored("payments") || e.restored("wallets") {
		t.Error("restored")
	}
}
