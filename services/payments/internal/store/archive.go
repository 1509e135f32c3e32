package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/id"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/payment"
)

var _ archive.Store = (*Store)(nil)

// Rows of payments that are archived, beside those of the tables. They are read through the payment alone.
const (
	depositsOf   = `SELECT * FROM deposits WHERE payment_id `
	keptDeposits = ` UNION ALL SELECT d.* FROM archived_payments a, jsonb_populate_recordset(NULL::deposits, a.kept -> 'deposits') AS d WHERE a.id `
	payoutsOf    = `SELECT * FROM payouts WHERE payment_id `
	keptPayouts  = ` UNION ALL SELECT o.* FROM archived_payments a, jsonb_populate_recordset(NULL::payouts, a.kept -> 'payouts') AS o WHERE a.id `

	readDepositRows = `SELECT ` + depositColumns + ` FROM (` + depositsOf + `= $1` + keptDeposits + `= $1) AS d ORDER BY d.first_seen_at, d.key`
	readLastPayout  = `SELECT ` + payoutColumns + ` FROM (` + payoutsOf + `= $1` + keptPayouts + `= $1) AS o ORDER BY o.attempt DESC LIMIT 1`
)

// Statements that attach an archived payment, found as the lock of the same place finds a hot one.
const attach = `SELECT attach_payment(p.id) FROM archived_payments p`

var (
	attachByID      = attach + withID
	attachOwned     = attach + ownedBy
	attachAny       = attach + referred
	attachByAddress = attach + onAddress
	attachPayout    = attach + ` WHERE p.names @> ARRAY['payout:' || $1::text]`

	attaches = map[string]string{lockByID: attachByID, lockOwned: attachOwned, lockAny: attachAny, lockByAddress: attachByAddress}
)

// locked locks a payment. One that is archived is attached first, in the same transaction. A payment that is archived
// while this waits for its lock is found by the second statement, which sees what was committed meanwhile, and one that
// somebody else attaches just then by the third.
func (s *Store) locked(ctx context.Context, tx pgx.Tx, lock string, args ...any) (p payment.Payment, err error) {
	p, err = s.reader(whole).scan(tx.QueryRow(ctx, lock, args...))
	if !errors.Is(err, pgx.ErrNoRows) {
		return p, err
	}
	if _, err := tx.Exec(ctx, attaches[lock], args...); err != nil {
		return p, err
	}
	return s.reader(whole).scan(tx.QueryRow(ctx, lock, args...))
}

