package store

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/services/wallets/internal/unseen"
)

var _ unseen.Balances = (*Store)(nil)

const (
	scannedSQL = `SELECT height, finalized FROM cursors WHERE mode = 'live' AND network = $1`

	nextPassSQL = `UPDATE balance_passes SET seq = 0, began_at = now(), ended_at = NULL
WHERE mode = 'live' AND network = $1 AND ended_at IS NOT NULL AND began_at <= now() - $2::interval`

	firstPassSQL = `INSERT INTO balance_passes (mode, network) VALUES ('live', $1) ON CONFLICT DO NOTHING`

	//nolint:gosec // a statement
	passSQL = `SELECT p.seq, p.ended_at IS NOT NULL, now() - p.began_at,
(SELECT last_seq FROM counters WHERE mode = 'live' AND family = 'evm') FROM balance_passes p WHERE p.mode = 'live' AND p.network = $1`

	accountsAfterSQL = `SELECT seq, address, wallet_id FROM addresses WHERE mode = 'live' AND family = 'evm' AND seq > $1 ORDER BY seq LIMIT $2`

	listedSQL = `SELECT 0::bigint, address, wallet_id FROM unexplained_balances WHERE mode = 'live' AND network = $1
AND compared_at <= now() - $2::interval ORDER BY compared_at LIMIT $3`

	// The books' balance of the native coin: credits and the gas station's fundings, less outgoing amounts and their
	// fees. A transaction under way may be in that block or not, and a foreign transaction with the same nonce is not
	// in the books.
	expectedSQL = `SELECT a.address, (
	coalesce((SELECT sum(d.amount) FROM deposits d WHERE d.wallet_id = a.wallet_id AND d.mode = 'live' AND d.network = $1
		AND d.contract = '' AND d.state <> 'reverted' AND d.height <= $2), 0)
	+ coalesce((SELECT sum(CASE WHEN o.kind = 'fund' THEN o.amount
			WHEN s.contract = '' THEN -o.amount - o.fee ELSE -o.fee END)
		FROM sweeps s JOIN outgoing_tx o ON o.sweep = s.id WHERE s.wallet_id = a.wallet_id AND s.mode = 'live' AND s.network = $1
		AND o.state IN ('mined', 'final', 'failed') AND o.height <= $2), 0))::text
FROM unnest($3::text[], $4::text[]) AS a(address, wallet_id)
WHERE NOT EXISTS (SELECT FROM sweeps s JOIN outgoing_tx o ON o.sweep = s.id WHERE s.wallet_id = a.wallet_id AND s.mode = 'live' AND s.network = $1
	AND o.state IN ('planned', 'signed', 'broadcast'))`

	listBalanceSQL = `INSERT INTO unexplained_balances (mode, network, address, wallet_id, balance, expected, height)
VALUES ('live', $1, $2, $3, $4::text::numeric, $5::text::numeric, $6)
ON CONFLICT (mode, network, address) DO UPDATE SET balance = excluded.balance, expected = excluded.expected, height = excluded.height, compared_at = now()`

	forgetBalancesSQL = `DELETE FROM unexplained_balances WHERE mode = 'live' AND network = $1 AND address = ANY($2)`

	// An unclear hint is cleared once the address has its balance in the books.
	clearHintsSQL = `UPDATE hints SET state = 'nothing', reason = 'the balance of the address is explained', changed_at = now()
WHERE mode = 'live' AND network = $1 AND address = ANY($2) AND state = 'unclear'`

	endBatchSQL = `UPDATE balance_passes SET seq = $2, ended_at = CASE WHEN $3 THEN now() END, whole_at = CASE WHEN $3 THEN now() ELSE whole_at END
WHERE mode = 'live' AND network = $1`

	unexplainedSQL = `SELECT network, address, wallet_id, balance::text, expected::text, height, since, compared_at FROM unexplained_balances
WHERE mode = 'live' ORDER BY balance < expected DESC, abs(balance - expected) DESC LIMIT 1000`

	unexplainedCountsSQL = `SELECT network, CASE WHEN balance < expected THEN 'less' ELSE 'more' END, count(*) FROM unexplained_balances
WHERE mode = 'live' GROUP BY 1, 2`

	wholePassesSQL = `SELECT network, extract(epoch FROM coalesce(whole_at, began_at))::bigint FROM balance_passes WHERE mode = 'live'`
)

// Scanned implements unseen.Balances.
func (s *Store) Scanned(ctx context.Context, network string) (height, final int64, err error) {
	if err = s.pool.QueryRow(ctx, scannedSQL, network).Scan(&height, &final); err != nil {
		err = fmt.Errorf("reading the cursor of %s: %w", network, err)
	}
	return height, final, err
}

