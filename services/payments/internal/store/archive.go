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
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/version"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

var _ archive.Store = (*Store)(nil)

// Rows of payments that are archived, beside those of the tables. They are read through the payment alone.
const (
	depositsOf   = `SELECT * FROM deposits WHERE payment_id `
	keptDeposits = ` UNION ALL SELECT d.* FROM archived_payments a, jsonb_populate_recordset(NULL::deposits, kept_rows(NULL::deposits, a.kept -> 'deposits')) AS d WHERE a.id `
	payoutsOf    = `SELECT * FROM payouts WHERE payment_id `
	keptPayouts  = ` UNION ALL SELECT o.* FROM archived_payments a, jsonb_populate_recordset(NULL::payouts, kept_rows(NULL::payouts, a.kept -> 'payouts')) AS o WHERE a.id `

	readDepositRows = `SELECT ` + depositColumns + ` FROM (` + depositsOf + `= $1` + keptDeposits + `= $1) AS d ORDER BY d.first_seen_at, d.key`
	readLastPayout  = `SELECT ` + payoutColumns + ` FROM (` + payoutsOf + `= $1` + keptPayouts + `= $1) AS o ORDER BY o.attempt DESC LIMIT 1`
)

// Statements that attach an archived payment, found as the lock of the same place finds a hot one.
const attach = `SELECT p.id, attach_payment(p.id) FROM archived_payments p`

var (
	attachByID      = attach + withID
	attachOwned     = attach + ownedBy
	attachAny       = attach + referred
	attachByAddress = attach + onAddress
	attachPayout    = attach + ` WHERE p.names @> ARRAY['payout:' || $1::text]`

	attaches = map[string]string{lockByID: attachByID, lockOwned: attachOwned, lockAny: attachAny, lockByAddress: attachByAddress}
)

// locked locks a payment. One that is archived is attached first.
func (s *Store) locked(ctx context.Context, tx pgx.Tx, lock string, args ...any) (p payment.Payment, err error) {
	err = s.hot(ctx, tx, attaches[lock], args, func() (err error) {
		p, err = s.reader(whole).scan(tx.QueryRow(ctx, lock, args...))
		return err
	})
	return p, err
}

// reads are statements that read a payment, hot or archived, as the lock of the same place finds a hot one.
var reads = map[string]string{lockByID: findByID, lockOwned: findWholeOwned, lockAny: findAny}

// answers runs a change of a payment that is not hot on what the archive has, and reports that it writes nothing but
// its answer. Such a payment stays in the archive: anybody who knows its reference can ask for what the state refuses.
func (s *Store) answers(ctx context.Context, tx pgx.Tx, f change.Func, at target) (bool, error) {
	sql, ok := reads[at.lock]
	if !ok || at.payoutID != "" || at.leaves {
		return false, nil
	}
	p, err := s.reader(whole).scan(tx.QueryRow(ctx, sql, at.args...))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	v := change.View{Payment: p}
	var now time.Time
	read := &pgx.Batch{}
	read.Queue(readDepositRows, p.ID).Query(collectRows(&v))
	read.Queue(readLastPayout, p.ID).Query(s.collectPayout(&v))
	queueRefunds(read, &v)
	read.Queue(selectMoment, string(p.Mode)).Query(collectMoment(&v, &now))
	if err := tx.SendBatch(ctx, read).Close(); err != nil {
		return false, fmt.Errorf("read deposits and payout of payment %s: %w", p.ID, err)
	}
	r, err := f(v, now.UTC())
	if err != nil || r.Writes() {
		return false, err
	}
	if r.Answer != nil {
		return true, idempotency.Put(ctx, tx, r.Key, *r.Answer)
	}
	return true, nil
}

// hot calls lock, which locks a payment. Where lock finds none, an archived one is attached, in the same transaction,
// and lock is called again. Each statement sees what was committed before it: the second a payment that was archived
// while the first waited for its lock, and the third one that somebody else attached just then.
func (s *Store) hot(ctx context.Context, tx pgx.Tx, statement string, args []any, lock func() error) error {
	err := lock()
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if err := s.attach(ctx, tx, statement, args...); err != nil {
		return err
	}
	return lock()
}

// attach attaches the payment that a statement finds, if it is archived.
func (s *Store) attach(ctx context.Context, tx pgx.Tx, statement string, args ...any) error {
	var paymentID string
	var attached bool
	switch err := tx.QueryRow(ctx, statement, args...).Scan(&paymentID, &attached); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	if !attached {
		return nil
	}
	s.Attached()
	if s.Log != nil {
		s.Log.InfoContext(ctx, "archived payment attached", telemetry.PaymentID, paymentID)
	}
	return nil
}

