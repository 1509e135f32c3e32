package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/statistics"
)

const (
	// One statement has one snapshot, in which each payment is counted once: by the sums, or by news that the leader has
	// not added to them.
	sumStatistics = `SELECT CASE WHEN 'day' = ANY($9) THEN to_char(day, 'YYYY-MM-DD') ELSE '' END AS d, CASE WHEN 'type' = ANY($9) THEN type ELSE '' END AS t,
	fiat_currency AS c, CASE WHEN 'network' = ANY($9) THEN network ELSE '' END AS n, status, speed,
	sum(payments)::bigint, sum(usd), sum(fiat), sum(fee), sum(payout), sum(settling_ms)::bigint
FROM (
	SELECT * FROM statistics WHERE merchant_id = $1 AND mode = $2 AND day BETWEEN $3::text::date AND $4::text::date
	UNION ALL
	SELECT * FROM statistics_news WHERE merchant_id = $1 AND mode = $2 AND day BETWEEN $3::text::date AND $4::text::date
) AS counted
WHERE ($5 = '' OR fiat_currency = $5) AND ($6 = '' OR network = $6) AND type = ANY($7)
GROUP BY d, t, c, n, status, speed HAVING sum(payments) > 0 ORDER BY d, t, c, n, status, speed LIMIT $8`

	// A limit in the text, here and in other looks of timers, is planned once for each connection. A limit that is an
	// argument is planned anew for each look, because PostgreSQL takes it to be a tenth of the table otherwise.
	// A row of news that another process takes at the same time is passed over: it is in that process's sums.
	foldStatistics = `WITH news AS (
	DELETE FROM statistics_news WHERE ctid = ANY(ARRAY(SELECT ctid FROM statistics_news LIMIT ` + foldMost + `)) RETURNING *
), sums AS (
	SELECT merchant_id, mode, day, type, fiat_currency, network, status, speed, sum(payments)::bigint AS payments, sum(fiat) AS fiat,
		sum(usd) AS usd, sum(fee) AS fee, sum(payout) AS payout, sum(settling_ms)::bigint AS settling_ms
	FROM news GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
), added AS (
	INSERT INTO statistics AS s SELECT * FROM sums WHERE (payments, fiat, usd, fee, payout, settling_ms) IS DISTINCT FROM (0, 0, 0, 0, 0, 0) ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
	ON CONFLICT (merchant_id, mode, day, type, fiat_currency, network, status, speed) DO UPDATE SET payments = s.payments + excluded.payments,
		fiat = s.fiat + excluded.fiat, usd = s.usd + excluded.usd, fee = s.fee + excluded.fee, payout = s.payout + excluded.payout,
		settling_ms = s.settling_ms + excluded.settling_ms
)
SELECT count(*) >= ` + foldMost + ` FROM news`
)

// Statistics implements statistics.Store.
func (s *Store) Statistics(ctx context.Context, f statistics.Filter, most int) ([]statistics.Row, error) {
	const day = "2006-01-02"
	by := f.By
	if by == nil {
		by = []string{}
	}
	rows, err := s.pool.Query(ctx, sumStatistics, f.Owner.MerchantID, string(f.Owner.Mode), f.From.Format(day), f.To.Format(day),
		string(f.Currency), f.Network, typeNames(f.Type, payment.Types()), most, by)
	if err != nil {
		return nil, fmt.Errorf("read statistics: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r statistics.Row, err error) {
		err = row.Scan(&r.Day, &r.Type, &r.Currency, &r.Network, &r.Status, &r.Speed, &r.Payments, &r.USD, &r.Fiat, &r.Fee, &r.Payout, &r.SettlingMS)
		return r, err
	})
	return found, wrap(err, "read statistics")
}

// foldMost is how many rows of news foldStatistics adds up.
const foldMost = "20000"

// FoldStatistics adds the news of payments to the sums. Answers are exact without it, but read every row of news.
func (s *Store) FoldStatistics(ctx context.Context) error {
	for {
		var more bool
		if err := s.pool.QueryRow(ctx, foldStatistics).Scan(&more); err != nil {
			return fmt.Errorf("add up statistics: %w", err)
		}
		if !more {
			return nil
		}
	}
}
