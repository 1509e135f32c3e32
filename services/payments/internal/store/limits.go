package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

const (
	// today is the day of a limit.
	today = `(now() AT TIME ZONE 'UTC')::date`
	// asked are the reservations of one statement, in five arrays. The format arguments are the numbers of the parameters.
	asked = `unnest($%[1]d::text[], $%[2]d::bytea[], $%[3]d::text[], $%[4]d::text[], $%[5]d::text[]) AS r(kind, subject, currency, amount, most)`
	// countUsage and noteReservation take a payment's id from p.
	countUsage = `INSERT INTO limit_usage AS u (day, kind, subject, currency, used, most)
	SELECT ` + today + `, r.kind, r.subject, r.currency, r.amount::numeric, r.most::numeric FROM p, ` + asked + `
	` + usageCounted
	usageCounted    = `ON CONFLICT (day, kind, subject, currency) DO UPDATE SET used = u.used + excluded.used, most = excluded.most`
	noteReservation = `INSERT INTO limit_reservations (payment_id, kind, day, subject, currency, amount)
	SELECT p.id, r.kind, ` + today + `, r.subject, r.currency, r.amount::numeric FROM p, ` + asked + `
	ON CONFLICT (payment_id, kind) DO NOTHING`

	askedTogether = `unnest($%[1]d::int[], $%[2]d::text[], $%[3]d::bytea[], $%[4]d::text[], $%[5]d::text[], $%[6]d::text[])
		AS r(place, kind, subject, currency, amount, most)`
	// withinLimits leaves out a create k for which a limit has no room.
	withinLimits = `
	AND (SELECT true FROM ` + askedTogether + ` LEFT JOIN limit_usage u
		ON u.day = ` + today + ` AND u.kind = r.kind AND u.subject = r.subject AND u.currency = r.currency
		WHERE r.place = k.place AND coalesce(u.used, 0) + r.amount::numeric > r.most::numeric LIMIT 1) IS NULL`
	// reservedTogether ends the statement that writes several creates b. It counts their reservations, which come in
	// arrays that begin with the place of the create.
	reservedTogether = `, r AS (
	SELECT b.id, r.* FROM b JOIN ` + askedTogether + ` USING (place)
), u AS (
	INSERT INTO limit_usage AS u (day, kind, subject, currency, used, most)
	SELECT ` + today + `, kind, subject, currency, sum(amount::numeric), min(most::numeric) FROM r GROUP BY kind, subject, currency ORDER BY kind, subject, currency
	` + usageCounted + `
), n AS (
	INSERT INTO limit_reservations (payment_id, kind, day, subject, currency, amount)
	SELECT id, kind, ` + today + `, subject, currency, amount::numeric FROM r
	ON CONFLICT (payment_id, kind) DO NOTHING
)`

	// lockedUsage are the counts of r, locked in the order in which creates lock them: kind by kind.
	lockedUsage = `l AS (
	SELECT r.* FROM r JOIN limit_usage u ON u.day = r.day AND u.kind = r.kind AND u.subject = r.subject AND u.currency = r.currency
	ORDER BY r.kind FOR UPDATE OF u
)`
	// A payment that has ended no longer counts.
	releaseLimits = `WITH r AS (
	UPDATE limit_reservations SET released = true WHERE payment_id = $1 AND NOT released RETURNING *
), ` + lockedUsage + `
UPDATE limit_usage u SET used = u.used - l.amount FROM l
WHERE u.day = l.day AND u.kind = l.kind AND u.subject = l.subject AND u.currency = l.currency`
	// A payment that late money has revived counts again, even above the limit, because its money has arrived. overLimit
	// holds it before its payout leaves.
	restoreLimits = `WITH r AS (
	UPDATE limit_reservations SET released = false, restored = true WHERE payment_id = $1 AND released RETURNING *
), ` + lockedUsage + `
UPDATE limit_usage u SET used = u.used + l.amount, most = greatest(u.most, u.used + l.amount) FROM l
WHERE u.day = l.day AND u.kind = l.kind AND u.subject = l.subject AND u.currency = l.currency`
	// A merchant's limit that was lowered holds no payout of a payment that was within it; one of settings holds all.
	overLimit = `SELECT EXISTS (SELECT FROM (
	SELECT day, kind, subject, currency, restored FROM limit_reservations WHERE payment_id = $1 AND NOT released
	UNION ALL SELECT day, kind, subject, currency, false FROM limit_differences WHERE payment_id = $1 AND NOT waived) AS r
	JOIN limit_usage u ON u.day = r.day AND u.kind = r.kind AND u.subject = r.subject AND u.currency = r.currency
	JOIN unnest($2::text[], $3::text[]) AS l(kind, most) ON l.kind = r.kind
	WHERE u.used - u.waived > l.most::numeric AND (r.restored OR r.kind <> '` + admission.LimitMerchant + `'))`
	forgetUsedLimits = `DELETE FROM limit_usage WHERE day < current_date - 3`
	forgetReserved   = `DELETE FROM limit_reservations WHERE day < current_date - 3`
	forgetDiffering  = `DELETE FROM limit_differences WHERE day < current_date - 3`

	// An undone conversion gives back the difference that it counted beside the quote.
	undoDifference = `WITH r AS (
	DELETE FROM limit_differences WHERE payment_id = $1 RETURNING *
), ` + lockedUsage + `
UPDATE limit_usage u SET used = u.used - l.amount, waived = u.waived - CASE WHEN l.waived THEN l.amount ELSE 0 END, most = greatest(u.most, u.used - l.amount)
FROM l WHERE u.day = l.day AND u.kind = l.kind AND u.subject = l.subject AND u.currency = l.currency`

	// Open payments are every merchant's runs of the open statuses, as in listOwned. No other rows are read.
	exposure = `SELECT o.crypto, o.fiat_currency, coalesce(sum(o.crypto_amount) FILTER (WHERE s.status IN ('pending', 'confirming')), 0), sum(o.promised)
FROM unnest('{pending,confirming,confirmed,settling}'::text[]) AS s(status) CROSS JOIN unnest($2::text[]) AS t(type) CROSS JOIN LATERAL (
	SELECT p.crypto, p.fiat_currency, p.crypto_amount, CASE WHEN p.credit_frozen THEN p.credit_payout ELSE p.payout_amount END AS promised FROM payments p
	WHERE p.status = s.status AND p.type = t.type AND p.mode = $1
	OFFSET 0) AS o
WHERE o.crypto <> '' GROUP BY o.crypto, o.fiat_currency`
)

