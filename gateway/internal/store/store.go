// Package store keeps the gateway's keys and audit in PostgreSQL. It is the only package of the gateway with SQL, and
// makes no decisions.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// Channel carries notifications of changed keys; the payload is the key's id (migration 00003).
const Channel = "api_keys"

// Store implements apikey.Store and apikey.Source on a pool.
type Store struct{ pool *pgxpool.Pool }

// New makes a store.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// keyColumns are the columns that scan reads, of api_keys k and api_key_secrets s.
const keyColumns = `k.id, s.public_key, k.merchant_id, k.kind, k.name, k.mode, k.permissions, k.allowed_cidrs, k.tier,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at, s.until,
	coalesce((SELECT m.shard FROM merchant_shards m WHERE m.merchant_id = k.merchant_id), '` + string(shard.First) + `'),
	ARRAY(SELECT v.shard FROM merchant_moves v WHERE v.merchant_id = k.merchant_id ORDER BY v.moved_at),
	(SELECT count(*) FROM merchant_moves v WHERE v.merchant_id = k.merchant_id AND v.moved_at > now() - interval '` + apikey.KeysLast + `'),
	(SELECT m.status FROM merchants m WHERE m.merchant_id = k.merchant_id), (SELECT m.networks FROM merchants m WHERE m.merchant_id = k.merchant_id)`

// The statements of this package; a test prepares each on a migrated database.
const (
	bySecretSQL = `SELECT ` + keyColumns + ` FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.digest = ANY($1)`

	byPublicSQL = `SELECT ` + keyColumns + `, s.signing_key FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.public_key = $1`

	// The merchant's row is the lock of two first keys at once. A key without a row is of an earlier release.
	placeSQL = `INSERT INTO merchant_shards (merchant_id, shard)
SELECT $1::text, CASE WHEN EXISTS (SELECT FROM api_keys WHERE merchant_id = $1) THEN '` + string(shard.First) + `' ELSE $2::text END
ON CONFLICT DO NOTHING`

	shardSQL = `SELECT shard FROM merchant_shards WHERE merchant_id = $1`

	insertKeySQL = `INSERT INTO api_keys (merchant_id, name, mode, permissions, allowed_cidrs, tier, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id, created_at`

	//nolint:gosec // a statement
	insertSecretSQL = `INSERT INTO api_key_secrets (digest, pepper_id, key_id, public_key, signing_key) VALUES ($1, $2, $3, $4, $5)`

	insertAuditSQL = `INSERT INTO audit (actor, act, object, request_id, client_ip, detail) VALUES ($1, $2, $3, $4, $5, $6)`

	revokeSQL = `UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL`

	getSQL = `SELECT ` + keyColumns + ` FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id AND s.until IS NULL WHERE k.id = $1`

	listSQL = `SELECT ` + keyColumns + ` FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id AND s.until IS NULL
WHERE ($1 = '' OR k.merchant_id = $1) AND ($2 = '' OR k.mode = $2) AND ($3 = 0 OR k.id < $3)
ORDER BY k.id DESC LIMIT $4`

	usedSQL = `UPDATE api_keys k SET last_used_at = u.at FROM unnest($1::bigint[], $2::timestamptz[]) AS u(id, at)
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`

	prepareAuditSQL = `SELECT audit_prepare()`
)

// BySecret implements apikey.Source.
func (s *Store) BySecret(ctx context.Context, digests []apikey.Digest) (*apikey.Key, error) {
	key, err := scan(s.pool.QueryRow(ctx, bySecretSQL, bytesOf(digests)))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // the interface says so: no key and no fault
	}
	if err != nil {
		return nil, err
	}
	return &key, nil
}

func bytesOf(digests []apikey.Digest) [][]byte {
	raw := make([][]byte, len(digests))
	for i := range digests {
		raw[i] = digests[i][:]
	}
	return raw
}

// ByPublic implements apikey.Source.
func (s *Store) ByPublic(ctx context.Context, publicKey string) (*apikey.Key, []byte, error) {
	var sealed []byte
	key, err := scan(s.pool.QueryRow(ctx, byPublicSQL, publicKey), &sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return &key, sealed, nil
}

// scan reads keyColumns, and the columns that are selected after them.
func scan(row pgx.Row, more ...any) (k apikey.Key, err error) {
	var mode, tier, home string
	var moves []string
	var expires, revoked, used, until *time.Time
	err = row.Scan(append([]any{
		&k.ID, &k.PublicKey, &k.MerchantID, &k.Kind, &k.Name, &mode, &k.Permissions, &k.AllowedCIDRs, &tier,
		&k.CreatedAt, &expires, &revoked, &used, &until, &home, &moves, &k.Recent, (*string)(&k.Merchant.Status), &k.Merchant.Networks,
	}, more...)...)
	if err != nil {
		return apikey.Key{}, err
	}
	k.Mode, k.Tier, k.Shard, k.Moves = tenant.Mode(mode), apikey.Tier(tier), shard.Code(home), codes(moves)
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.SecretUntil = value(expires), value(revoked), value(used), value(until)
	return k.Compiled(), nil
}

func value(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func null(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Insert implements apikey.Store: the key, its secret, the audit entry and the stored answer in one transaction. A test
// key makes the draft of a merchant who is not known.
func (s *Store) Insert(ctx context.Context, k apikey.Key, secrets apikey.Secrets, by audit.Entry,
	answer func(apikey.Key) (idempotency.Key, idempotency.Answer, error),
) (apikey.Key, error) {
	cidrs := k.AllowedCIDRs
	if cidrs == nil {
		cidrs = []netip.Prefix{}
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := place(ctx, tx, &k); err != nil {
			return err
		}
		if err := mayHaveKey(ctx, tx, k, by); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, insertKeySQL, k.MerchantID, k.Name, string(k.Mode), k.Permissions, cidrs, string(k.Tier), null(k.ExpiresAt)).
			Scan(&k.ID, &k.CreatedAt)
		if err != nil {
			return fmt.Errorf("insert the key: %w", err)
		}
		if _, err := tx.Exec(ctx, insertSecretSQL, secrets.Digest[:], secrets.PepperID, k.ID, secrets.PublicKey, secrets.SigningKey); err != nil {
			return fmt.Errorf("insert the secret: %w", err)
		}
		entry := by
		entry.Object = "key:" + strconv.FormatInt(k.ID, 10)
		if err := writeAudit(ctx, tx, entry); err != nil {
			return err
		}
		once, stored, err := answer(k)
		if err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, once, stored)
	})
	return k, err
}

