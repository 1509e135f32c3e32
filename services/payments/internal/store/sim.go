package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/rail/sim"
)

// SimStatement is the simulated bank's memory. It has its own pool and shares no transaction and no row with payments,
// because it represents another company.
type SimStatement struct{ pool *pgxpool.Pool }

// simConns is enough for a bank that answers in a millisecond.
const simConns = 4

// OpenSimStatement opens the statement with its own connections. It connects at its first use.
func OpenSimStatement(ctx context.Context, cfg postgres.Config) (*SimStatement, error) {
	pc, err := cfg.Parse()
	if err != nil {
		return nil, err
	}
	pc.MaxConns = simConns
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the simulated bank's statement: %w", err)
	}
	return &SimStatement{pool}, nil
}

// Close closes the connections.
func (s *SimStatement) Close() { s.pool.Close() }

var _ sim.Statement = (*SimStatement)(nil)

// Record implements sim.Statement. One round trip is one transaction. Each statement in it sees the rows that were
// committed before it had the lock.
func (s *SimStatement) Record(ctx context.Context, t sim.Transfer) (recorded sim.Transfer, fresh bool, err error) {
	var b pgx.Batch
	b.Queue(simLock, t.Ref)
	b.Queue(
		simRecord, t.Ref, string(t.Currency), t.Amount, t.BankCode, t.AccountNumber, t.AccountName, string(t.Outcome), t.At, t.DoneAt,
	).Exec(func(tag pgconn.CommandTag) error {
		fresh = tag.RowsAffected() == 1
		return nil
	})
	b.Queue(simLookup, t.Ref).QueryRow(func(row pgx.Row) error {
		var err error
		recorded, err = scanSim(row)
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return sim.Transfer{}, false, fmt.Errorf("record a simulated transfer: %w", err)
	}
	return recorded, fresh, nil
}

// Lookup implements sim.Statement.
func (s *SimStatement) Lookup(ctx context.Context, ref string) (sim.Transfer, bool, error) {
	return lookupSim(ctx, s.pool, ref)
}

func lookupSim(ctx context.Context, db postgres.Querier, ref string) (sim.Transfer, bool, error) {
	t, err := scanSim(db.QueryRow(ctx, simLookup, ref))
	if errors.Is(err, pgx.ErrNoRows) {
		return sim.Transfer{}, false, nil
	}
	if err != nil {
		return sim.Transfer{}, false, fmt.Errorf("look up a simulated transfer: %w", err)
	}
	return t, true, nil
}

func scanSim(row pgx.Row) (sim.Transfer, error) {
	var t sim.Transfer
	err := row.Scan(&t.Ref, &t.Currency, &t.Amount, &t.BankCode, &t.AccountNumber, &t.AccountName, &t.Outcome, &t.At, &t.DoneAt)
	t.At, t.DoneAt = t.At.UTC(), t.DoneAt.UTC()
	return t, err
}

// Order implements sim.Statement.
func (s *SimStatement) Order(ctx context.Context, ref string, o sim.Outcome, change func(*sim.Transfer) error) error {
	return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, simLock, ref); err != nil {
			return fmt.Errorf("lock a simulated transfer: %w", err)
		}
		t, found, err := lookupSim(ctx, tx, ref)
		switch {
		case err != nil:
			return err
		case !found:
			_, err = tx.Exec(ctx, simKeep, ref, string(o))
		default:
			if err := change(&t); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, simChange, ref, string(t.Outcome), t.DoneAt)
		}
		if err != nil {
			return fmt.Errorf("order a simulated outcome: %w", err)
		}
		return nil
	})
}

// Ordered implements sim.Statement.
func (s *SimStatement) Ordered(ctx context.Context, ref string) (sim.Outcome, error) {
	var o sim.Outcome
	err := s.pool.QueryRow(ctx, simOrdered, ref).Scan(&o)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up a simulated outcome: %w", err)
	}
	return o, nil
}