const (
	booksClosed = `SELECT coalesce(max(c.last_journal), 0) FROM ledger_closes c WHERE EXISTS (SELECT FROM treasury_closes t WHERE t.day = c.day)`
	oldMessages = `SELECT EXISTS (SELECT FROM outbox WHERE created_at < now() - interval '1 day')`

	// $1 and $2 bound the ids of a month.
	planArchive = `SELECT archive_wait(p.id, $3, $4), count(*) FROM ONLY payments p WHERE p.id >= $1 AND p.id < $2 GROUP BY 1 ORDER BY 1`

	numberArchive = `SELECT count(*) + 1 FROM archives WHERE month = $1::text::date`
	noteManifest  = `UPDATE archives SET manifest = $2, payments = $3 WHERE id = $1`
	insertArchive = `INSERT INTO archives (id, month, manifest, payments) VALUES ($1, $2::text::date, $3, $4)`
	chooseMembers = `INSERT INTO archive_members (archive, payment_id, digest) SELECT $1, p.id, payment_digest(p.id) FROM (
	SELECT p.id FROM ONLY payments p WHERE p.id >= $2 AND p.id < $3 AND p.status IN ('settled', 'refunded', 'expired', 'cancelled')
		AND archive_wait(p.id, $4, $5) = '' ORDER BY p.id LIMIT $6) AS p`
	// Persons stay in the database, where they can be erased.
	copiedColumns = `SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
AND attname NOT IN ('payer', 'payer_index', 'receiver', 'account_index', 'metadata', 'description', 'token_hash') ORDER BY attnum`
	sumMembers = `SELECT e.account, e.asset, coalesce(sum(e.amount) FILTER (WHERE e.amount > 0), 0), coalesce(-sum(e.amount) FILTER (WHERE e.amount < 0), 0)
FROM archive_members m, payment_entries(m.payment_id) e WHERE m.archive = $1 AND e.account !~ '^(test:)?(customer|payable):' GROUP BY 1, 2 ORDER BY 1, 2`

	unmovedArchives = `SELECT id, manifest FROM archives WHERE moved_at IS NULL ORDER BY id`
	confirmArchive  = `UPDATE archives SET verified_at = now() WHERE id = $1 AND manifest = $2`
	moveMembers     = `SELECT m.payment_id, archive_payment(m.payment_id, $1, $3, $4) FROM (
	SELECT payment_id FROM archive_members WHERE archive = $1 AND payment_id > $2 ORDER BY payment_id LIMIT $5) AS m`
	dropMembers  = `DELETE FROM archive_members WHERE archive = $1`
	endArchive   = `UPDATE archives SET moved_at = now() WHERE id = $1 AND verified_at IS NOT NULL AND moved_at IS NULL`
	listArchives = `SELECT a.id, a.manifest, a.payments, (SELECT count(*) FROM archived_payments p WHERE p.archive = a.id), a.made_at, a.verified_at, a.moved_at
FROM archives a ORDER BY a.id`
	archivedOf = `SELECT id FROM archived_payments WHERE archive = $1 ORDER BY id COLLATE "C"`

	// An export begins with the sums of the close before its month, so it reads the journals of the month alone.
	monthArchived = `SELECT EXISTS (SELECT FROM archived_journals WHERE journals > 0 AND month < ($2::timestamptz AT TIME ZONE 'UTC')::date
AND month >= coalesce(date_trunc('month', nullif($1, '')::date + 1)::date, '-infinity'))`
)

// ArchiveTime implements archive.Store.
func (s *Store) ArchiveTime(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, databaseTime).Scan(&now)
	return now, wrap(err, "read the time")
}

// PlanArchive implements archive.Store.
func (s *Store) PlanArchive(ctx context.Context, c archive.Choice) (map[string]int64, error) {
	found := map[string]int64{}
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		last, err := closedBooks(ctx, tx)
		if err != nil {
			return err
		}
		low, high := monthOf(c.Month)
		rows, err := tx.Query(ctx, planArchive, low, high, c.Before, last)
		if err != nil {
			return err
		}
		var why string
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&why, &n}, func() error {
			found[why] = n
			return nil
		})
		return err
	})
	return found, wrap(err, "count what can be archived")
}

// monthOf bounds the ids of the payments of a month.
func monthOf(month time.Time) (low, high string) {
	return id.First(id.Payment, month), id.First(id.Payment, month.AddDate(0, 1, 0))
}

// errMessages refuses an archive while messages about payments have not left.
var errMessages = errors.New("a message has waited in the outbox for more than a day")

// closedBooks is the last journal whose day is closed, in a transaction that may take long.
func closedBooks(ctx context.Context, tx pgx.Tx) (last int64, err error) {
	if _, err := tx.Exec(ctx, patient); err != nil {
		return 0, err
	}
	var old bool
	if err := tx.QueryRow(ctx, oldMessages).Scan(&old); err != nil {
		return 0, err
	}
	if old {
		return 0, errMessages
	}
	return last, tx.QueryRow(ctx, booksClosed).Scan(&last)
}

// MakeArchive implements archive.Store. The archive and its members are committed after write has returned.
func (s *Store) MakeArchive(ctx context.Context, c archive.Choice, write func(archive.Source) (digest []byte, err error)) (made bool, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		last, err := closedBooks(ctx, tx)
		if err != nil {
			return err
		}
		var number int
		day := c.Month.Format(time.DateOnly)
		if err := tx.QueryRow(ctx, numberArchive, day).Scan(&number); err != nil {
			return err
		}
		src := &source{ctx: ctx, tx: tx, id: archive.Name(c.Month, number)}
		if _, err := tx.Exec(ctx, insertArchive, src.id, day, []byte{}, 0); err != nil {
			return err
		}
		low, high := monthOf(c.Month)
		tag, err := tx.Exec(ctx, chooseMembers, src.id, low, high, c.Before, last, c.Most)
		if err != nil {
			return err
		}
		if src.payments = tag.RowsAffected(); src.payments == 0 {
			return errNothingEnded
		}
		digest, err := write(src)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, noteManifest, src.id, digest, src.payments)
		made = err == nil
		return err
	})
	if errors.Is(err, errNothingEnded) {
		return false, nil
	}
	return made && err == nil, wrap(err, "make an archive of "+c.Month.Format("2006-01"))
}

