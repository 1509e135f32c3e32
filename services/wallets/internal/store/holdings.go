package store

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/scanner"
)

var _ holdings.Store = Refunds{}

const (
	clockSQL = `SELECT clock_timestamp()`

	// Sums over all history take longer than other statements may.
	longReadSQL = `SELECT set_config('statement_timeout', '5min', true)`

	// The accounts with money that no sweep has moved. Their deposits are in blocks up to $2; those of a sweep are final.
	// Money that a foreign transaction has taken is in the books, so its account is read, and the reading shows the loss.
	heldAccounts = `(SELECT d.address, d.asset, d.wallet_id FROM deposits d WHERE d.mode = 'live' AND d.network = $1 AND d.state <> 'reverted'
	AND d.sweep IS NULL AND d.height <= $2
UNION SELECT s.address, s.asset, s.wallet_id FROM sweeps s WHERE s.mode = 'live' AND s.network = $1 AND s.state IN ('open', 'blocked')
UNION SELECT s.address, s.asset, s.wallet_id FROM lost_sweeps l JOIN sweeps s ON s.id = l.sweep WHERE l.network = $1)`

	heldAccountsSQL = `SELECT c.address, c.asset, c.wallet_id FROM ` + heldAccounts + ` AS c
LEFT JOIN holdings h ON h.network = $1 AND h.address = c.address AND h.asset = c.asset
ORDER BY h.read_at NULLS FIRST, c.address, c.asset LIMIT $3`

	// A transaction that blocks up to $2 hold or may hold, and that is not booked. One that was mined may be; so may one
	// that no round of sweeping has looked for in these blocks. A blocked refund whose transaction is final stays as it is
	// until an operator decides: the reading shows it. One that a restore alone holds is booked once its block is final.
	unbookedSQL = `SELECT coalesce((SELECT o.id FROM outgoing_tx o LEFT JOIN refunds r ON r.id = o.refund
WHERE o.mode = 'live' AND o.network = $1 AND o.state IN ('planned', 'signed', 'broadcast', 'mined')
AND (o.state = 'mined' AND o.height <= $2 AND (NOT coalesce(r.blocked, false) OR r.reason = ` + restoredReason + `)
	OR o.state <> 'mined' AND NOT EXISTS (SELECT FROM sweep_rounds l
		WHERE l.network = $1 AND l.refunds = (o.refund IS NOT NULL) AND l.height >= $2))
ORDER BY o.created_at LIMIT 1), '')`

	// The books' balance of accounts after a block. The coin of an address pays for the sweeps that it sends itself; the
	// station pays on solana, and for a sweep with an authorization.
	expectedOfSQL = `SELECT a.place, (
	coalesce((SELECT sum(d.amount) FROM deposits d WHERE d.wallet_id = a.wallet_id AND d.mode = 'live' AND d.network = $1
		AND d.address = a.address AND d.asset = a.asset AND d.state <> 'reverted' AND d.height <= a.height), 0)
	- coalesce((SELECT sum(
			CASE WHEN o.kind = 'sweep' AND o.state = 'final' AND s.asset = a.asset THEN p.amount
				WHEN o.kind = 'fund' AND o.state = 'final' AND a.contract = '' THEN -p.amount ELSE 0 END
			+ CASE WHEN o.kind = 'sweep' AND a.contract = '' AND s.family <> 'solana' AND NOT o.authorized THEN p.fee ELSE 0 END)
		FROM sweeps s JOIN outgoing_parts p ON p.sweep = s.id JOIN outgoing_tx o ON o.id = p.outgoing
		WHERE s.wallet_id = a.wallet_id AND s.mode = 'live' AND s.network = $1 AND s.address = a.address
		AND o.state IN ('final', 'failed') AND o.height <= a.height), 0))::text
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[]) AS a(place, address, wallet_id, asset, contract, height)`

	keepHoldingSQL = `INSERT INTO holdings (network, address, asset, balance, expected, height, read_at)
VALUES ($1, $2, $3, $4::text::numeric, $5::text::numeric, $6, $7)
ON CONFLICT (network, address, asset) DO UPDATE SET balance = excluded.balance, expected = excluded.expected, height = excluded.height,
read_at = excluded.read_at`

	forgetHoldingsSQL = `DELETE FROM holdings h WHERE h.network = $1
AND NOT EXISTS (SELECT FROM ` + heldAccounts + ` AS c WHERE c.address = h.address AND c.asset = h.asset)`

	surplusSQL = `SELECT asset, sum(balance - expected)::text FROM holdings WHERE network = $1 GROUP BY asset`

	unreadSQL = `SELECT c.asset, count(*)::text FROM ` + heldAccounts + ` AS c LEFT JOIN holdings h
ON h.network = $1 AND h.address = c.address AND h.asset = c.asset WHERE h.address IS NULL GROUP BY c.asset`

	depositedSQL = `SELECT asset, sum(amount)::text FROM deposits WHERE mode = 'live' AND network = $1 AND state <> 'reverted' AND height <= $2
GROUP BY asset`

	// The books' balance of each place, without the transactions of later blocks. A sweep credits custody or payments with
	// the amount that left deposit addresses; gas_float came to them.
	bookedPlacesSQL = `SELECT e.asset, CASE WHEN e.account IN ('gas_float', 'custody', 'payments') THEN 'deposits' ELSE e.account END AS place,
	sum(e.debit - e.credit)::text
FROM custody_entries e JOIN custody_journals j ON j.key = e.journal
WHERE e.mode = 'live' AND e.network = $1 AND e.account IN ('custody', 'payments', 'treasury', 'gas_station', 'gas_float', 'refund_station')
AND (e.account NOT IN ('custody', 'payments') OR j.event IN ('swept', 'sweep_failed'))
AND split_part(e.journal, ':', 2) NOT IN (SELECT id FROM outgoing_tx
	WHERE mode = 'live' AND network = $1 AND state IN ('final', 'failed') AND height > $2)
GROUP BY 1, 2`

	// The money of standalone wallets, wherever it is.
	ofMerchantsSQL = `SELECT asset, sum(debit - credit)::text FROM custody_entries WHERE mode = 'live' AND network = $1 AND merchant_id <> ''
AND account IN ('custody', 'treasury', 'gas_station', 'gas_float', 'refund_station') GROUP BY asset`
)