var (
	reserveLimits = "WITH p AS (SELECT $1::text AS id), n AS (" + fmt.Sprintf(noteReservation, 2, 3, 4, 5, 6) + ")\n" + fmt.Sprintf(countUsage, 2, 3, 4, 5, 6)

	// An amount above the quote counts on the day of the conversion. It is refused where the limit has no room, unless an
	// operator decided on it. An amount below the quote is given back on the day of the reservation.
	bookDifference = fmt.Sprintf(`WITH a AS (
	SELECT r.kind, r.subject, r.currency, r.amount::numeric AS amount, r.most::numeric AS most, $7 AND r.amount::numeric > 0 AS waived,
		CASE WHEN r.amount::numeric > 0 THEN `+today+` ELSE q.day END AS day
	FROM `+asked+` LEFT JOIN limit_reservations q ON q.payment_id = $1 AND q.kind = r.kind AND NOT q.released
	WHERE r.amount::numeric > 0 OR q.day IS NOT NULL
), n AS (
	INSERT INTO limit_differences (payment_id, kind, day, subject, currency, amount, waived)
	SELECT $1, kind, day, subject, currency, amount, waived FROM a
)
INSERT INTO limit_usage AS u (day, kind, subject, currency, used, most, waived)
SELECT day, kind, subject, currency, amount, CASE WHEN waived THEN greatest(most, amount) ELSE most END, CASE WHEN waived THEN amount ELSE 0 END FROM a
ORDER BY kind
ON CONFLICT (day, kind, subject, currency) DO UPDATE SET used = u.used + excluded.used, waived = u.waived + excluded.waived,
	most = CASE WHEN excluded.waived > 0 OR excluded.used < 0 THEN greatest(u.most, u.used + excluded.used) ELSE excluded.most END`, 2, 3, 4, 5, 6)

	insertPaymentLimited      = makeInsert(false, true)
	insertPaymentKeyedLimited = makeInsert(true, true)
	insertPaymentsLimited     = makeInserts(true)
)