var errNothingEnded = errors.New("no payment to archive")

// source is the rows of an archive's members, in one snapshot.
type source struct {
	ctx      context.Context //nolint:containedctx // of the one call of MakeArchive
	tx       pgx.Tx
	id       string
	payments int64
}

// Name implements archive.Source.
func (s *source) Name() string { return s.id }

// Payments implements archive.Source.
func (s *source) Payments() int64 { return s.payments }

// copied are the tables of an archive, with the order of their rows and how these belong to a member m.
var copied = []struct{ table, order, joined string }{
	{"payments", "t.id", "ONLY payments t ON t.id = m.payment_id"},
	{"history_rows", "t.payment_id, t.version, t.n", "history_rows t ON t.payment_id = m.payment_id"},
	{"deposits", "t.payment_id, t.key", "deposits t ON t.payment_id = m.payment_id"},
	{"payouts", "t.payment_id, t.id", "payouts t ON t.payment_id = m.payment_id"},
	{"screenings", "t.id", "screenings t ON t.payment_id = m.payment_id"},
	{"ledger_accounts", "t.code", "ledger_accounts t ON t.payment_id = m.payment_id"},
	{"ledger_journals", "t.id", "ledger_journals t ON t.payment_id = m.payment_id"},
	{"ledger_lines", "t.journal_id, t.line", "ledger_journals j ON j.payment_id = m.payment_id JOIN ledger_lines t ON t.journal_id = j.id"},
}

// Tables implements archive.Source.
func (s *source) Tables() (names []string) {
	for _, c := range copied {
		names = append(names, c.table)
	}
	return names
}

// Copy implements archive.Source.
func (s *source) Copy(table string, to io.Writer) (columns []string, n int64, err error) {
	rows, err := s.tx.Query(s.ctx, copiedColumns, table)
	if err != nil {
		return nil, 0, err
	}
	if columns, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, 0, err
	}
	for _, c := range copied {
		if c.table != table {
			continue
		}
		sql := fmt.Sprintf("COPY (SELECT t.%s FROM archive_members m JOIN %s WHERE m.archive = '%s' ORDER BY %s) TO STDOUT",
			strings.Join(columns, ", t."), c.joined, s.id, c.order)
		tag, err := s.tx.Conn().PgConn().CopyTo(s.ctx, to, sql)
		return columns, tag.RowsAffected(), err
	}
	return nil, 0, fmt.Errorf("%s is no table of an archive", table)
}

// Sums implements archive.Source.
func (s *source) Sums() ([]archive.Sum, error) {
	rows, err := s.tx.Query(s.ctx, sumMembers, s.id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a archive.Sum, err error) {
		var debit, credit decimal.Decimal
		err = row.Scan(&a.Account, &a.Asset, &debit, &credit)
		a.Debit, a.Credit = debit.String(), credit.String()
		return a, err
	})
}

// UnmovedArchives implements archive.Store.
func (s *Store) UnmovedArchives(ctx context.Context) ([]archive.Archive, error) {
	rows, err := s.pool.Query(ctx, unmovedArchives)
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a archive.Archive, err error) { return a, row.Scan(&a.ID, &a.Manifest) })
	return found, wrap(err, "list archives")
}

// Archives implements archive.Store.
func (s *Store) Archives(ctx context.Context) (all []archive.Archive, err error) {
	var a archive.Archive
	err = s.whole(ctx, listArchives, []any{&a.ID, &a.Manifest, &a.Payments, &a.Kept, &a.MadeAt, &a.VerifiedAt, &a.MovedAt}, func() error {
		all = append(all, a)
		a = archive.Archive{}
		return nil
	})
	return all, err
}

