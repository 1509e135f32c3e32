package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/rail/sim"
)

// SimStatement is the simulated bank's memory. It has a pool of its own and shares no transaction and no row with
// payments: it stands for another house.
type SimStatement struct{ pool *pgxpool.Pool }

// simConns is enough for a bank that answers in a millisecond.
const simConns = 4

// OpenSimStatement opens the statement with connections of its own. It connects when it is first used.
func OpenSimStatement(ctx context.Context, cfg postgres.Config) (*SimStatement, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL.Reveal())
	if err != nil {
		return nil, errors.New("read DATABASE_URL: not a PostgreSQL URL")
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

// Record implements sim.Statement.
func (s *SimStatement) Record(ctx context.Context, t sim.Transfer) (stands sim.Transfer, fresh bool, err error) {
	tag, err := s.pool.Exec(ctx, simRecord, t.Ref, string(t.Currency), t.Amount, t.BankCode, t.AccountNumber, t.AccountName, string(t.Outcome), t.At, t.DoneAt)
	if err != nil {
		return sim.Transfer{}, false, fmt.Errorf("record a simulated transfer: %w", err)
	}
	stands, ok, err := s.Lookup(ctx, t.Ref)
	if err == nil && !ok {
		err = fmt.Errorf("simulated transfer %s vanished", t.Ref)
	}
	return stands, tag.RowsAffected() == 1, err
}

// Lookup implements sim.Statement.
func (s *SimStatement) Lookup(ctx context.Context, ref string) (sim.Transfer, bool, error) {
	var t sim.Transfer
	err := s.pool.QueryRow(ctx, simLookup, ref).Scan(&t.Ref, &t.Currency, &t.Amount, &t.BankCode, &t.AccountNumber, &t.AccountName, &t.Outcome, &t.At, &t.DoneAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return sim.Transfer{}, false, nil
	}
	if err != nil {
		return sim.Transfer{}, false, fmt.Errorf("look up a simulated transfer: %w", err)
	}
	t.At, t.DoneAt = t.At.UTC(), t.DoneAt.UTC()
	return t, true, nil
}

// SetOutcome implements sim.Statement.
func (s *SimStatement) SetOutcome(ctx context.Context, ref string, o sim.Outcome, doneAt time.Time) error {
	if _, err := s.pool.Exec(ctx, simSetOutcome, ref, string(o), doneAt); err != nil {
		return fmt.Errorf("set a simulated outcome: %w", err)
	}
	return nil
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