// OpenPass implements unseen.Balances.
func (s *Store) OpenPass(ctx context.Context, network string, every time.Duration) (p unseen.Pass, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, firstPassSQL, network); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, nextPassSQL, network, every); err != nil {
			return err
		}
		return tx.QueryRow(ctx, passSQL, network).Scan(&p.Seq, &p.Ended, &p.Age, &p.All)
	})
	if err != nil {
		return p, fmt.Errorf("opening a comparison of balances on %s: %w", network, err)
	}
	return p, nil
}

// After implements unseen.Balances.
func (s *Store) After(ctx context.Context, seq int64, most int) ([]unseen.Account, error) {
	return s.accounts(ctx, accountsAfterSQL, seq, most)
}

// Listed implements unseen.Balances.
func (s *Store) Listed(ctx context.Context, network string, rest time.Duration, most int) ([]unseen.Account, error) {
	return s.accounts(ctx, listedSQL, network, rest, most)
}

func (s *Store) accounts(ctx context.Context, sql string, args ...any) ([]unseen.Account, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("reading addresses to compare: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[unseen.Account])
}

// Expected implements unseen.Balances.
func (s *Store) Expected(ctx context.Context, network string, height int64, of []unseen.Account) (map[string]*big.Int, error) {
	addresses, wallets := make([]string, len(of)), make([]string, len(of))
	for i, a := range of {
		addresses[i], wallets[i] = a.Address, a.WalletID
	}
	rows, err := s.pool.Query(ctx, expectedSQL, network, height, addresses, wallets)
	if err != nil {
		return nil, fmt.Errorf("reading the expected balances: %w", err)
	}
	out := make(map[string]*big.Int, len(of))
	var address, text string
	_, err = pgx.ForEachRow(rows, []any{&address, &text}, func() (err error) {
		out[address], err = integer(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the expected balances: %w", err)
	}
	return out, nil
}

// Note implements unseen.Balances.
func (s *Store) Note(ctx context.Context, network string, height int64, differing, same []unseen.Compared) error {
	gone := make([]string, len(same))
	for i, c := range same {
		gone[i] = c.Address
	}
	var b pgx.Batch
	b.Queue(forgetBalancesSQL, network, gone)
	b.Queue(clearHintsSQL, network, gone)
	for _, c := range differing {
		b.Queue(listBalanceSQL, network, c.Address, c.WalletID, c.Balance.String(), c.Expected.String(), height)
	}
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("noting balances that differ: %w", err)
	}
	return nil
}

// EndBatch implements unseen.Balances.
func (s *Store) EndBatch(ctx context.Context, network string, seq int64, ended bool) error {
	_, err := s.pool.Exec(ctx, endBatchSQL, network, seq, ended)
	return err
}

// Unexplained is an address whose balance the books do not explain, as an operator is shown it.
type Unexplained struct {
	Network    string    `json:"network"`
	Address    string    `json:"address"`
	WalletID   string    `json:"walletId"`
	Balance    string    `json:"balance"`
	Expected   string    `json:"expected"`
	Height     int64     `json:"height"`
	Since      time.Time `json:"since"`
	ComparedAt time.Time `json:"comparedAt"`
}

// UnexplainedBalances lists addresses that differ: those that miss something first, then the largest.
func (s *Store) UnexplainedBalances(ctx context.Context) ([]Unexplained, error) {
	rows, err := s.pool.Query(ctx, unexplainedSQL)
	if err != nil {
		return nil, fmt.Errorf("reading unexplained balances: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Unexplained])
}

// UnexplainedCounts are the addresses that differ, by network and by whether they have more or less than the books say.
func (s *Store) UnexplainedCounts(ctx context.Context) (map[[2]string]int64, error) {
	rows, err := s.pool.Query(ctx, unexplainedCountsSQL)
	if err != nil {
		return nil, err
	}
	return countsByTwo(rows)
}

// WholePasses says when the last whole comparison of each network ended, in unix seconds.
func (s *Store) WholePasses(ctx context.Context) (map[string]int64, error) {
	return counts(ctx, s.pool, wholePassesSQL)
}

// counts reads a number for each network.
func counts(ctx context.Context, pool *pgxpool.Pool, sql string) (map[string]int64, error) {
	rows, err := pool.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	var network string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&network, &n}, func() error { out[network] = n; return nil })
	return out, err
}

// countsByTwo reads a number for each network and kind.
func countsByTwo(rows pgx.Rows) (map[[2]string]int64, error) {
	out := map[[2]string]int64{}
	var network, kind string
	var n int64
	_, err := pgx.ForEachRow(rows, []any{&network, &kind, &n}, func() error {
		out[[2]string{network, kind}] = n
		return nil
	})
	return out, err
}