// ConfirmArchive implements archive.Store.
func (s *Store) ConfirmArchive(ctx context.Context, a archive.Archive) error {
	tag, err := s.pool.Exec(ctx, confirmArchive, a.ID, a.Manifest)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the database knows it with another manifest")
	}
	return wrap(err, "confirm archive "+a.ID)
}

// MoveArchived implements archive.Store. The transaction is short, because the daily close waits for it.
func (s *Store) MoveArchived(ctx context.Context, archiveID, after string, before time.Time, most int) (last string, whys []string, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var closed int64
		if err := tx.QueryRow(ctx, booksClosed).Scan(&closed); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, moveMembers, archiveID, after, before, closed, most)
		if err != nil {
			return err
		}
		var why string
		_, err = pgx.ForEachRow(rows, []any{&last, &why}, func() error {
			whys = append(whys, why)
			return nil
		})
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("move payments into archive %s: %w", archiveID, err)
	}
	return last, whys, nil
}

// EndArchive implements archive.Store.
func (s *Store) EndArchive(ctx context.Context, operator, archiveID string) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if tag, err := tx.Exec(ctx, endArchive, archiveID); err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, dropMembers, archiveID); err != nil {
			return err
		}
		return s.audit(ctx, tx, operator, "payments.archived", map[string]any{"archive": archiveID})
	})
	return wrap(err, "end archive "+archiveID)
}

// ArchivedOf implements archive.Store.
func (s *Store) ArchivedOf(ctx context.Context, archiveID string, each func(paymentID string) error) error {
	var paymentID string
	return s.whole(ctx, archivedOf, []any{&paymentID}, func() error { return each(paymentID) }, archiveID)
}

// AttachPayment implements archive.Store.
func (s *Store) AttachPayment(ctx context.Context, operator, paymentID string) (attached bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		switch err := tx.QueryRow(ctx, attachByID, paymentID).Scan(&attached); {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		return s.audit(ctx, tx, operator, "payment.attached", map[string]any{"paymentId": paymentID})
	})
	return attached, wrap(err, "attach payment "+paymentID)
}

const (
	personalArchived = `SELECT id, kept -> 'payouts' FROM archived_payments WHERE id > $1 ORDER BY id LIMIT $2`
	resealArchived   = `UPDATE archived_payments SET kept = jsonb_set(kept, '{payouts}', $3) WHERE id = $1 AND kept -> 'payouts' = $2`
)

// resealArchived seals the receivers of an archived payment's payouts, which are in PostgreSQL's text of a bytea.
func (s *Store) resealArchived(row pgx.CollectableRow, into *pgx.Batch) (paymentID string, err error) {
	var raw []byte
	if err := row.Scan(&paymentID, &raw); err != nil || raw == nil {
		return paymentID, err
	}
	var all []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", err
	}
	changed := false
	for _, o := range all {
		var text string
		if err := json.Unmarshal(o["receiver"], &text); err != nil {
			return "", fmt.Errorf("receiver of a payout of %s: %w", paymentID, err)
		}
		old, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
		if err != nil {
			return "", fmt.Errorf("receiver of a payout of %s: %w", paymentID, err)
		}
		if !s.stale(old) {
			continue
		}
		var r payment.Receiver
		if err := opened(s.keys, old, receiverPlace(paymentID), &r); err != nil {
			return "", fmt.Errorf("receiver of a payout of %s: %w", paymentID, err)
		}
		fresh, err := sealed(s.keys, r, receiverPlace(paymentID))
		if err != nil {
			return "", err
		}
		if o["receiver"], err = json.Marshal(`\x` + hex.EncodeToString(fresh)); err != nil {
			return "", err
		}
		changed = true
	}
	if !changed {
		return paymentID, nil
	}
	now := &bytes.Buffer{}
	if err := json.NewEncoder(now).Encode(all); err != nil {
		return "", err
	}
	into.Queue(resealArchived, paymentID, raw, now.Bytes())
	return paymentID, nil
}
