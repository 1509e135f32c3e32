package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/link"
	"causeway.internal/services/payments/internal/payment"
)

// Creates that come while others are being written share the next statement, which writes all of them in one
// transaction or none. A create that would make the statement fail is left out of it: one whose key has an answer or is
// another's beside it, whose merchant's reference is taken or another's beside it, or whose amount is above a daily
// limit. The statement waits only briefly for a row that another request has locked. A create that was left out is
// written alone by its own caller, and so is each of them if the statement fails. So no request makes another's fail.

// birth is a create that waits for a statement.
type birth struct {
	change.Newborn
	values []any // of insertPayments, without those of the key and the reservations
}

// Insert implements intake.Store.
func (s *Store) Insert(ctx context.Context, n change.Newborn) error {
	event, first, err := born(n.Facts)
	if err != nil {
		return err
	}
	msg, err := s.event(ctx, event, change.View{Payment: event.Payment}, "")
	if err != nil {
		return err
	}
	n.Payment.Version, n.Payment.Trace = 1, telemetry.TraceParent(ctx)
	r, err := s.recordOf(payment.Payment{}, n.Payment)
	if err != nil {
		return err
	}
	values := append(r.values(newborn), nullText(n.WalletID), pastOf(n.Payment, []payment.Fact{first}).changes)
	b := birth{n, slices.Clip(append(values, msg.Args()...))}
	switch err := s.insert(ctx, b); {
	case err == nil:
		s.tell(about(ctx, n.Payment), Move{Mode: n.Payment.Mode, Type: n.Payment.Type, From: first.From, To: first.To})
		s.Wake()
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return s.refused(ctx, n.Key)
	case postgres.IsUnique(err, "payments_address"):
		return change.ErrAddressUsed
	case postgres.IsUnique(err, "payments_reference"):
		return change.ErrReferenceUsed
	case isReferenceTaken(err):
		return change.ErrMerchantReference
	case isOverLimit(err):
		return change.ErrDailyLimit
	case errors.Is(err, link.ErrClosed):
		return err
	case n.Key.Sent() && idempotency.IsTaken(err):
		return idempotency.ErrTaken
	default:
		return fmt.Errorf("insert payment %s: %w", n.Payment.ID, err)
	}
}

// insert writes a create, among others or alone. With a link it is one transaction with the link's count.
func (s *Store) insert(ctx context.Context, b birth) error {
	if b.Link != "" {
		return postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			if err := use(ctx, tx, b.Link, b.Payment.ID); err != nil {
				return err
			}
			return insertAlone(ctx, tx, b)
		})
	}
	calls := &s.births
	if len(b.Reservations) > 0 { // they may wait for each other's limits, and nobody else for theirs
		calls = &s.limited
	}
	done, err := calls.Ask(ctx, b)
	if err != nil {
		return err
	}
	if !done.Alone {
		return done.Err
	}
	return s.lone.In(ctx, func() error { return insertAlone(ctx, s.pool, b) })
}

func insertAlone(ctx context.Context, q postgres.Querier, b birth) error {
	sql, args := b.statement()
	var inserted string
	return q.QueryRow(ctx, sql, args...).Scan(&inserted)
}

// statement returns the statement that writes one create, and its arguments.
func (b birth) statement() (sql string, args []any) {
	sql, args = insertPayment, b.values
	if b.Key.Sent() {
		sql = insertPaymentKeyed
		args = append(args, idempotency.Args(b.Key, b.Answer)...)
	}
	if len(b.Reservations) > 0 {
		if sql = insertPaymentLimited; b.Key.Sent() {
			sql = insertPaymentKeyedLimited
		}
		args = append(args, limitArgs(b.Reservations)...)
	}
	return sql, args
}

// deliver writes creates in one transaction.
func (s *Store) deliver(ctx context.Context, births []birth) ([]idempotency.Delivered, error) {
	out := make([]idempotency.Delivered, len(births))
	for i := range out {
		out[i].Alone = true
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return out, nil //nolint:nilerr // nothing was sent
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), idempotency.SharedWithin)
	defer cancel()
	places := distinct(births)
	some := make([]birth, len(places))
	for i, place := range places {
		some[i] = births[place]
	}
	written, err := insertAll(ctx, conn, some)
	alone := idempotency.Undone(s.Log, "shared create undone", len(some), err)
	for i, place := range places {
		switch {
		case alone, err == nil && !written[i] && len(births) > 1:
		case err != nil:
			out[place] = idempotency.Delivered{Err: err}
		case !written[i]:
			out[place] = idempotency.Delivered{Err: pgx.ErrNoRows}
		default:
			out[place] = idempotency.Delivered{}
		}
	}
	return out, nil
}

// distinct returns the places of the creates of which none has the key or the merchant's reference of one before it.
func distinct(births []birth) []int {
	places, known := make([]int, 0, len(births)), map[[4]string]bool{}
	for i, b := range births {
		p := b.Payment
		key, reference := [4]string{"key", b.Key.Scope, b.Key.Key}, [4]string{p.MerchantID, string(p.Mode), "reference", p.Shop.MerchantReference}
		if b.Key.Sent() && known[key] || p.Shop.MerchantReference != "" && known[reference] {
			continue
		}
		places = append(places, i)
		known[key], known[reference] = b.Key.Sent(), p.Shop.MerchantReference != ""
	}
	return places
}

