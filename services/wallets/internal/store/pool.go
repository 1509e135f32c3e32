package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ keys.Store = (*Store)(nil)

const (
	placeSQL = `SELECT next_index, last_seq FROM counters WHERE mode = $1 AND family = $2 FOR UPDATE`

	// The next of the stock; the caller has locked the counter.
	stockSQL = `SELECT idx, key, address FROM address_pool WHERE mode = $1 AND family = $2 AND idx >= $3 AND idx < $4 ORDER BY idx LIMIT $5`

	addPooledSQL = `INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
SELECT $1, $2, $3 + o - 1, 0, i, k, a, w
FROM unnest($4::bigint[], $5::bytea[], $6::text[], $7::text[]) WITH ORDINALITY AS n(i, k, a, w, o)`

	batchSQL = `SELECT count, public_key, signature FROM address_batches WHERE mode = $1 AND family = $2 AND first_idx = $3`

	addBatchSQL = `INSERT INTO address_batches (mode, family, first_idx, count, public_key, signature) VALUES ($1, $2, $3, $4, $5, $6)`

	addStockSQL = `INSERT INTO address_pool (mode, family, idx, key, address)
SELECT $1, $2, $3 + o - 1, k, a FROM unnest($4::bytea[], $5::text[]) WITH ORDINALITY AS n(k, a, o)`

	// Addresses of a batch that were handed out before it was imported: only a restore brings that about.
	//nolint:gosec // a statement
	passedSQL = `SELECT p.idx, p.key, p.address FROM address_pool p WHERE p.mode = $1 AND p.family = $2 AND p.idx >= $3 AND p.idx < $4
AND NOT EXISTS (SELECT FROM addresses a WHERE a.mode = p.mode AND a.family = p.family AND a.account = 0 AND a.idx = p.idx) ORDER BY p.idx`

	strangeSQL = `SELECT count(*) FROM address_pool p JOIN addresses a ON a.mode = p.mode AND a.family = p.family AND a.address = p.address
WHERE p.mode = $1 AND p.family = $2 AND p.idx >= $3 AND p.idx < $4 AND a.idx <> p.idx`

	leftSQL = `SELECT count(*) FROM address_pool p JOIN counters c ON c.mode = p.mode AND c.family = p.family
WHERE p.mode = $1 AND p.family = $2 AND p.idx >= c.next_index`

	stockAtSQL = `SELECT idx, address FROM address_pool WHERE mode = $1 AND family = $2 AND idx = ANY($3)`
)

// pooled is one address of the stock.
type pooled struct {
	idx  int64
	key  []byte
	text string
}

// counter is a slot's counter, whose row is locked.
type counter struct {
	wallet.Slot
	next int64 // index
	seq  int64 // of the last address
}

func stock(rows pgx.Rows) ([]pooled, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p pooled, err error) {
		err = row.Scan(&p.idx, &p.key, &p.text)
		return p, err
	})
}

// take issues the next addresses of the stock under the counter's row lock and stores them as wallets of the given ids.
// It fails with wallet.ErrNoStock and changes nothing when there are not enough.
func (s *Store) take(ctx context.Context, tx pgx.Tx, slot wallet.Slot, ids []string) (first int64, list []pooled, err error) {
	at := counter{Slot: slot}
	if err := tx.QueryRow(ctx, placeSQL, slot.Mode, slot.Family).Scan(&at.next, &at.seq); err != nil {
		return 0, nil, fmt.Errorf("locking the counter: %w", err)
	}
	rows, err := tx.Query(ctx, stockSQL, slot.Mode, slot.Family, at.next, maxIndex, len(ids))
	if err == nil {
		list, err = stock(rows)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("reading the stock: %w", err)
	}
	if len(list) < len(ids) {
		return 0, nil, wallet.ErrNoStock
	}
	return at.seq + 1, list, s.watchStock(ctx, tx, at, list, ids, list[len(list)-1].idx+1)
}

const maxIndex = 1 << 31

