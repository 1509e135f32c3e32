package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/simulated"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ simulated.Ledger = (*Store)(nil)

const (
	simStateSQL = `SELECT n.height, n.mine_until, clock_timestamp() - n.mined_at,
EXISTS (SELECT FROM sim_transfers t WHERE t.network = n.network AND t.height IS NULL AND NOT t.dropped) FROM sim_networks n WHERE n.network = $1`

	simWaitingSQL = `SELECT DISTINCT network FROM sim_transfers WHERE height IS NULL AND NOT dropped`

	// A row for the network before its first block; its lock orders the makers of blocks.
	simOpenSQL = `INSERT INTO sim_networks (network, height, mine_until, mined_at) VALUES ($1, -1, 0, now()) ON CONFLICT DO NOTHING`
	simLockSQL = `SELECT height FROM sim_networks WHERE network = $1 FOR UPDATE`

	simBlockSQL = `INSERT INTO sim_blocks (network, height, hash, parent, time)
SELECT $1, $2, $3, coalesce(p.hash, ''), greatest(clock_timestamp(), p.time)
FROM (SELECT 1) AS one LEFT JOIN sim_blocks p ON p.network = $1 AND p.height = $2 - 1`

	simIncludeSQL = `UPDATE sim_transfers SET height = $2 WHERE network = $1 AND height IS NULL AND NOT dropped AND returns_at <= $2
RETURNING greatest(confirmations, leaves_after + 1)`

	// The block of a transfer leaves the chain for that transfer alone: other merchants' transfers in it stay.
	simLeaveSQL = `UPDATE sim_transfers t SET height = NULL, dropped = NOT t.returns, leaves_after = 0, returns_at = n.height + $3
FROM sim_networks n WHERE n.network = t.network AND t.network = $1 AND t.leaves_after > 0 AND t.height + t.leaves_after <= $2 RETURNING t.tx_hash`

	simOrphanedSQL = `UPDATE transfers SET orphaned_at = now() WHERE mode = $1 AND network = $2 AND tx_hash = ANY($3) AND orphaned_at IS NULL`

	simGrowSQL = `UPDATE sim_networks SET height = $2, mine_until = greatest(mine_until, $3), mined_at = clock_timestamp() WHERE network = $1
RETURNING height, mine_until`

	simPruneSQL = `DELETE FROM sim_blocks WHERE network = $1 AND height < $2`

	simHeadSQL = `SELECT b.height, b.hash, b.parent, b.time FROM sim_networks n JOIN sim_blocks b ON b.network = n.network AND b.height = n.height
WHERE n.network = $1`
	simHeaderSQL = `SELECT height, hash, parent, time FROM sim_blocks WHERE network = $1 AND height = $2`

	simTransfersSQL = `SELECT tx_hash, key, asset, contract, amount::text, sender FROM sim_transfers WHERE network = $1 AND height = $2 ORDER BY tx_hash`

	simDepositsSQL = `INSERT INTO sim_transfers (request_id, network, tx_hash, key, asset, contract, amount, sender, confirmations, leaves_after, returns)
SELECT request_id, network, tx_hash, key, asset, contract, amount::numeric, sender, confirmations, leaves_after, returns
FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::boolean[])
AS d(request_id, network, tx_hash, key, asset, contract, amount, sender, confirmations, leaves_after, returns)
ORDER BY request_id ON CONFLICT (request_id) DO NOTHING`

	simCutSQL = `DELETE FROM sim_blocks WHERE network = $1 AND height > $2`

	simOrphanSQL = `UPDATE sim_transfers SET height = NULL, dropped = $3 WHERE network = $1 AND height > $2`

	notOfTestSQL = `SELECT place - 1 FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k(family, test, live, place)
WHERE NOT EXISTS (SELECT FROM addresses a WHERE a.mode = 'test' AND a.family = k.family AND a.address = k.test OFFSET 0)
OR EXISTS (SELECT FROM addresses a WHERE a.mode = 'live' AND a.family = k.family AND a.address = k.live OFFSET 0) ORDER BY place`
)

// simKeep is how many blocks a simulated chain keeps; more than a scanner may ever go back.
const simKeep = 16_384

