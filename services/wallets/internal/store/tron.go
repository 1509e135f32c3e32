package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
)

// Energy is lent for a sweep. It is due back once that sweep is not open any more.
const (
	lentSQL = `SELECT o.id, ` + sweepColumns + ` FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep
WHERE o.mode = 'live' AND o.network = $1 AND o.kind = 'delegate' AND NOT o.returned AND o.state = 'final' AND s.state <> 'open'
AND NOT EXISTS (SELECT FROM outgoing_tx u WHERE u.sweep = o.sweep AND u.kind = 'undelegate' AND u.state IN ('planned', 'signed', 'broadcast', 'mined'))
ORDER BY o.created_at LIMIT $2`

	returnedSQL = `UPDATE outgoing_tx SET returned = true WHERE id = $1 AND kind = 'delegate'`

	returningSQL = `SELECT EXISTS (SELECT FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep
WHERE o.mode = 'live' AND o.network = $1 AND o.kind = 'delegate' AND NOT o.returned AND o.state NOT IN ('failed', 'replaced')
AND s.address = $2 AND s.state <> 'open')`

	failedSQL = `SELECT count(*) FROM outgoing_tx WHERE sweep = $1 AND kind = 'sweep' AND state = 'failed'`
)

// FinalBlock implements sweeper.Store.
func (s Sweeps) FinalBlock(ctx context.Context, network string) (h chain.Header, known bool, err error) {
	final, err := s.Final(ctx, network)
	if err != nil || final == 0 {
		return h, false, err
	}
	return s.Header(ctx, scanner.Chain{Mode: tenant.Live, Network: network}, final)
}

// Lent implements sweeper.Store.
func (s Sweeps) Lent(ctx context.Context, network string, most int) ([]sweeper.Lent, error) {
	rows, err := s.pool.Query(ctx, lentSQL, network, most)
	if err != nil {
		return nil, fmt.Errorf("reading lent energy: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l sweeper.Lent, err error) {
		var r sweepRow
		if err := row.Scan(append([]any{&l.Outgoing}, r.fields()...)...); err != nil {
			return l, err
		}
		l.Sweep, err = r.read()
		return l, err
	})
}

// Returned implements sweeper.Store.
func (s Sweeps) Returned(ctx context.Context, outgoing string) error {
	_, err := s.pool.Exec(ctx, returnedSQL, outgoing)
	return err
}

// Returning implements sweeper.Store.
func (s Sweeps) Returning(ctx context.Context, w sweep.Sweep) (is bool, err error) {
	err = s.pool.QueryRow(ctx, returningSQL, w.Network, w.Address).Scan(&is)
	return is, err
}

// Failures implements sweeper.Store.
func (s Sweeps) Failures(ctx context.Context, w sweep.Sweep) (n int64, err error) {
	err = s.pool.QueryRow(ctx, failedSQL, w.ID).Scan(&n)
	return n, err
}