// Time implements holdings.Store.
func (s Refunds) Time(ctx context.Context) (now time.Time, err error) {
	if err = s.pool.QueryRow(ctx, clockSQL).Scan(&now); err != nil {
		return now, fmt.Errorf("reading the clock: %w", err)
	}
	return now.UTC(), nil
}

// HashAt implements holdings.Store.
func (s Refunds) HashAt(ctx context.Context, network string, height int64) (string, error) {
	h, _, err := s.Header(ctx, scanner.Chain{Mode: tenant.Live, Network: network}, height)
	return h.Hash, err
}

// HeldAccounts implements holdings.Store.
func (s Refunds) HeldAccounts(ctx context.Context, network string, through int64, most int) ([]holdings.Account, error) {
	rows, err := s.pool.Query(ctx, heldAccountsSQL, network, through, most)
	if err != nil {
		return nil, fmt.Errorf("reading the addresses with money: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (holdings.Account, error) {
		a := holdings.Account{Place: holdings.Deposits}
		err := row.Scan(&a.Address, &a.Asset, &a.WalletID)
		return a, err
	})
}

// SendHoldings implements holdings.Store.
func (s Refunds) SendHoldings(ctx context.Context, r holdings.Reading) (waits string, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, longReadSQL); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, unbookedSQL, r.Network, r.Height()).Scan(&waits); err != nil || waits != "" {
			return err
		}
		if err := keepHoldings(ctx, tx, r); err != nil {
			return err
		}
		read, err := compare(ctx, tx, r)
		if err != nil {
			return err
		}
		m, err := s.messages.HoldingsRead(ctx, read)
		if err != nil {
			return err
		}
		return outbox.Insert(ctx, tx, m)
	})
	if err != nil {
		return "", fmt.Errorf("comparing what %s has with the books: %w", r.Network, err)
	}
	if waits == "" {
		s.wake()
	}
	return waits, nil
}

