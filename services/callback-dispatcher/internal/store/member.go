package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tick"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

const (
	beatEvery     = time.Second
	takeOverEvery = time.Second
	takeOverFor   = time.Second
	takeOverMost  = 1000 // deliveries in one transaction
	orphansEvery  = 10 * time.Second
	memberTimeout = 3 * time.Second
)

var errLockTaken = errors.New("the membership lock is taken: an earlier session of this process has not ended yet, the next one takes another lock")

// Member makes this process one of those that lease deliveries. A session of its own holds an advisory lock for as long
// as the process lives, so that the others see a death at once, and a beat every second tells a hang from life.
type Member struct {
	db       *pgxpool.Pool
	instance string
	lockKey  int64
	log      *slog.Logger
	patience time.Duration // of one look or beat
	conn     *pgx.Conn     // its session holds the lock
	joined   bool
}

// NewMember makes the membership of the store's process.
func NewMember(s *Store, log *slog.Logger) *Member {
	return &Member{db: s.db, instance: s.instance, lockKey: s.lockKey, log: log, patience: memberTimeout}
}

var _ app.Membership = (*Member)(nil)

// Join registers the process and takes over what dead ones held, so that a restart sends at once what its former self
// had leased. It retries until ctx ends.
func (m *Member) Join(ctx context.Context) error {
	for {
		_, err := m.hold(ctx)
		if err == nil {
			err = m.takeOver(ctx, func(int) {})
		}
		if err == nil {
			return nil
		}
		m.log.WarnContext(ctx, "membership not joined", "err", err)
		if !pause(ctx, takeOverEvery) {
			return err
		}
	}
}

// hold opens the session that carries the lock and registers the process. buried says that others had given it up.
func (m *Member) hold(ctx context.Context) (buried bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	m.hangUp()
	conn, err := postgres.Beside(ctx, m.db)
	if err != nil {
		return false, fmt.Errorf("open the membership session: %w", err)
	}
	m.conn = conn
	var locked, fresh bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, m.lockKey).Scan(&locked)
	if !locked {
		m.hangUp() // a session without the lock must not beat
	}
	if err != nil {
		return false, fmt.Errorf("take the membership lock: %w", err)
	}
	if !locked { // by a session that the server has not missed yet, which may take hours
		m.lockKey = rand.Int64() //nolint:gosec // it names a lock and is no secret
		return false, errLockTaken
	}
	if err := conn.QueryRow(ctx, joinSQL, m.instance, m.lockKey).Scan(&fresh); err != nil {
		return false, fmt.Errorf("register the process: %w", err)
	}
	buried, m.joined = m.joined && fresh, true
	return buried, nil
}

func (m *Member) hangUp() {
	if m.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = m.conn.Close(ctx) // it is given up either way
	m.conn = nil
}

// Keep beats and takes over until ctx ends.
func (m *Member) Keep(ctx context.Context, lost func(), share func(processes int)) error {
	defer m.hangUp()
	var beaten, swept time.Time
	for pause(ctx, tick.Until(takeOverEvery)) {
		now := time.Now()
		if now.Sub(beaten) >= beatEvery-takeOverEvery/2 { // a look may come a little early
			m.beat(ctx, lost)
			beaten = now
		}
		err := m.takeOver(ctx, share)
		if err == nil && now.Sub(swept) >= orphansEvery {
			err = m.freeOrphans(ctx)
			swept = now
		}
		if err != nil && ctx.Err() == nil {
			m.log.WarnContext(ctx, "leases not maintained", "err", err)
		}
	}
	return nil
}

// freeOrphans gives back what is leased for too long, or by a process that is on no list.
func (m *Member) freeOrphans(ctx context.Context) error {
	return postgres.Planned(ctx, m.db, postgres.InOrderSQL, nil, orphansSQL)
}

func (m *Member) beat(ctx context.Context, lost func()) {
	if m.conn != nil {
		bounded, cancel := context.WithTimeout(ctx, m.patience)
		tag, err := m.conn.Exec(bounded, beatSQL, m.instance)
		cancel()
		if err == nil && tag.RowsAffected() == 1 {
			return
		}
	}
	buried, err := m.hold(ctx)
	if err != nil && ctx.Err() == nil {
		m.log.WarnContext(ctx, "membership not renewed", "err", err)
	}
	if buried {
		lost()
	}
}

// takeOver calls share with the number of processes that live, and makes what dead ones held due again, a part at a
// time: beats must not wait for it. The next call goes on with the rest.
func (m *Member) takeOver(ctx context.Context, share func(processes int)) error {
	for began := time.Now(); time.Since(began) < takeOverFor; {
		if more, err := m.takeOverSome(ctx, share); err != nil || !more {
			return err
		}
	}
	return nil
}

func (m *Member) takeOverSome(ctx context.Context, share func(processes int)) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	var living int
	var some bool
	if err := m.db.QueryRow(ctx, anyDeadSQL, m.instance).Scan(&living, &some); err != nil {
		return false, fmt.Errorf("look for dead processes: %w", err)
	}
	share(living)
	if !some {
		return false, nil
	}
	err = postgres.Tx(ctx, m.db, func(tx pgx.Tx) error {
		more = false
		rows, err := tx.Query(ctx, deadSQL, m.instance)
		if err != nil {
			return fmt.Errorf("look for dead processes: %w", err)
		}
		dead, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(dead) == 0 {
			return err
		}
		var flights, taken int
		if err := tx.QueryRow(ctx, landOldSQL, dead).Scan(&flights, nil); err != nil {
			return fmt.Errorf("land the flights of dead processes: %w", err)
		}
		if err := tx.QueryRow(ctx, takeOverSQL, dead, takeOverMost).Scan(&taken); err != nil {
			return fmt.Errorf("take leases over: %w", err)
		}
		m.log.WarnContext(ctx, "leases of dead processes taken over", "processes", dead, "deliveries", taken)
		if more = flights > 0 || taken == takeOverMost; more {
			return nil
		}
		if _, err = tx.Exec(ctx, burySQL, dead); err != nil {
			return fmt.Errorf("delete dead processes: %w", err)
		}
		return nil
	})
	return more, err
}

// Leave gives every lease back and ends the membership; call it after Keep has returned.
func (m *Member) Leave(ctx context.Context) error {
	if _, err := m.db.Exec(ctx, leaveSQL, m.instance); err != nil {
		return fmt.Errorf("leave the membership: %w", err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