// limitArgs are reservations as five arrays.
func limitArgs(rs []change.Reservation) []any {
	n := len(rs)
	kinds, subjects, currencies, amounts, most := make([]string, n), make([][]byte, n), make([]string, n), make([]string, n), make([]string, n)
	for i, r := range rs {
		kinds[i], subjects[i], currencies[i], amounts[i], most[i] = r.Kind, r.Subject, string(r.Currency), r.Amount.String(), r.Most.String()
	}
	return []any{kinds, subjects, currencies, amounts, most}
}

// isOverLimit reports a write that a daily limit refused.
func isOverLimit(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.ConstraintName == "limit_usage_within"
}

// queueLimits counts the people that a change names and the amount that it converts. It releases the reservations of a
// payment that ends, and restores those of a payment that is revived.
func (s *Store) queueLimits(batch *pgx.Batch, before, next payment.Payment, r change.Result) {
	if len(r.Reservations) > 0 {
		batch.Queue(reserveLimits, append([]any{next.ID}, limitArgs(r.Reservations)...)...)
	}
	// A revived payment counts its quote first: the limit must have room for the quote and the difference together.
	if s.Daily.Counts(next) && ended(before) && !ended(next) {
		batch.Queue(restoreLimits, next.ID)
	}
	undo, book := s.Daily.Differences(s.keys, before, next)
	if undo {
		batch.Queue(undoDifference, next.ID)
	}
	if len(book) > 0 {
		batch.Queue(bookDifference, append(append([]any{next.ID}, limitArgs(book)...), r.Decision != nil)...)
	}
	if s.Daily.Counts(next) && ended(next) && !ended(before) {
		batch.Queue(releaseLimits, next.ID)
	}
}

// mayPass reports a change of an existing payment that a daily limit may refuse: it freezes a conversion without an
// operator's decision.
func (s *Store) mayPass(before payment.Payment, r change.Result) bool {
	after := r.Payment
	return s.Daily.Counts(after) && r.Decision == nil && after.Credit.Frozen && after.Credit.N != before.Credit.N
}

// ended reports a payment without a payout.
func ended(p payment.Payment) bool {
	switch p.Status() {
	case payment.StatusExpired, payment.StatusCancelled, payment.StatusRefunded:
		return true
	case payment.StatusCreated, payment.StatusPending, payment.StatusConfirming, payment.StatusConfirmed, payment.StatusSettling, payment.StatusSettled,
		payment.StatusNeedsReview:
	}
	return false
}

// queueOverLimit reads, under the payment's lock, whether a payout would exceed a daily limit.
func (s *Store) queueOverLimit(read *pgx.Batch, v *change.View) {
	limits := s.Daily.Of(v.Payment)
	if len(limits) == 0 {
		return
	}
	kinds, most := make([]string, len(limits)), make([]string, len(limits))
	for i, l := range limits {
		kinds[i], most[i] = l.Kind, l.Most.String()
	}
	read.Queue(overLimit, v.Payment.ID, kinds, most).QueryRow(func(row pgx.Row) error { return row.Scan(&v.OverLimit) })
}

// forgetLimits deletes the counts of past days.
func (s *Store) forgetLimits(ctx context.Context) error {
	for _, sql := range []string{forgetUsedLimits, forgetReserved, forgetDiffering} {
		if _, err := s.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("forget old limits: %w", err)
		}
	}
	return nil
}

// Exposure adds up what is open of a mode.
func (s *Store) Exposure(ctx context.Context, mode tenant.Mode) (admission.Exposure, error) {
	out := admission.Exposure{Crypto: map[string]decimal.Decimal{}, Fiat: map[money.Currency]decimal.Decimal{}}
	rows, err := s.pool.Query(ctx, exposure, string(mode), typeNames("", payment.Types()))
	if err != nil {
		return out, fmt.Errorf("sum the open payments: %w", err)
	}
	var asset string
	var currency money.Currency
	var crypto, fiat decimal.Decimal
	_, err = pgx.ForEachRow(rows, []any{&asset, &currency, &crypto, &fiat}, func() error {
		out.Crypto[asset], out.Fiat[currency] = out.Crypto[asset].Add(crypto), out.Fiat[currency].Add(fiat)
		return nil
	})
	return out, wrap(err, "sum the open payments")
}