// SimState implements simulated.Ledger.
func (s *Store) SimState(ctx context.Context, network string) (st simulated.State, err error) {
	err = s.pool.QueryRow(ctx, simStateSQL, network).Scan(&st.Height, &st.MineUntil, &st.Age, &st.Waiting)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && st.Height < 0) {
		return s.simGenesis(ctx, network)
	}
	return st, err
}

// SimWaiting lists the simulated networks on which a deposit waits for a block.
func (s *Store) SimWaiting(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, simWaitingSQL)
	if err != nil {
		return nil, fmt.Errorf("look for simulated deposits: %w", err)
	}
	networks, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for simulated deposits: %w", err)
	}
	return networks, nil
}

// simGenesis makes block 0 of a chain that does not exist yet.
func (s *Store) simGenesis(ctx context.Context, network string) (simulated.State, error) {
	if _, err := s.pool.Exec(ctx, simOpenSQL, network); err != nil {
		return simulated.State{}, err
	}
	var st simulated.State
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var height int64
		if err := tx.QueryRow(ctx, simLockSQL, network).Scan(&height); err != nil {
			return err
		}
		if height >= 0 {
			st.Height = height
			return nil
		}
		var err error
		st, err = simGrow(ctx, tx, network, 0, "genesis of "+network)
		return err
	})
	return st, err
}

// SimMine implements simulated.Ledger.
func (s *Store) SimMine(ctx context.Context, network, hash string) (st simulated.State, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		var height int64
		if err := tx.QueryRow(ctx, simLockSQL, network).Scan(&height); err != nil {
			return err
		}
		st, err = simGrow(ctx, tx, network, height+1, hash)
		if err == nil && height%1024 == 0 && height > simKeep {
			_, err = tx.Exec(ctx, simPruneSQL, network, height-simKeep)
		}
		return err
	})
	return st, err
}

// simGrow adds a block with every waiting transfer. The network's row must be locked.
func simGrow(ctx context.Context, tx pgx.Tx, network string, height int64, hash string) (st simulated.State, err error) {
	if _, err := tx.Exec(ctx, simBlockSQL, network, height, hash); err != nil {
		return st, fmt.Errorf("adding block %d: %w", height, err)
	}
	var until, confirmations int64
	if height > 0 { // nobody scans the first block, so it holds nothing
		if err := postgres.Planned(ctx, tx, postgres.InOrderSQL, func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&confirmations}, func() error {
				until = max(until, height+confirmations-1)
				return nil
			})
			return err
		}, simIncludeSQL, network, height); err != nil {
			return st, fmt.Errorf("filling block %d: %w", height, err)
		}
	}
	err = tx.QueryRow(ctx, simGrowSQL, network, height, until).Scan(&st.Height, &st.MineUntil)
	return st, err
}

// SimHead implements simulated.Ledger.
func (s *Store) SimHead(ctx context.Context, network string) (h chain.Header, err error) {
	read := func() error {
		return s.pool.QueryRow(ctx, simHeadSQL, network).Scan(&h.Height, &h.Hash, &h.Parent, &h.Time)
	}
	if err = read(); !errors.Is(err, pgx.ErrNoRows) {
		return h, err
	}
	if _, err := s.simGenesis(ctx, network); err != nil {
		return h, err
	}
	return h, read()
}

// SimHeader implements simulated.Ledger.
func (s *Store) SimHeader(ctx context.Context, network string, height int64) (h chain.Header, found bool, err error) {
	err = s.pool.QueryRow(ctx, simHeaderSQL, network, height).Scan(&h.Height, &h.Hash, &h.Parent, &h.Time)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, false, nil
	}
	return h, err == nil, err
}

// SimTransfers implements simulated.Ledger.
func (s *Store) SimTransfers(ctx context.Context, network string, height int64) ([]chain.Transfer, error) {
	rows, err := s.pool.Query(ctx, simTransfersSQL, network, height)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t chain.Transfer, err error) {
		var amount, sender string
		if err := row.Scan(&t.TxHash, &t.To, &t.Asset, &t.Contract, &amount, &sender); err != nil {
			return t, err
		}
		var ok bool
		if t.Amount, ok = new(big.Int).SetString(amount, 10); !ok {
			return t, fmt.Errorf("amount %q is not an integer", amount)
		}
		t.Senders = []string{sender}
		return t, nil
	})
}