// place gives a key the shard of its merchant. The merchant's first key decides which that is.
func place(ctx context.Context, tx pgx.Tx, k *apikey.Key) error {
	if _, err := tx.Exec(ctx, placeSQL, k.MerchantID, string(k.Shard.Home())); err != nil {
		return fmt.Errorf("give the merchant a shard: %w", err)
	}
	if err := tx.QueryRow(ctx, shardSQL, k.MerchantID).Scan((*string)(&k.Shard)); err != nil {
		return fmt.Errorf("read the merchant's shard: %w", err)
	}
	return nil
}

func writeAudit(ctx context.Context, tx pgx.Tx, e audit.Entry) error {
	detail := maps.Clone(e.Detail)
	if detail == nil {
		detail = map[string]string{}
	}
	if e.Confirms != nil {
		if err := confirm(ctx, tx, *e.Confirms); err != nil {
			return err
		}
		detail["requestedBy"] = e.Confirms.Operator
	}
	e.Add(detail)
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("encode the audit entry: %w", err)
	}
	var ip *netip.Addr
	if a, err := netip.ParseAddr(e.ClientIP); err == nil {
		ip = &a
	}
	if _, err := tx.Exec(ctx, insertAuditSQL, e.Actor, string(e.Act), e.Object, e.RequestID, ip, text); err != nil {
		return fmt.Errorf("write the audit entry: %w", err)
	}
	return nil
}

// Revoke implements apikey.Store. A key that is already revoked stays as it is and gets no second audit entry.
func (s *Store) Revoke(ctx context.Context, id int64, by audit.Entry) (k apikey.Key, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, revokeSQL, id)
		if err != nil {
			return fmt.Errorf("mark the key: %w", err)
		}
		if k, err = get(ctx, tx, id); err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		return writeAudit(ctx, tx, by)
	})
	return k, err
}

// Get implements apikey.Store.
func (s *Store) Get(ctx context.Context, id int64) (apikey.Key, error) { return get(ctx, s.pool, id) }

func get(ctx context.Context, q postgres.Querier, id int64) (apikey.Key, error) {
	k, err := scan(q.QueryRow(ctx, getSQL, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return apikey.Key{}, apikey.ErrNotFound
	}
	return k, err
}

// List implements apikey.Store.
func (s *Store) List(ctx context.Context, f apikey.Filter) ([]apikey.Key, error) {
	rows, err := s.pool.Query(ctx, listSQL, f.MerchantID, string(f.Mode), f.Before, f.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (apikey.Key, error) { return scan(row) })
}

// Used records when keys were last used, many at a time.
func (s *Store) Used(ctx context.Context, at map[int64]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	ids, times := make([]int64, 0, len(at)), make([]time.Time, 0, len(at))
	for id, t := range at {
		ids, times = append(ids, id), append(times, t)
	}
	if _, err := s.pool.Exec(ctx, usedSQL, ids, times); err != nil {
		return fmt.Errorf("record the last use of %d keys: %w", len(at), err)
	}
	return nil
}

// Earlier returns the answer that was stored for an Idempotency-Key, if there is one.
func (s *Store) Earlier(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	return idempotency.Find(ctx, s.pool, k)
}

// Replay returns the answer of the request that won the race for an Idempotency-Key.
func (s *Store) Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, error) {
	return idempotency.Replay(ctx, s.pool, k)
}

// Maintain keeps the partitions of the audit, of signed requests and of stored answers.
func (s *Store) Maintain(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, prepareAuditSQL); err != nil {
		return fmt.Errorf("prepare the audit's partitions: %w", err)
	}
	if _, err := s.pool.Exec(ctx, rotateSignedSQL); err != nil {
		return fmt.Errorf("rotate signed requests: %w", err)
	}
	if _, err := s.pool.Exec(ctx, forgetApprovalsSQL, approval.Life.Seconds()); err != nil {
		return fmt.Errorf("forget requests that nobody confirmed: %w", err)
	}
	return idempotency.Maintain(ctx, s.pool)
}
