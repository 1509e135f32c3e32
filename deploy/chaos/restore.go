package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/chaos/internal/audit"
)

// drill is what is particular to setting back one service's database; docs/runbooks/<service>-restore.md says why.
type drill struct {
	service string
	keep    []string // tables of what other companies remember
	forget  bool     // needs no RECOVERY
	witness *witness // what is made before, in and after the lost time, and looked for at the end
	then    func(ctx context.Context, f *field, from map[string]int64) error
}

// drills are all services, those with money first.
var drills = []drill{
	{service: "payments", keep: []string{"sim_transfers", "sim_outcomes"}, then: paymentsBack},
	{service: "wallets", keep: []string{"sim_networks", "sim_blocks", "sim_transfers"}, witness: &walletsMade, then: walletsBack},
	{service: "callback-dispatcher", forget: true},
	{service: "gateway", witness: &keysMade},
	{service: "reports", witness: &reportsMade},
}

// lostTime is what a restore loses; runs too short for that lose a share of their time.
const (
	lostTime  = time.Minute
	lostShare = 3
)

// restores sets back the databases of the services one after the other, under load, as the runbooks say.
func restores(ctx context.Context, f *field) error {
	var chosen []drill
	for _, d := range drills {
		if len(f.databases) == 0 || f.databases[d.service] {
			chosen = append(chosen, d)
		}
	}
	length := min(lostTime, f.share/time.Duration(lostShare*len(chosen)))
	for _, d := range chosen {
		if !f.pause(ctx, time.Second, 2*time.Second) {
			return nil
		}
		if err := f.setBack(context.WithoutCancel(ctx), d, length); err != nil { // a drill that has begun ends
			return fmt.Errorf("restoring %s: %w", d.service, err)
		}
	}
	return nil
}

// setBack is one drill: backup, the time that is lost, restore, recovery, and normal service again.
func (f *field) setBack(ctx context.Context, d drill, length time.Duration) error {
	from, err := f.scanned(ctx)
	if err != nil {
		return err
	}
	made := d.witness.on(f)
	if err := made.make(ctx, before); err != nil {
		return err
	}
	restore := audit.Restore{Service: d.service, Backup: time.Now()}
	image, err := f.stack.Backup(ctx, d.service)
	if err != nil {
		return err
	}
	f.say("backup  %-28s taken in %s", d.service, time.Since(restore.Backup).Round(10*time.Millisecond))
	if err := made.make(ctx, lost); err != nil {
		return err
	}
	f.pause(ctx, length, length)
	names := f.stack.Of(d.service)
	for _, name := range names {
		if err := f.stack.Stop(ctx, name); err != nil {
			return err
		}
	}
	if err := f.stack.Restore(ctx, image, d.keep...); err != nil {
		return err
	}
	restore.Back = time.Now()
	f.restores = append(f.restores, restore)
	f.count("restore of " + d.service)
	if err := f.recovered(ctx, d, names, from); err != nil {
		return err
	}
	if err := made.make(ctx, after); err != nil {
		return err
	}
	f.say("restore %-28s %s lost, in service again after %s", d.service, restore.Back.Sub(restore.Backup).Round(10*time.Millisecond), time.Since(restore.Back).Round(10*time.Millisecond))
	return made.judge(ctx)
}

// recovered starts the service with RECOVERY, does what else the runbook says, and starts every process again without.
func (f *field) recovered(ctx context.Context, d drill, names []string, from map[string]int64) error {
	var settings []string
	if !d.forget {
		settings = []string{"RECOVERY=true", fmt.Sprint("RECOVERY_MARGIN=", f.margin)}
	}
	for _, name := range names {
		if err := f.stack.Start(ctx, name, settings...); err != nil {
			return err
		}
	}
	if d.then != nil {
		if err := d.then(ctx, f, from); err != nil {
			return err
		}
	}
	if d.forget {
		return nil
	}
	for _, name := range names {
		if err := f.stack.Stop(ctx, name); err != nil {
			return err
		}
		if err := f.stack.Start(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// recoveryLimit bounds what a recovery waits for.
const recoveryLimit = 90 * time.Second

// earlier is how many blocks before the backup the rescan begins: more than a deposit needs to become final, because
// the messages about a deposit of an older block may be among the lost ones. The runbook takes a day.
const earlier = 80

// paymentsBack makes wallets publish its messages again, and waits until the outcome of every payout of the backup is
// known.
func paymentsBack(ctx context.Context, f *field, from map[string]int64) error {
	began := time.Now()
	now, err := f.scanned(ctx)
	if err != nil {
		return err
	}
	for network, height := range now {
		_, err := f.stack.Operate(ctx, f.stack.Of("wallets")[0], nil, "rescan", "--mode", "test", "--network", network,
			"--from", strconv.FormatInt(max(0, from[network]-earlier), 10), "--to", strconv.FormatInt(height, 10))
		if err != nil {
			return err
		}
	}
	f.say("sent    deposits on %d networks again in %s", len(now), time.Since(began).Round(10*time.Millisecond))
	return f.none(ctx, "payments", `SELECT count(*) FROM payouts WHERE state IN ('created', 'sending', 'unknown') AND created_at < $1`, began)
}

// walletsBack waits until the second look is done.
func walletsBack(ctx context.Context, f *field, _ map[string]int64) error {
	return f.none(ctx, "wallets", `SELECT count(*) FROM recovery_cursors k JOIN recoveries r ON r.id = k.recovery
		WHERE r.ended_at IS NULL AND NOT k.done AND k.mode = 'live'`)
}

// none waits until a count is zero.
func (f *field) none(ctx context.Context, service, count string, args ...any) error {
	db, err := pgx.Connect(ctx, f.stack.Superuser[service])
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	for deadline := time.Now().Add(recoveryLimit); ; f.pause(ctx, 200*time.Millisecond, 200*time.Millisecond) {
		var n int
		if err := db.QueryRow(ctx, count, args...).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			f.fault("recovery of %s: %d left of %s", service, n, count)
			return nil
		}
	}
}

// scanned reads how far wallets has scanned each simulated network.
func (f *field) scanned(ctx context.Context) (map[string]int64, error) {
	db, err := pgx.Connect(ctx, f.stack.Superuser["wallets"])
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(ctx, `SELECT network, height FROM cursors WHERE mode = 'test'`)
	if err != nil {
		return nil, err
	}
	heights := map[string]int64{}
	var network string
	var height int64
	_, err = pgx.ForEachRow(rows, []any{&network, &height}, func() error { heights[network] = height; return nil })
	return heights, err
}
