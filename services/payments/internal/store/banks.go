package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/banks"
	"causeway.internal/services/payments/internal/rail"
)

const (
	changedBanks = `SELECT rail, currency, banks, version FROM rail_banks b
WHERE NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[], $3::bigint[]) k (rail, currency, version)
	WHERE k.rail = b.rail AND k.currency = b.currency AND k.version = b.version)`
	insertBanks = `INSERT INTO rail_banks (rail, currency, banks) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	// The age of a list counts from its last reading, so it has a new version even where no bank has changed.
	updateBanks = `UPDATE rail_banks SET banks = $3, version = version + 1, read_at = now(), trusted = false WHERE rail = $1 AND currency = $2 AND version = $4`
	banksRead   = `SELECT rail, currency, version, trusted, jsonb_array_length(jsonb_path_query_array(banks, '$[*] ? (!(@.gone == true))')),
	extract(epoch FROM greatest(clock_timestamp() - read_at, interval '0'))::bigint FROM rail_banks ORDER BY rail, currency`
	trustBanks = `UPDATE rail_banks SET trusted = true WHERE rail = $1 AND currency = $2`
)

// KeptBanks implements banks.Store.
func (s *Store) KeptBanks(ctx context.Context, known map[banks.Place]int64) ([]banks.Kept, error) {
	rails, currencies, versions := []string{}, []string{}, []int64{}
	for p, version := range known {
		rails, currencies, versions = append(rails, p.Rail), append(currencies, string(p.Currency)), append(versions, version)
	}
	rows, err := s.pool.Query(ctx, changedBanks, rails, currencies, versions)
	if err != nil {
		return nil, fmt.Errorf("read the lists of banks: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k banks.Kept, err error) {
		var raw []byte
		if err = row.Scan(&k.Rail, &k.Currency, &raw, &k.Version); err == nil {
			err = json.Unmarshal(raw, &k.Banks)
		}
		return k, err
	})
	return found, wrap(err, "read the lists of banks")
}

// KeepBanks implements banks.Store.
func (s *Store) KeepBanks(ctx context.Context, p banks.Place, l rail.List, version int64) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a list of banks: %w", err)
	}
	statement, args := insertBanks, []any{p.Rail, string(p.Currency), raw}
	if version > 0 {
		statement, args = updateBanks, append(args, version)
	}
	tag, err := s.pool.Exec(ctx, statement, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return banks.ErrChanged
	}
	return wrap(err, "keep a list of banks")
}

// BanksRead implements banks.Store.
func (s *Store) BanksRead(ctx context.Context) (out []banks.Kept, err error) {
	err = s.BankLists(ctx, func(l BankList) error {
		out = append(out, banks.Kept{
			Place: banks.Place{Rail: l.Rail, Currency: l.Currency}, Version: l.Version, Trusted: l.Trusted, Age: time.Duration(l.Age) * time.Second,
		})
		return nil
	})
	return out, err
}

// BankList says of a kept list of banks how long it is and when it was read.
type BankList struct {
	Rail     string         `json:"rail"`
	Currency money.Currency `json:"currency"`
	Version  int64          `json:"version"`
	Trusted  bool           `json:"trusted"`
	Banks    int            `json:"banks"`
	Age      int64          `json:"ageSeconds"`
}

// BankLists shows each kept list of banks.
func (s *Store) BankLists(ctx context.Context, each func(BankList) error) error {
	var l BankList
	return s.whole(ctx, banksRead, []any{&l.Rail, &l.Currency, &l.Version, &l.Trusted, &l.Banks, &l.Age}, func() error { return each(l) })
}

// TrustBanks lets the next list of a rail be taken however short it is, and reports whether there is a list. It writes
// an audit entry.
func (s *Store) TrustBanks(ctx context.Context, p banks.Place, operator, reason string) (found bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, trustBanks, p.Rail, string(p.Currency))
		if found = err == nil && tag.RowsAffected() > 0; !found {
			return err
		}
		return s.audit(ctx, tx, operator, "banks.trusted", map[string]any{"rail": p.Rail, "currency": p.Currency, "reason": reason})
	})
	return found, wrap(err, "trust a list of banks")
}
