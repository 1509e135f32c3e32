package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/discard"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ app.Wallets = (*Store)(nil)

const (
	walletColumns = `w.id, w.mode, w.merchant_id, w.key_id, w.family, w.network, w.network_name, w.crypto, w.address, w.metadata, w.status,
w.amount::text, w.deposits, w.newest_height, coalesce(c.height, 0), w.sequence, w.created_at, w.expires_at, coalesce(w.trace, '')`

	walletFrom = ` FROM wallets w LEFT JOIN cursors c ON c.mode = w.mode AND c.network = w.network `

	// A create waits for a large allocation of the same family, which derives for a second.
	patientWalletSQL = `SET LOCAL lock_timeout = '6s'`

	insertWalletSQL = `INSERT INTO wallets (id, mode, merchant_id, key_id, family, network, network_name, crypto, address, metadata, status,
sequence, created_at, expires_at, trace) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, nullif($15, ''))`

	historySQL = `INSERT INTO wallet_history (wallet_id, sequence, status, amount) VALUES ($1, $2, $3, $4::text::numeric)`

	findWalletSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.id = $1 AND w.mode = $2 AND w.merchant_id = $3 AND (w.key_id = $4 OR $5)`

	// The two lists begin at a position, which is beyond every wallet when there is none.
	listWalletsSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.key_id = $1 AND w.mode = $2 AND w.merchant_id = $3
AND (w.created_at, w.id) < (coalesce($4::timestamptz, 'infinity'), $5::text)
ORDER BY w.created_at DESC, w.id DESC LIMIT $6 OFFSET $7`

	listWalletsByStatusSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.key_id = $1 AND w.mode = $2 AND w.merchant_id = $3
AND (w.created_at, w.id) < (coalesce($4::timestamptz, 'infinity'), $5::text) AND w.status = $8
ORDER BY w.created_at DESC, w.id DESC LIMIT $6 OFFSET $7`

	// A person sees the wallets of all keys of the merchant.
	listMerchantWalletsSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.mode = $1 AND w.merchant_id = $2
AND (w.created_at, w.id) < (coalesce($3::timestamptz, 'infinity'), $4::text)
ORDER BY w.created_at DESC, w.id DESC LIMIT $5 OFFSET $6`

	listMerchantWalletsByStatusSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.mode = $1 AND w.merchant_id = $2
AND (w.created_at, w.id) < (coalesce($3::timestamptz, 'infinity'), $4::text) AND w.status = $7
ORDER BY w.created_at DESC, w.id DESC LIMIT $5 OFFSET $6`

	listDepositsSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.wallet_id = $1 AND d.mode = $2
AND (d.first_seen_at, d.network || ':' || d.tx_hash || ':' || lpad(d.ordinal::text, 10, '0')) < (coalesce($3::timestamptz, 'infinity'), $4::text)
ORDER BY d.first_seen_at DESC, d.network || ':' || d.tx_hash || ':' || lpad(d.ordinal::text, 10, '0') DESC LIMIT $5`

	headsSQL = `SELECT network, height FROM cursors WHERE mode = $1`

	lockWalletsSQL = `SELECT ` + walletColumns + walletFrom + `WHERE w.id = ANY($1) ORDER BY w.id FOR UPDATE OF w`

	ofWalletsSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.wallet_id = ANY($1)`

	updateWalletSQL = `UPDATE wallets SET status = $2, amount = $3::text::numeric, deposits = $4, newest_height = $5, sequence = $6 WHERE id = $1`

	// A window ends when the network is scanned past it by a margin, so that no deposit in time is missed. The margin is
	// no argument, so that a look has one plan.
	over = `FROM wallets w JOIN cursors c ON c.mode = w.mode AND c.network = w.network
WHERE w.status = 'watching' AND w.expires_at <= now() AND c.block_time >= w.expires_at + interval '1 minute'`
	overSQL = `SELECT ` + walletColumns + ` ` + over + ` ORDER BY w.expires_at LIMIT $1 FOR UPDATE OF w SKIP LOCKED`
	// anyOverSQL asks first, without a transaction, because nearly always no window has ended.
	anyOverSQL = `SELECT EXISTS (SELECT ` + over + `)`
)

func scanWallet(row pgx.CollectableRow) (w wallet.Wallet, err error) {
	var amount string
	err = row.Scan(&w.ID, &w.Mode, &w.MerchantID, &w.KeyID, &w.Family, &w.Network, &w.NetworkName, &w.Crypto, &w.Address, &w.Metadata, &w.Status,
		&amount, &w.Deposits, &w.Newest, &w.Head, &w.Sequence, &w.CreatedAt, &w.ExpiresAt, &w.Trace)
	if err != nil {
		return w, err
	}
	w.Amount, err = integer(amount)
	return w, err
}

func integer(text string) (*big.Int, error) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, fmt.Errorf("%q is not an integer", text)
	}
	return n, nil
}

// errBusy means that a large allocation holds the counter for longer than a request may wait.
var errBusy = fault.New(fault.Unavailable, "busy", "No address could be made just now. Try again shortly.").After(3 * time.Second)

// errNoStock means that the signer must make addresses before more can be issued.
var errNoStock = fault.New(fault.Unavailable, "no_address", "No address is left on this network just now. Try again later.").After(time.Minute)

// CreateWallet implements app.Wallets. Creates of one family wait for the counter's row only; it is locked as late as
// possible, and one round trip writes everything that needs its number.
func (s *Store) CreateWallet(ctx context.Context, draft wallet.Wallet, source derivation.Source, k idempotency.Key,
	answer func(wallet.Wallet) (idempotency.Answer, error),
) (idempotency.Answer, error) {
	var out idempotency.Answer
	err := s.tx(ctx, func(tx pgx.Tx) error {
		w := draft
		place, err := s.place(ctx, tx, w, source)
		if err != nil {
			return err
		}
		w.Address, w.Trace = place.text, telemetry.TraceParent(ctx)
		if out, err = answer(w); err != nil {
			return err
		}
		event, err := s.messages.WalletChanged(ctx, w)
		if err != nil {
			return err
		}
		var write pgx.Batch
		if place.seq > 0 { // an imported address is stored already
			write.Queue(addSQL, w.Mode, w.Family, place.seq, int64(source.Account()), place.idx, [][]byte{place.key}, []string{w.Address}, []string{w.ID})
		}
		write.Queue(insertWalletSQL, w.ID, w.Mode, w.MerchantID, w.KeyID, w.Family, w.Network, w.NetworkName, w.Crypto, w.Address, string(w.Metadata),
			w.Status, w.Sequence, w.CreatedAt, w.ExpiresAt, w.Trace)
		write.Queue(historySQL, w.ID, w.Sequence, w.Status, w.Amount.String())
		write.Queue(outbox.InsertSQL, event.Args()...)
		if k.Sent() {
			write.Queue(idempotency.InsertSQL, idempotency.Args(k, out)...)
		}
		return tx.SendBatch(ctx, &write).Close()
	})
	switch {
	case err == nil:
		s.wake()
		return out, nil
	case k.Sent() && idempotency.IsTaken(err) && !fault.Is(err, errBusy.Code):
		return idempotency.Answer{}, idempotency.ErrTaken
	}
	return idempotency.Answer{}, fmt.Errorf("making a wallet: %w", err)
}

// found is the address of a new wallet; seq is 0 when it is stored already.
type found struct {
	pooled
	seq int64
}

// place takes the next address of the wallet's family.
func (s *Store) place(ctx context.Context, tx pgx.Tx, w wallet.Wallet, source derivation.Source) (found, error) {
	if _, imported := source.(derivation.Pooled); imported {
		if _, err := tx.Exec(ctx, patientWalletSQL); err != nil {
			return found{}, err
		}
		_, list, err := s.take(ctx, tx, wallet.Slot{Mode: w.Mode, Family: w.Family}, []string{w.ID})
		if errors.Is(err, wallet.ErrNoStock) {
			return found{}, errNoStock.Because(err)
		}
		if err != nil {
			return found{}, busy(err)
		}
		return found{pooled: list[0]}, nil
	}
	var at found
	var count pgx.Batch
	count.Queue(patientWalletSQL)
	count.Queue(countSQL, w.Mode, w.Family, 1).QueryRow(func(row pgx.Row) error { return row.Scan(&at.idx, &at.seq) })
	if err := tx.SendBatch(ctx, &count).Close(); err != nil {
		return found{}, busy(fmt.Errorf("taking the next index: %w", err))
	}
	made, err := source.Derive(uint32(at.idx), 1) //nolint:gosec // an index has 31 bits
	if err != nil {
		return found{}, fmt.Errorf("deriving index %d: %w", at.idx, err)
	}
	at.key, at.text = made[0].Key, made[0].Address
	return at, nil
}

// busy is errBusy when the counter was held for too long.
func busy(err error) error {
	if waitedInVain(err) {
		return errBusy.Because(err)
	}
	return err
}

// waitedInVain reports that a lock did not become free within lock_timeout.
func waitedInVain(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "55P03"
}

// Replay implements app.Wallets.
func (s *Store) Replay(ctx context.Context, k idempotency.Key) (idempotency.Answer, bool, error) {
	return idempotency.Find(ctx, s.pool, k)
}

// Settled implements app.Wallets.
func (s *Store) Settled(ctx context.Context, k idempotency.Key) (idempotency.Answer, error) {
	return idempotency.Replay(ctx, s.pool, k)
}

// Retain drops expired stored answers and discarded messages; call it every minute.
func (s *Store) Retain(ctx context.Context) error {
	if err := discard.Forget(ctx, s.pool); err != nil {
		return err
	}
	return idempotency.Maintain(ctx, s.pool)
}

// FindWallet implements app.Wallets.
func (s *Store) FindWallet(ctx context.Context, o tenant.Owner, walletID string) (wallet.Wallet, error) {
	rows, err := s.pool.Query(ctx, findWalletSQL, walletID, o.Mode, o.MerchantID, o.KeyID, o.Person)
	if err != nil {
		return wallet.Wallet{}, fmt.Errorf("reading a wallet: %w", err)
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanWallet)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, app.ErrWalletNotFound
	}
	return w, err
}

// ListWallets implements app.Wallets.
func (s *Store) ListWallets(ctx context.Context, o tenant.Owner, q app.ListQuery) ([]wallet.Wallet, error) {
	limit := q.Limit
	if q.Cursor {
		limit++
	}
	at, name := position(q.After)
	args := []any{o.Mode, o.MerchantID, at, name, limit, q.Offset}
	sql, byStatus := listMerchantWalletsSQL, listMerchantWalletsByStatusSQL
	if !o.Person {
		args = append([]any{o.KeyID}, args...)
		sql, byStatus = listWalletsSQL, listWalletsByStatusSQL
	}
	if q.Status != "" {
		sql, args = byStatus, append(args, q.Status)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("listing wallets: %w", err)
	}
	return pgx.CollectRows(rows, scanWallet)
}

// position is where a page begins; nil is before everything.
func position(p app.Position) (at *time.Time, name string) {
	if p.Name == "" {
		return nil, ""
	}
	return &p.At, p.Name
}

// ListDeposits implements app.Wallets. One more than the limit is read, to know whether there are more.
func (s *Store) ListDeposits(ctx context.Context, w wallet.Wallet, q app.DepositQuery) ([]wallet.Deposit, map[string]int64, error) {
	var list []wallet.Deposit
	heads := map[string]int64{}
	at, name := position(q.After)
	var b pgx.Batch
	b.Queue(listDepositsSQL, w.ID, w.Mode, at, name, q.Limit+1).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, toDeposit)
		return err
	})
	b.Queue(headsSQL, w.Mode).Query(func(rows pgx.Rows) error {
		var network string
		var height int64
		_, err := pgx.ForEachRow(rows, []any{&network, &height}, func() error {
			heads[network] = height
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, nil, fmt.Errorf("listing deposits: %w", err)
	}
	return list, heads, nil
}

// SimulateOwned implements app.Wallets.
func (s *Store) SimulateOwned(ctx context.Context, d wallet.Simulated, k idempotency.Key, a idempotency.Answer) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := idempotency.Put(ctx, tx, k, a); err != nil {
			return err
		}
		return simDeposits(ctx, tx, []wallet.Simulated{d})
	})
	if k.Sent() && idempotency.IsTaken(err) {
		return idempotency.ErrTaken
	}
	return err
}

// CloseWindows expires the wallets whose window has ended with nothing received, at most so many at a time, and returns
// their number. Any number of replicas may call it.
func (s *Store) CloseWindows(ctx context.Context, most int) (closed int, err error) {
	var some bool
	if err := postgres.Planned(ctx, s.pool, postgres.InOrderSQL, func(rows pgx.Rows) (err error) {
		some, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
		return err
	}, anyOverSQL); err != nil || !some {
		return 0, err
	}
	err = s.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, overSQL, most)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, scanWallet)
		if err != nil {
			return err
		}
		closed = len(list)
		for _, w := range list {
			next, entered := w.Close()
			if err := s.putWallet(ctx, tx, next, entered); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && closed > 0 {
		s.wake()
	}
	return closed, err
}

// putWallet writes a wallet with the history and the event of every status it entered.
func (s *Store) putWallet(ctx context.Context, tx pgx.Tx, w wallet.Wallet, entered []wallet.Wallet) error {
	var b pgx.Batch
	b.Queue(updateWalletSQL, w.ID, w.Status, w.Amount.String(), w.Deposits, w.Newest, w.Sequence)
	for _, e := range entered {
		m, err := s.messages.WalletChanged(ctx, e)
		if err != nil {
			return err
		}
		b.Queue(historySQL, e.ID, e.Sequence, e.Status, e.Amount.String())
		b.Queue(outbox.InsertSQL, m.Args()...)
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("writing wallet %s: %w", w.ID, err)
	}
	return nil
}

// apply updates the standalone wallets of changed deposits, books their deposits, and returns the deposits of other
// addresses: those belong to the payments service. The deposits must be written already.
func (s *Store) apply(ctx context.Context, tx pgx.Tx, changed []wallet.Deposit, head int64) (rest []wallet.Deposit, wrote bool, err error) {
	if len(changed) == 0 {
		return nil, false, nil
	}
	ids := make([]string, len(changed))
	for i, d := range changed {
		ids[i] = d.WalletID
	}
	rows, err := tx.Query(ctx, lockWalletsSQL, ids)
	if err != nil {
		return nil, false, fmt.Errorf("locking wallets: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanWallet)
	if err != nil {
		return nil, false, fmt.Errorf("locking wallets: %w", err)
	}
	if len(list) == 0 {
		return changed, false, nil
	}
	owned := make(map[string]wallet.Wallet, len(list))
	for _, w := range list {
		owned[w.ID] = w
	}
	for _, d := range changed {
		w, ok := owned[d.WalletID]
		if !ok {
			rest = append(rest, d)
			continue
		}
		if err := s.book(ctx, tx, w, d); err != nil {
			return nil, false, err
		}
		if d.Version == s.base.Load()+1 && !w.Counts(d) && s.set.Strayed != nil {
			s.set.Strayed(ctx, w, d)
		}
	}
	return rest, true, s.recount(ctx, tx, list, changed[0].Network, head)
}

// recount recomputes wallets from all their deposits.
func (s *Store) recount(ctx context.Context, tx pgx.Tx, list []wallet.Wallet, network string, head int64) error {
	ids := make([]string, len(list))
	for i, w := range list {
		ids[i] = w.ID
	}
	rows, err := tx.Query(ctx, ofWalletsSQL, ids)
	if err != nil {
		return fmt.Errorf("reading deposits of wallets: %w", err)
	}
	deposits, err := pgx.CollectRows(rows, toDeposit)
	if err != nil {
		return fmt.Errorf("reading deposits of wallets: %w", err)
	}
	byWallet := make(map[string][]wallet.Deposit, len(list))
	for _, d := range deposits {
		byWallet[d.WalletID] = append(byWallet[d.WalletID], d)
	}
	for _, w := range list {
		at := w.Head
		if w.Network == network { // the cursor that was read may be older than the block that is being written
			at = head
		}
		next, entered := w.Take(byWallet[w.ID], at)
		if err := s.putWallet(ctx, tx, next, entered); err != nil {
			return err
		}
	}
	return nil
}
