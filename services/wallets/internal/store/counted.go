package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/wallets/internal/wallet"
)

// The first values stay, but for the contract while the decimals are the same. The last part reads the rows as they
// were before the statement, for the contracts of before.
const countAssetsSQL = `WITH kept AS (
	INSERT INTO counted_assets AS c (mode, network, asset, contract, decimals)
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[]) ORDER BY 1, 2, 3
	ON CONFLICT (mode, network, asset) DO UPDATE
	SET contract = CASE WHEN c.decimals = excluded.decimals THEN excluded.contract ELSE c.contract END
	RETURNING mode, network, asset, contract, decimals
)
SELECT kept.mode, kept.network, kept.asset, coalesce(c.contract, kept.contract), kept.decimals
FROM kept LEFT JOIN counted_assets c USING (mode, network, asset)`

// CountAssets records new assets and changed contracts, and returns the earlier record of each asset, or the present
// one of a new asset. Decimals, once recorded, never change.
func (s *Store) CountAssets(ctx context.Context, now []wallet.Counted) ([]wallet.Counted, error) {
	var modes, networks, assets, contracts []string
	var decimals []int32
	for _, c := range now {
		modes, networks, assets = append(modes, string(c.Mode)), append(networks, c.Network), append(assets, c.Asset)
		contracts, decimals = append(contracts, c.Contract), append(decimals, c.Decimals)
	}
	rows, err := s.pool.Query(ctx, countAssetsSQL, modes, networks, assets, contracts, decimals)
	if err != nil {
		return nil, fmt.Errorf("recording the decimals of assets: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[wallet.Counted])
}
