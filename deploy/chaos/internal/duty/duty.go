// Package duty watches who leads: the session that holds each of the product's leaderships, read from the databases'
// locks and leases. It tells a takeover and how long it took.
package duty

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// leaderships by database: what is led, and the name that the lock's key is made of.
var leaderships = map[string]map[string]string{
	"payments": {"relay of payments": "causeway/outbox relay", "timers of payments": "causeway/payments timers"},
	"wallets":  {"relay of wallets": "causeway/outbox relay"},
}

// A scanner's lease belongs to an owner, who proves to live by a lock on its name.
const scanners = `SELECT 'scanner' || substr(l.name, 5), coalesce((SELECT max(k.pid) FROM pg_locks k
	WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
	AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND (k.classid::int8 << 32) | k.objid::int8 = hashtextextended('scanners of ' || l.owner, 0)), 0)
FROM leases l`

const locks = `SELECT (classid::int8 << 32) | objid::int8, pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// cursors are positions that only ever grow: no chain of chaos turns back.
const cursors = `SELECT mode || ' ' || network, height FROM cursors`

// Observer looks at the databases of one instance.
type Observer struct {
	payments, wallets *pgx.Conn
}

// Open connects with the superuser's URLs by service.
func Open(ctx context.Context, databases map[string]string) (*Observer, error) {
	payments, err := pgx.Connect(ctx, databases["payments"])
	if err != nil {
		return nil, fmt.Errorf("watching payments' leaders: %w", err)
	}
	wallets, err := pgx.Connect(ctx, databases["wallets"])
	if err != nil {
		_ = payments.Close(ctx)
		return nil, fmt.Errorf("watching wallets' leaders: %w", err)
	}
	return &Observer{payments: payments, wallets: wallets}, nil
}

// Close disconnects.
func (w *Observer) Close(ctx context.Context) {
	_ = w.payments.Close(context.WithoutCancel(ctx)) // only reading ends here
	_ = w.wallets.Close(context.WithoutCancel(ctx))
}

// Holders are the sessions (PostgreSQL's process ids) that lead, by duty; 0 means nobody.
type Holders map[string]int64

// Holders reads who leads now.
func (w *Observer) Holders(ctx context.Context) (Holders, error) {
	found, err := pairs(ctx, w.wallets, scanners)
	if err != nil {
		return nil, err
	}
	for service, db := range map[string]*pgx.Conn{"payments": w.payments, "wallets": w.wallets} {
		rows, err := db.Query(ctx, locks)
		if err != nil {
			return nil, fmt.Errorf("reading the locks: %w", err)
		}
		byKey := map[int64]int64{}
		var key, pid int64
		if _, err := pgx.ForEachRow(rows, []any{&key, &pid}, func() error { byKey[key] = pid; return nil }); err != nil {
			return nil, fmt.Errorf("reading the locks: %w", err)
		}
		for duty, name := range leaderships[service] {
			found[duty] = byKey[keyOf(name)]
		}
	}
	return found, nil
}

// keyOf is how a leadership's name becomes the key of its lock.
func keyOf(name string) int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))
	return int64(sum.Sum64())
}

// Cursors reads how far each chain is scanned.
func (w *Observer) Cursors(ctx context.Context) (map[string]int64, error) {
	return pairs(ctx, w.wallets, cursors)
}

func pairs(ctx context.Context, db *pgx.Conn, query string) (map[string]int64, error) {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	found := map[string]int64{}
	var name string
	var value int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error { found[name] = value; return nil }); err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	return found, nil
}

// Settled waits until every duty has a holder and nothing changes for a moment.
func (w *Observer) Settled(ctx context.Context) (Holders, error) {
	var before Holders
	for same := 0; ; {
		now, err := w.Holders(ctx)
		if err != nil {
			return nil, err
		}
		if same++; !maps.Equal(now, before) || slices.Contains(slices.Collect(maps.Values(now)), 0) {
			same = 0
		}
		if same == 5 {
			return now, nil
		}
		before = now
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Takeovers watches after a leader was taken out at began: how long each duty that lost its holder had to wait for
// another. It looks for at least the time least, then until all are taken, at most until limit; what nobody took is in
// orphans.
func (w *Observer) Takeovers(ctx context.Context, before Holders, began time.Time, least, limit time.Duration) (took map[string]time.Duration, orphans []string, err error) {
	took = map[string]time.Duration{}
	for {
		now, err := w.Holders(ctx)
		if err != nil {
			return nil, nil, err
		}
		passed := time.Since(began)
		orphans = nil
		for duty, holder := range before {
			switch {
			case now[duty] == 0:
				orphans = append(orphans, duty)
			case now[duty] != holder && took[duty] == 0:
				took[duty] = passed
			}
		}
		if passed > limit || passed > least && len(orphans) == 0 {
			slices.Sort(orphans)
			return took, orphans, nil
		}
		select {
		case <-ctx.Done():
			return took, nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