const (
	booksClosed = `SELECT coalesce(max(c.last_journal), 0) FROM ledger_closes c WHERE EXISTS (SELECT FROM treasury_closes t WHERE t.day = c.day)`
	oldMessages = `SELECT EXISTS (SELECT FROM outbox WHERE created_at < now() - interval '1 day')`

	// $1 and $2 bound the ids of a month.
	planArchive = `SELECT archive_wait(p.id, $3, $4), count(*) FROM ONLY payments p WHERE p.id >= $1 AND p.id < $2 GROUP BY 1 ORDER BY 1`

	numberArchive = `SELECT count(*) + 1 FROM archives WHERE month = $1::text::date`
	keepArchive   = `SELECT keep_archive($1, $2::text::date, $3, $4)`
	chooseMembers = `WITH chosen AS (INSERT INTO archive_members (archive, payment_id, digest) SELECT $1, p.id, payment_digest(p.id) FROM (
	SELECT p.id FROM ONLY payments p WHERE p.id >= $2 AND p.id < $3 AND p.id > $4 AND p.status IN ('settled', 'refunded', 'expired', 'cancelled')
		AND archive_wait(p.id, $5, $6) = '' ORDER BY p.id LIMIT $7) AS p RETURNING payment_id)
SELECT count(*), coalesce(max(payment_id), '') FROM chosen`
	sumMembers = `SELECT e.account, e.asset, coalesce(sum(e.amount) FILTER (WHERE e.amount > 0), 0), coalesce(-sum(e.amount) FILTER (WHERE e.amount < 0), 0)
FROM archive_members m, payment_entries(m.payment_id) e WHERE m.archive = $1 AND e.account !~ '^(test:)?(customer|payable):' GROUP BY 1, 2 ORDER BY 1, 2`

	unmovedArchives = `SELECT id, manifest FROM archives WHERE moved_at IS NULL ORDER BY id`
	confirmArchive  = `SELECT confirm_archive($1, $2)`
	moveMembers     = `SELECT payment, why FROM archive_payments($1, $2, $3, $4, $5)`
	endArchive      = `SELECT end_archive($1)`
	listArchives    = `SELECT a.id, a.manifest, a.payments, (SELECT count(*) FROM archived_payments p WHERE p.archive = a.id), a.made_at, a.verified_at, a.moved_at
FROM archives a ORDER BY a.id`
	archivedOf = `SELECT a.id, EXISTS (SELECT FROM ONLY payments p WHERE p.id = a.id) FROM archived_payments a WHERE a.archive = $1 ORDER BY a.id COLLATE "C"`

	// An export reads the journals of the days after one that is closed, and before another.
	daysArchived = `SELECT EXISTS (SELECT FROM archived_journals WHERE journals > 0 AND day > coalesce(nullif($1, '')::date, '-infinity')
AND day < $2::text::date)`

	// A process of another release may not know archives.
	otherReleases = `SELECT name || ' ' || version FROM processes
WHERE told_at > now() - interval '1 minute' AND (version, revision) <> ($1, $2) ORDER BY name`
)

// ArchiveTime implements archive.Store.
func (s *Store) ArchiveTime(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, databaseTime).Scan(&now)
	return now, wrap(err, "read the time")
}

