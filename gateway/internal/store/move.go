package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
)

// codes are shards as a row has them.
func codes(texts []string) (out []shard.Code) {
	for _, text := range texts {
		out = append(out, shard.Code(text))
	}
	return out
}

// errMovedBefore refuses a way back: the merchant's keys and references were given away there.
var errMovedBefore = errors.New("the merchant has been in this shard, and does not come back")

// Move makes a shard that of a merchant's new payments. open prepares it, with the merchant's shards so far and its
// terms, under a lock of the merchant, so that no change of the terms is missed. A repeated move changes nothing.
func (s *Store) Move(ctx context.Context, id string, to shard.Code, by audit.Entry, open func(n merchant.Notice) error) (shards []shard.Code, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var version int64
		var texts []string
		m, err := scanMerchant(tx.QueryRow(ctx, moveFromSQL, id), &version, &texts)
		if err != nil {
			return err
		}
		shards = codes(texts)
		switch at := slices.Index(shards, to); {
		case at >= 0 && at == len(shards)-1:
			return nil
		case at >= 0:
			return errMovedBefore
		}
		if err := open(merchant.NoticeOf(m, version, shards)); err != nil {
			return err
		}
		shards = append(shards, to)
		if _, err := tx.Exec(ctx, moveSQL, id, string(to)); err != nil {
			return fmt.Errorf("move the merchant: %w", err)
		}
		return writeAudit(ctx, tx, by)
	})
	return shards, err
}
