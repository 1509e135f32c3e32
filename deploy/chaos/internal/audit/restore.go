package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Restore is a service's database set back: what was done between Backup and Back is not in it.
type Restore struct {
	Service string
	Backup  time.Time // before the backup was begun
	Back    time.Time // after the database was there again
}

// onItsWay is how long before a backup an event may have happened that had not come to the dispatcher's database by
// then.
const onItsWay = 10 * time.Second

// lostAt says whether what a service did at a time may be lost.
func (e Evidence) lostAt(service string, at time.Time, slack time.Duration) bool {
	for _, r := range e.Restores {
		if r.Service == service && at.After(r.Backup.Add(-slack)) && at.Before(r.Back) {
			return true
		}
	}
	return false
}

func (e Evidence) restored(service string) bool {
	for _, r := range e.Restores {
		if r.Service == service {
			return true
		}
	}
	return false
}

// judgeLost judges a payment that a restore took away: what payers and banks did for it stays true, once, and its money
// is in suspense.
func (f *dossier) judgeLost() Verdict {
	v := Verdict{Key: f.asked.Key, Reference: f.asked.Reference, Status: "restored away", Attempts: len(f.deliveries)}
	fault := func(format string, args ...any) { v.Faults = append(v.Faults, fmt.Sprintf(format, args...)) }
	for _, r := range f.rail {
		if r.Outcome == "succeed" {
			v.Payouts++
		}
	}
	if len(f.rail) > 1 {
		fault("the rail knows %d transfers", len(f.rail))
	}
	if len(f.seen) > 1 || len(f.deposits) != len(f.seen) {
		fault("wallets saw %d deposits, payments keeps %d in suspense", len(f.seen), len(f.deposits))
	}
	ids := map[int64]string{}
	for _, d := range f.deliveries {
		if d.Problem != "" {
			fault("callback %s: %s", d.EventID, d.Problem)
		} else if id := ids[d.Sequence]; id != "" && id != d.EventID {
			fault("event %d came under two ids, %s and %s", d.Sequence, id, d.EventID)
		}
		ids[d.Sequence] = d.EventID
	}
	return v
}

// eventTimes are when each event of an ordinary transfer happened: it has one per status entered.
const eventTimes = `SELECT payment_id, row_number() OVER (PARTITION BY payment_id ORDER BY version, n), at FROM history WHERE from_state <> to_state`

// lostEvents lists, by payment, the events whose deliveries a restore of the dispatcher's database may have taken away.
func lostEvents(ctx context.Context, e Evidence, payments *pgx.Conn) (map[string]map[int64]bool, error) {
	found := map[string]map[int64]bool{}
	if !e.restored("callback-dispatcher") {
		return found, nil
	}
	rows, err := payments.Query(ctx, eventTimes)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	var id string
	var n int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &n, &at}, func() error {
		if e.lostAt("callback-dispatcher", at, onItsWay) {
			if found[id] == nil {
				found[id] = map[int64]bool{}
			}
			found[id][n] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	return found, nil
}

// strayTransfers are transfers at the rail of no payout: a restore may have taken the payout's payment away, and
// nothing else.
func strayTransfers(ctx context.Context, payments *pgx.Conn, files []*dossier) ([]string, error) {
	rows, err := payments.Query(ctx, `SELECT t.ref FROM sim_transfers t LEFT JOIN payouts o ON o.reference = t.ref WHERE o.id IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("reading the rail: %w", err)
	}
	refs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("reading the rail: %w", err)
	}
	excused := map[string]bool{}
	for _, f := range files {
		if f.lost {
			for _, r := range f.rail {
				excused[r.Reference] = true
			}
		}
	}
	var faults []string
	for _, ref := range refs {
		if !excused[ref] {
			faults = append(faults, "payments: rail transfer without a payout: "+ref)
		}
	}
	return faults, nil
}
