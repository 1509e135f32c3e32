package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/gather"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/rail/sim"
)

// SimStatement is the simulated bank's memory. It has its own pool and shares no transaction and no row with payments,
// because it represents another company.
type SimStatement struct {
	pool    *pgxpool.Pool
	records gather.Calls[sim.Transfer, recorded]
	lookups gather.Calls[string, *sim.Transfer]
}

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
	s := &SimStatement{pool: pool}
	s.records.All, s.lookups.All = s.record, s.lookup
	return s, nil
}

// Close closes the connections.
func (s *SimStatement) Close() { s.pool.Close() }

var _ sim.Statement = (*SimStatement)(nil)

// recorded is what the statement says of an order's reference, and whether this order put it there.
type recorded struct {
	transfer sim.Transfer
	fresh    bool
}

// Record implements sim.Statement.
func (s *SimStatement) Record(ctx context.Context, t sim.Transfer) (kept sim.Transfer, fresh bool, err error) {
	r, err := s.records.Ask(ctx, t)
	return r.transfer, r.fresh, wrap(err, "record a simulated transfer")
}

// record records orders. One round trip is one transaction. Each statement in it sees the rows that were committed
// before it had the locks.
func (s *SimStatement) record(ctx context.Context, all []sim.Transfer) ([]recorded, error) {
	refs, currencies, amounts, banks := make([]string, len(all)), make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	numbers, names, outcomes := make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	at, doneAt := make([]time.Time, len(all)), make([]time.Time, len(all))
	for i, t := range all {
		refs[i], currencies[i], amounts[i], banks[i] = t.Ref, string(t.Currency), t.Amount.String(), t.BankCode
		numbers[i], names[i], outcomes[i], at[i], doneAt[i] = t.AccountNumber, t.AccountName, string(t.Outcome), t.At, t.DoneAt
	}
	var b pgx.Batch
	fresh, found := map[string]bool{}, map[string]*sim.Transfer{}
	b.Queue(postgres.OnePlanSQL)
	b.Queue(simLocks, refs)
	b.Queue(simRecord, refs, currencies, amounts, banks, numbers, names, outcomes, at, doneAt).Query(func(rows pgx.Rows) error {
		var ref string
		_, err := pgx.ForEachRow(rows, []any{&ref}, func() error { fresh[ref] = true; return nil })
		return err
	})
	b.Queue(simLookups, refs).Query(collectSim(found))
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	out := make([]recorded, len(all))
	for i, t := range all {
		if found[t.Ref] == nil {
			return nil, fmt.Errorf("transfer %s is not on the statement", t.Ref)
		}
		out[i] = recorded{*found[t.Ref], fresh[t.Ref]}
		delete(fresh, t.Ref) // a second order of the same reference is a duplicate
	}
	return out, nil
}

// Lookup implements sim.Statement.
func (s *SimStatement) Lookup(ctx context.Context, ref string) (sim.Transfer, bool, error) {
	t, err := s.lookups.Ask(ctx, ref)
	if err != nil || t == nil {
		return sim.Transfer{}, false, wrap(err, "look up a simulated transfer")
	}
	return *t, true, nil
}

func (s *SimStatement) lookup(ctx context.Context, refs []string) ([]*sim.Transfer, error) {
	found := map[string]*sim.Transfer{}
	if err := postgres.Planned(ctx, s.pool, postgres.OnePlanSQL, collectSim(found), simLookups, refs); err != nil {
		return nil, err
	}
	out := make([]*sim.Transfer, len(refs))
	for i, ref := range refs {
		out[i] = found[ref]
	}
	return out, nil
}

func collectSim(found map[string]*sim.Transfer) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sim.Transfer, error) { return scanSim(row) })
		for _, t := range all {
			found[t.Ref] = &t
		}
		return err
	}
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