// keepHoldings writes the balances of deposit addresses with what the books expect of them, and forgets addresses whose
// money has been moved.
func keepHoldings(ctx context.Context, tx pgx.Tx, r holdings.Reading) error {
	var places, heights []int64
	var addresses, wallets, assets, contracts []string
	for i, b := range r.Balances {
		if b.Place == holdings.Deposits {
			places, heights = append(places, int64(i)), append(heights, b.Height)
			addresses, wallets = append(addresses, b.Address), append(wallets, b.WalletID)
			assets, contracts = append(assets, b.Asset), append(contracts, b.Contract)
		}
	}
	rows, err := tx.Query(ctx, expectedOfSQL, r.Network, places, addresses, wallets, assets, contracts, heights)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	var place int64
	var expected string
	_, err = pgx.ForEachRow(rows, []any{&place, &expected}, func() error {
		b := r.Balances[place]
		batch.Queue(keepHoldingSQL, r.Network, b.Address, b.Asset, b.Amount.String(), expected, b.Height, r.At)
		return nil
	})
	if err != nil {
		return err
	}
	batch.Queue(forgetHoldingsSQL, r.Network, r.Through)
	return tx.SendBatch(ctx, &batch).Close()
}

// byAsset adds up the amounts that a query has for each asset.
func byAsset(ctx context.Context, tx pgx.Tx, sql string, args ...any) (map[string]*big.Int, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out := map[string]*big.Int{}
	var asset, text string
	_, err = pgx.ForEachRow(rows, []any{&asset, &text}, func() (err error) {
		out[asset], err = integer(text)
		return err
	})
	return out, err
}

// compare makes the message about a reading. On deposit addresses the books have all that was never read, and the
// balances that were read say how far they are wrong.
func compare(ctx context.Context, tx pgx.Tx, r holdings.Reading) (out wire.HoldingsRead, err error) {
	out = wire.HoldingsRead{Mode: tenant.Live, Network: r.Network, ReadAt: r.At}
	expected := map[holdings.Place]map[string]*big.Int{}
	deposited, err := byAsset(ctx, tx, depositedSQL, r.Network, r.Settled())
	if err != nil {
		return out, err
	}
	expected[holdings.Deposits] = deposited
	if err := bookedPlaces(ctx, tx, r, expected); err != nil {
		return out, err
	}
	sums := map[string]map[string]*big.Int{}
	for _, sql := range []string{surplusSQL, ofMerchantsSQL} {
		if sums[sql], err = byAsset(ctx, tx, sql, r.Network); err != nil {
			return out, err
		}
	}
	if sums[unreadSQL], err = byAsset(ctx, tx, unreadSQL, r.Network, r.Through); err != nil {
		return out, err
	}
	for _, asset := range r.Assets {
		h := wire.Holding{Asset: asset, Standalone: sum(sums[ofMerchantsSQL][asset]).String(), Unread: sum(sums[unreadSQL][asset]).Int64()}
		h.Expected = sum(expected[holdings.Deposits][asset], expected[holdings.Treasury][asset], expected[holdings.GasStation][asset],
			expected[holdings.RefundStation][asset]).String()
		h.Deposits = sum(expected[holdings.Deposits][asset], sums[surplusSQL][asset]).String()
		for place, text := range map[holdings.Place]*string{
			holdings.Treasury: &h.Treasury, holdings.GasStation: &h.GasStation, holdings.RefundStation: &h.RefundStation,
		} {
			if !r.Unknown[place] {
				*text = r.Has(place, asset).String()
			}
		}
		out.Holdings = append(out.Holdings, h)
	}
	return out, nil
}

// bookedPlaces adds the balances of the books at the settled block of a reading.
func bookedPlaces(ctx context.Context, tx pgx.Tx, r holdings.Reading, expected map[holdings.Place]map[string]*big.Int) error {
	rows, err := tx.Query(ctx, bookedPlacesSQL, r.Network, r.Settled())
	if err != nil {
		return err
	}
	var asset, text string
	var place holdings.Place
	_, err = pgx.ForEachRow(rows, []any{&asset, &place, &text}, func() error {
		amount, err := integer(text)
		if expected[place] == nil {
			expected[place] = map[string]*big.Int{}
		}
		expected[place][asset] = sum(expected[place][asset], amount)
		return err
	})
	return err
}

// sum adds amounts, of which nil is zero.
func sum(of ...*big.Int) *big.Int {
	out := new(big.Int)
	for _, n := range of {
		if n != nil {
			out.Add(out, n)
		}
	}
	return out
}