// insertAll runs the statement of creates and reports which of them it has written.
func insertAll(ctx context.Context, on sender, births []birth) ([]bool, error) {
	batch := &pgx.Batch{}
	batch.Queue(idempotency.BrieflySQL)
	written := make([]bool, len(births))
	if len(births) == 1 {
		sql, args := births[0].statement()
		batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			written[0] = rows.Next()
			rows.Close()
			return rows.Err()
		})
		return written, on.SendBatch(ctx, batch).Close()
	}
	rows, limited := make([][]any, len(births)), false
	for i, b := range births {
		if b.Key.Sent() {
			rows[i] = append(b.values[:len(b.values):len(b.values)], idempotency.Args(b.Key, b.Answer)...)
		} else {
			rows[i] = append(b.values[:len(b.values):len(b.values)], make([]any, idempotencyArgs)...)
		}
		limited = limited || len(b.Reservations) > 0
	}
	sql, args := insertPayments, lists(rows)
	if limited {
		sql, args = insertPaymentsLimited, append(args, limitLists(births)...)
	}
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		var place int
		_, err := pgx.ForEachRow(rows, []any{&place}, func() error {
			written[place-1] = true
			return nil
		})
		return err
	})
	return written, on.SendBatch(ctx, batch).Close()
}

// limitLists are the reservations of several creates as arrays, the first of which has the places of their creates.
func limitLists(births []birth) []any {
	var places []int
	var all []change.Reservation
	for i, b := range births {
		for _, r := range b.Reservations {
			places, all = append(places, i+1), append(all, r)
		}
	}
	return append([]any{places}, limitArgs(all)...)
}

// makeInserts returns the statement of makeInsert over lists of these values. It returns the places of the payments
// that it has written. The changes of one are lines of a text, and its key is null where its caller sent none. Rows
// that other requests may want as well are taken in one order, so that no two statements wait for each other.
func makeInserts(limited bool) string {
	var args, names, cols, vals []string
	list := func(name, typ string) {
		args, names = append(args, fmt.Sprintf("$%d::%s[]", len(args)+1, typ)), append(names, name)
	}
	for _, c := range columns {
		if !newborn(c) {
			continue
		}
		typ, val := c.listed()
		list(c.name, typ)
		cols, vals = append(cols, c.name), append(vals, val)
	}
	for _, name := range []string{"wallet_id", "changes", "name", "message_id", "headers"} {
		list(name, "text")
	}
	list("body", "bytea")
	for i, name := range idempotency.Columns {
		list(name, idempotency.ColumnTypes[i])
	}
	n, within := len(args)+1, ""
	if limited {
		within = fmt.Sprintf(withinLimits, n, n+1, n+2, n+3, n+4, n+5)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `WITH given AS (
	SELECT * FROM unnest(%[1]s) WITH ORDINALITY AS k(%[2]s, place)
), p AS (
	INSERT INTO payments (%[3]s, wallet_id, changes, changed_at) SELECT %[4]s, k.wallet_id, string_to_array(k.changes, E'\n'), ARRAY[now()] FROM given k
	WHERE (SELECT true FROM idempotency i WHERE i.id = k.answer_id LIMIT 1) IS NULL
	AND (SELECT true FROM deposits d WHERE d.mode = k.mode AND d.family = k.family AND d.address = k.address LIMIT 1) IS NULL
	AND (SELECT true FROM archived_payments a WHERE a.mode = k.mode AND a.family = k.family AND a.address = k.address LIMIT 1) IS NULL
	AND (SELECT true FROM archived_payments a WHERE a.reference = k.reference LIMIT 1) IS NULL
	AND (SELECT true FROM merchant_references r WHERE r.merchant_id = k.merchant_id AND r.mode = k.mode AND r.reference = k.merchant_reference
		AND k.merchant_reference <> '' AND (%[7]s) IS NOT TRUE LIMIT 1) IS NULL%[8]s RETURNING id
), b AS (
	SELECT k.id, k.merchant_id, k.mode, k.merchant_reference, k.name, k.message_id, k.headers, k.body, %[5]s, k.place FROM given k JOIN p USING (id)
), o AS (
	INSERT INTO outbox (name, message_id, headers, body) SELECT name, message_id, headers, body FROM b ORDER BY place
), %[9]s, k AS (
	%[6]s
)`, strings.Join(args, ", "), strings.Join(names, ", "), strings.Join(cols, ", "), strings.Join(vals, ", "),
		"k."+strings.Join(idempotency.Columns, ", k."), idempotency.InsertFrom("b"), endedWithoutMoney, within, takeReferences)
	if limited {
		fmt.Fprintf(&b, reservedTogether, n, n+1, n+2, n+3, n+4, n+5)
	}
	b.WriteString("\nSELECT place FROM b")
	return b.String()
}

// isReferenceTaken reports a create whose merchantReference another payment has.
func isReferenceTaken(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.ConstraintName == "merchant_references_free"
}

// refused returns the reason why the insert wrote nothing: the key has an answer, or the address has received money.
func (s *Store) refused(ctx context.Context, k idempotency.Key) error {
	_, found, err := idempotency.Find(ctx, s.pool, k)
	_, otherBody := errors.AsType[*fault.Error](err)
	switch {
	case found, otherBody:
		return idempotency.ErrTaken
	case err != nil:
		return err
	}
	return change.ErrAddressUsed
}

// born returns the facts of a create. The insert writes exactly one change and one event.
func born(facts []payment.Fact) (payment.Event, payment.Change, error) {
	var event payment.Event
	var change payment.Change
	events, changes := 0, 0
	for _, f := range facts {
		switch f := f.(type) {
		case payment.Event:
			event, events = f, events+1
		case payment.Change:
			change, changes = f, changes+1
		}
	}
	if len(facts) != 2 || events != 1 || changes != 1 {
		return event, change, fmt.Errorf("a create gave %d facts, want one change and one event", len(facts))
	}
	return event, change, nil
}