// watchStock stores addresses of the stock as watched ones and moves the counter to the next index.
func (s *Store) watchStock(ctx context.Context, tx pgx.Tx, at counter, list []pooled, ids []string, next int64) error {
	indices, keys, texts := make([]int64, len(list)), make([][]byte, len(list)), make([]string, len(list))
	for i, p := range list {
		indices[i], keys[i], texts[i] = p.idx, p.key, p.text
	}
	if _, err := tx.Exec(ctx, jumpSQL, at.Mode, at.Family, next, at.seq+int64(len(list))); err != nil {
		return fmt.Errorf("moving the counter: %w", err)
	}
	if _, err := tx.Exec(ctx, addPooledSQL, at.Mode, at.Family, at.seq+1, indices, keys, texts, ids); err != nil {
		return fmt.Errorf("storing addresses: %w", err)
	}
	return nil
}

func (s *Store) newIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = id.New(id.Wallet, s.now())
	}
	return ids
}

// importPage bounds one statement of an import.
const importPage = 10_000

// ErrOtherBatch means that another batch with the same first index was imported before.
var ErrOtherBatch = errors.New("another batch that begins at the same index was imported before")

// ImportBatch implements keys.Store. It ignores a repeated batch, and refuses a whole batch that overlaps another or
// holds an address that was issued under another index.
func (s *Store) ImportBatch(ctx context.Context, b wallet.Batch) (fresh bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, jumpPatientSQL); err != nil {
			return err
		}
		at := counter{Slot: b.Slot}
		if err := tx.QueryRow(ctx, placeSQL, b.Mode, b.Family).Scan(&at.next, &at.seq); err != nil {
			return err
		}
		var count int
		var key, signature []byte
		err := tx.QueryRow(ctx, batchSQL, b.Mode, b.Family, b.From).Scan(&count, &key, &signature)
		if fresh = errors.Is(err, pgx.ErrNoRows); err == nil {
			if count != len(b.Addresses) || !bytes.Equal(key, b.PublicKey) || !bytes.Equal(signature, b.Signature) {
				return ErrOtherBatch
			}
			return nil
		}
		if !fresh {
			return err
		}
		if _, err := tx.Exec(ctx, addBatchSQL, b.Mode, b.Family, b.From, len(b.Addresses), b.PublicKey, b.Signature); err != nil {
			return err
		}
		for first := 0; first < len(b.Addresses); first += importPage {
			end := min(first+importPage, len(b.Addresses))
			if _, err := tx.Exec(ctx, addStockSQL, b.Mode, b.Family, b.From+int64(first), b.Keys[first:end], b.Addresses[first:end]); err != nil {
				return err
			}
		}
		var strange int64
		if err := tx.QueryRow(ctx, strangeSQL, b.Mode, b.Family, b.From, b.From+int64(len(b.Addresses))).Scan(&strange); err != nil {
			return err
		}
		if strange > 0 {
			return fmt.Errorf("%d of its addresses were issued under another index", strange)
		}
		return s.watchPassed(ctx, tx, b, at)
	})
	if err != nil {
		return false, fmt.Errorf("importing addresses from index %d: %w", b.From, err)
	}
	return fresh, nil
}

// watchPassed watches the addresses of the batch below the next index: they may have been issued before a restore.
func (s *Store) watchPassed(ctx context.Context, tx pgx.Tx, b wallet.Batch, at counter) error {
	end := min(at.next, b.From+int64(len(b.Addresses)))
	if end <= b.From {
		return nil
	}
	rows, err := tx.Query(ctx, passedSQL, b.Mode, b.Family, b.From, end)
	if err != nil {
		return err
	}
	list, err := stock(rows)
	if err != nil || len(list) == 0 {
		return err
	}
	return s.watchStock(ctx, tx, at, list, s.newIDs(len(list)), at.next)
}

// Left implements keys.Store.
func (s *Store) Left(ctx context.Context, slot wallet.Slot) (n int64, err error) {
	if err = s.pool.QueryRow(ctx, leftSQL, slot.Mode, slot.Family).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting the stock: %w", err)
	}
	return n, nil
}

// Imported implements keys.Store.
func (s *Store) Imported(ctx context.Context, slot wallet.Slot, indices []int64) (map[int64]string, error) {
	rows, err := s.pool.Query(ctx, stockAtSQL, slot.Mode, slot.Family, indices)
	if err != nil {
		return nil, fmt.Errorf("reading the stock: %w", err)
	}
	out := map[int64]string{}
	var idx int64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&idx, &text}, func() error {
		out[idx] = text
		return nil
	})
	return out, err
}