// SimFork implements simulated.Ledger.
func (s *Store) SimFork(ctx context.Context, network string, above int64, drop bool, hash func() string) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		var height int64
		if err := tx.QueryRow(ctx, simLockSQL, network).Scan(&height); err != nil {
			return err
		}
		if above < 0 || above >= height {
			return fmt.Errorf("the chain has no blocks above %d: it ends at %d", above, height)
		}
		if _, err := tx.Exec(ctx, simCutSQL, network, above); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, simOrphanSQL, network, above, drop); err != nil {
			return err
		}
		for at := above + 1; at <= height; at++ {
			if _, err := tx.Exec(ctx, simBlockSQL, network, at, hash()); err != nil {
				return err
			}
		}
		_, err := simGrow(ctx, tx, network, height+1, hash())
		return err
	})
}

// Simulate puts deposits on simulated chains, each once per request id. The same transaction records the messages that
// asked for them, one for each; nil means that no message did.
func (s *Store) Simulate(ctx context.Context, messageIDs []string, deposits []wallet.Simulated) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		if messageIDs == nil {
			return simDeposits(ctx, tx, deposits)
		}
		fresh, err := inbox.FreshOf(ctx, tx, messageIDs)
		if err != nil {
			return err
		}
		var wanted []wallet.Simulated
		for n, id := range messageIDs {
			if fresh[id] {
				wanted = append(wanted, deposits[n])
			}
		}
		return simDeposits(ctx, tx, wanted)
	})
}

func simDeposits(ctx context.Context, tx pgx.Tx, deposits []wallet.Simulated) error {
	if len(deposits) == 0 {
		return nil
	}
	var ids, networks, hashes, assets, contracts, amounts, senders []string
	var keys [][]byte
	var confirmations, leaves []int64
	var returns []bool
	for _, d := range deposits {
		ids, networks, hashes, keys = append(ids, d.RequestID), append(networks, d.Network), append(hashes, d.TxHash), append(keys, d.To)
		assets, contracts, amounts = append(assets, d.Asset), append(contracts, d.Contract), append(amounts, d.Amount.String())
		senders, confirmations = append(senders, d.Sender), append(confirmations, d.Confirmations)
		leaves, returns = append(leaves, d.LeavesAfter), append(returns, d.Returns)
	}
	_, err := tx.Exec(ctx, simDepositsSQL, ids, networks, hashes, keys, assets, contracts, amounts, senders, confirmations, leaves, returns)
	return err
}

// simReturnAfter is how many blocks a transfer whose block has left the chain waits for another one: long enough for a
// merchant to see it gone.
const simReturnAfter = 20

// simLeave takes transfers out of a simulated chain that were to stay so long only, and returns their deposits as
// reverted: what a reorganisation does, to these transfers alone.
func (s *Store) simLeave(ctx context.Context, tx pgx.Tx, c scanner.Chain, tip int64) (reverted []wallet.Deposit, err error) {
	if c.Mode != tenant.Test {
		return nil, nil
	}
	rows, err := tx.Query(ctx, simLeaveSQL, c.Network, tip, simReturnAfter)
	if err != nil {
		return nil, fmt.Errorf("taking transfers out of a simulated chain: %w", err)
	}
	hashes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	if _, err := tx.Exec(ctx, simOrphanedSQL, c.Mode, c.Network, hashes); err != nil {
		return nil, fmt.Errorf("marking transfers: %w", err)
	}
	left := make([]wallet.Sighting, len(hashes))
	for i, hash := range hashes {
		left[i].TxHash = hash
	}
	known, err := s.known(ctx, tx, c, left)
	if err != nil {
		return nil, err
	}
	for _, d := range known {
		if next, ok := d.Revert(tip); ok {
			reverted = append(reverted, next)
		}
	}
	return reverted, s.putDeposits(ctx, tx, reverted)
}

// NotOfTest returns the places of the addresses that were not issued in test mode alone.
func (s *Store) NotOfTest(ctx context.Context, addresses []wallet.Spelling) (places []int, err error) {
	families, tests, lives := make([]string, len(addresses)), make([]string, len(addresses)), make([]string, len(addresses))
	for n, a := range addresses {
		families[n], tests[n], lives[n] = string(a.Family), a.Test, a.Live
	}
	rows, err := s.pool.Query(ctx, notOfTestSQL, families, tests, lives)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}