// OtherReleases implements archive.Store.
func (s *Store) OtherReleases(ctx context.Context) ([]string, error) {
	build := version.Read()
	rows, err := s.pool.Query(ctx, otherReleases, build.Version, build.Revision)
	if err != nil {
		return nil, fmt.Errorf("list processes of other releases: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, wrap(err, "list processes of other releases")
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
func (s *Store) MakeArchive(ctx context.Context, c archive.Choice, write func(archive.Source) (digest []byte, err error)) (last string, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		closed, err := closedBooks(ctx, tx)
		if err != nil {
			return err
		}
		var number int
		day := c.Month.Format(time.DateOnly)
		if err := tx.QueryRow(ctx, numberArchive, day).Scan(&number); err != nil {
			return err
		}
		src := &source{ctx: ctx, tx: tx, id: archive.Name(c.Month, number)}
		low, high := monthOf(c.Month)
		err = tx.QueryRow(ctx, chooseMembers, src.id, low, high, c.After, c.Before, closed, c.Most).Scan(&src.payments, &last)
		if err != nil || src.payments == 0 {
			return err
		}
		digest, err := write(src)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, keepArchive, src.id, day, digest, src.payments)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make an archive of %s: %w", c.Month.Format("2006-01"), err)
	}
	return last, nil
}

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

// copied are the tables of an archive, with the order of their rows, how these belong to a member m, and their columns.
// Persons stay in the database, where they can be erased, and so do the metadata and the description of a merchant.
var copied = []struct{ table, order, joined, columns string }{
	{"payments", "t.id", "ONLY payments t ON t.id = m.payment_id", `
		id reference merchant_id key_id mode type version sequence status exception due_at fiat_currency fiat_amount
		charge_from crypto network network_name crypto_amount payout_amount charge_fiat charge_crypto charge_usd
		transaction_usd rate price family address wallet_id preferred_crypto preferred_network rail bank_ref
		callback_url funding timing claim payout hold ended closed underpaid overpaid wrong_asset reorged screening
		received transfers credit_n credit_crypto credit_payout credit_fee credit_frozen attempt holds
		token_expires_at refund_address refund_tx settlement_ref created_at expires_at deadline_at fulfilled_at
		claimed_at confirmed_at settled_at trace credit_fee_crypto credit_fee_usd late_rate ignored waits_until
		refunds refund_address_from refund_address_proposed refund_proposals fee_schedule fee_tiers unclaimed
		to_balance merchant_reference locale return_url changes changed_at`},
	{"history_rows", "t.payment_id, t.version, t.n", "history_rows t ON t.payment_id = m.payment_id", `
		payment_id version n trigger from_state to_state exception at`},
	{"deposits", "t.payment_id, t.key", "deposits t ON t.payment_id = m.payment_id", `
		mode key version payment_id family network address asset contract tx_hash amount reverted block_height
		block_hash block_time first_seen_at depth finalized senders usd booked booked_amount bookings counted
		created_at screening witness refunded booked_block`},
	{"payouts", "t.payment_id, t.id", "payouts t ON t.payment_id = m.payment_id", `
		id payment_id mode reference attempt rail currency amount state frozen lease_until sends sent_at polls misses
		first_miss_at next_at taken_until paged no_float rail_id reason fee created_at done_at first_sent_at stopped
		answer answer_at concluded concluded_at contradicted`},
	{"screenings", "t.id", "screenings t ON t.payment_id = m.payment_id", `
		id mode payment_id deposit stage verdict reason lists addresses at`},
	{"ledger_accounts", "t.code", "ledger_accounts t ON t.payment_id = m.payment_id", `
		code asset normal payment_id balance`},
	{"ledger_journals", "t.id", "ledger_journals t ON t.payment_id = m.payment_id", `
		id key event payment_id created_at accounts assets amounts`},
	{"ledger_lines", "t.journal_id, t.line", "ledger_journals j ON j.payment_id = m.payment_id JOIN ledger_lines t ON t.journal_id = j.id", `
		journal_id line account asset side amount`},
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
	for _, c := range copied {
		if c.table != table {
			continue
		}
		columns = strings.Fields(c.columns)
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
	var known bool
	err := s.pool.QueryRow(ctx, confirmArchive, a.ID, a.Manifest).Scan(&known)
	if err == nil && !known {
		err = errors.New("the database knows it with another manifest")
	}
	return wrap(err, "confirm archive "+a.ID)
}

// MoveArchived implements archive.Store. The transaction is short, because the daily close waits for it.
func (s *Store) MoveArchived(ctx context.Context, archiveID, after string, before time.Time, most int) (last string, whys []string, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		last, whys = "", nil
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
		var open bool
		if err := tx.QueryRow(ctx, endArchive, archiveID).Scan(&open); err != nil || !open {
			return err
		}
		return s.audit(ctx, tx, operator, "payments.archived", map[string]any{"archive": archiveID})
	})
	return wrap(err, "end archive "+archiveID)
}

// ArchivedOf implements archive.Store.
func (s *Store) ArchivedOf(ctx context.Context, archiveID string, each func(paymentID string, twice bool) error) error {
	var paymentID string
	var twice bool
	return s.whole(ctx, archivedOf, []any{&paymentID, &twice}, func() error { return each(paymentID, twice) }, archiveID)
}

// AttachPayment implements archive.Store.
func (s *Store) AttachPayment(ctx context.Context, operator, paymentID string) (attached bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		switch err := tx.QueryRow(ctx, attachByID, paymentID).Scan(&paymentID, &attached); {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil || !attached: // somebody else has attached it
			return err
		}
		return s.audit(ctx, tx, operator, "payment.attached", map[string]any{"paymentId": paymentID})
	})
	const raised = "P0001"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == raised {
		err = fmt.Errorf("%w: %s", archive.ErrRefused, pg.Message)
	}
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
