package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// The statements of lists and of retries.
const (
	attemptsSQL = `SELECT delivery_id, number, trigger, at, class, coalesce(status, 0), dns_us, connect_us, tls_us, wait_us, total_us, excerpt
FROM attempt WHERE delivery_id = ANY($1::text[]) ORDER BY delivery_id, at`

	// eventsSQL lists events in the order in which they became visible: those of transactions that still run, or that
	// began after such a one, are left for the next page. Transaction ids are the whole server's: a transaction that is
	// known to run in another database writes no event and holds nothing back. The order names the table's column: a
	// bare tx is the text that is selected, and in text 10000 comes before 9999.
	eventsSQL = `SELECT e.id, e.tx::text, e.body FROM event e
WHERE e.merchant_id = $1 AND e.mode = $2 AND (e.tx, e.id) > ($3::text::xid8, $4)
	AND (e.tx >= pg_snapshot_xmax(pg_current_snapshot()) OR e.tx < coalesce((
		SELECT min(x::text::bigint)::text::xid8 FROM pg_snapshot_xip(pg_current_snapshot()) AS x WHERE NOT EXISTS (
			SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
			WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.transactionid = x::xid
				AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database()))
		), pg_snapshot_xmax(pg_current_snapshot())))
	AND ($5 = '' OR e.type = $5) AND ($6::timestamptz IS NULL OR e.occurred_at >= $6)
ORDER BY e.tx, e.id LIMIT $7`

	// inOrderSQL keeps the planner to the index that has the order of eventsSQL. Where its statistics lag behind, it
	// expects few events behind a cursor, and would read and sort all of them for one page. eventsSQL has nothing that
	// only a sort can do: one that is forced counts as so dear that the statement would be compiled first.
	inOrderSQL = `SET LOCAL enable_sort = off`

	// whereSQL says where a delivery is: 'due', 'leased' or over ('delivered', 'exhausted'), whether its endpoint takes
	// any, and whether it goes to a URL that the endpoint left too long ago.
	whereSQL = `SELECT x.state, x.target, coalesce(p.enabled AND p.deleted_at IS NULL, true),
	coalesce(x.endpoint_id <> x.target, false)
		AND NOT EXISTS (SELECT FROM earlier_url u WHERE u.endpoint_id = x.endpoint_id AND u.url = x.url AND u.until > now()) FROM (
	SELECT state, target, endpoint_id, url FROM delivery WHERE id = $3 AND merchant_id = $1 AND mode = $2
	UNION ALL SELECT state, target, endpoint_id, url FROM delivery_done WHERE id = $3 AND merchant_id = $1 AND mode = $2
) x LEFT JOIN endpoint p ON p.id = x.target LIMIT 1`
)

// retrySQL makes a delivery due now that waits for a retry, or that has ended; its schedule begins anew. bringBack is
// shared with replays.
var (
	retrySQL = `WITH u AS (
	UPDATE delivery SET next_at = now(), waits = false, trigger = 'manual', base = attempts
	WHERE id = $3 AND merchant_id = $1 AND mode = $2 AND state = 'due' RETURNING target, next_at
), b AS (
	DELETE FROM delivery_done WHERE id = $3 AND merchant_id = $1 AND mode = $2 RETURNING *
), i AS (` + bringBack("b", "'manual'", "NULL") + `)
` + touch("(SELECT * FROM u UNION ALL SELECT * FROM i) y")

	// probeSQL lets one delivery through an open breaker now: a retry by hand is always made.
	probeSQL = `UPDATE lane SET probe_at = now() WHERE target = $1 AND probe_at > now()`
)

func bringBack(from, trigger, replayID string) string {
	return `INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state,
		attempts, base, next_at, last_class, last_status, created_at, first_attempt_at, trigger, replay_id)
	SELECT id, event_id, slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, 'due',
		attempts, attempts, now(), last_class, last_status, created_at, first_attempt_at, ` + trigger + `, ` + replayID + `
	FROM ` + from + ` ON CONFLICT DO NOTHING RETURNING target, next_at`
}

// deliveriesSQL lists deliveries, the newest first, from the hot table and from those that have ended. Every set of
// filters has a text, and so a plan, of its own: one that had to do for any filter could use the index of none.
// Behind an open breaker a delivery leaves at the next probe at the earliest.
func deliveriesSQL(o tenant.Owner, f app.DeliveryFilter, limit int) (sql string, args []any) {
	const status = `CASE WHEN p.enabled = false THEN 'held' WHEN d.attempts > 0 THEN 'retrying' ELSE 'pending' END`
	args = []any{limit}
	var hot, over strings.Builder
	and := func(column, operator, value string) {
		if value == "" {
			return
		}
		args = append(args, value)
		if column == "state" {
			fmt.Fprintf(&hot, " AND %s = $%d", status, len(args))
		} else {
			fmt.Fprintf(&hot, " AND d.%s %s $%d", column, operator, len(args))
		}
		fmt.Fprintf(&over, " AND %s %s $%d", column, operator, len(args))
	}
	and("merchant_id", "=", o.MerchantID)
	if o.MerchantID != "" {
		hot.WriteString(" AND d.merchant_id <> ''") // the condition of the index delivery_listed
	}
	and("mode", "=", string(o.Mode))
	and("id", "<", f.Before)
	and("id", "=", f.ID)
	and("endpoint_id", "=", f.EndpointID)
	and("event_id", "=", f.EventID)
	and("object_id", "=", f.ObjectID)
	and("type", "=", f.Type)
	and("state", "=", f.Status)
	return `SELECT * FROM (
	(SELECT d.merchant_id, d.mode, d.id, d.event_id, d.endpoint_id, d.url, d.type, d.object_id, d.sequence, ` + status + ` AS status,
		d.attempts, CASE WHEN p.enabled = false THEN NULL ELSE greatest(d.next_at, l.probe_at) END AS next_at,
		d.created_at, NULL::timestamptz AS done_at,
		NULL AS trigger, NULL::timestamptz AS at, NULL AS class, NULL::smallint AS code, NULL::bigint AS dns_us, NULL::bigint AS connect_us,
		NULL::bigint AS tls_us, NULL::bigint AS wait_us, NULL::bigint AS total_us, NULL::bytea AS excerpt
	FROM delivery d LEFT JOIN endpoint p ON p.id = d.target LEFT JOIN lane l ON l.target = d.target
	WHERE true` + hot.String() + ` ORDER BY d.id DESC LIMIT $1)
	UNION ALL
	(SELECT merchant_id, mode, id, event_id, endpoint_id, url, type, object_id, sequence, state, attempts, NULL, created_at, done_at,
		CASE WHEN remote IS NOT NULL THEN trigger END, first_attempt_at, last_class, last_status, dns_us, connect_us, tls_us, wait_us, total_us, excerpt
	FROM delivery_done
	WHERE true` + over.String() + ` ORDER BY id DESC LIMIT $1)
) x ORDER BY id DESC LIMIT $1`, args
}

// Deliveries implements app.Log.
func (s *Store) Deliveries(ctx context.Context, o tenant.Owner, f app.DeliveryFilter, limit int) ([]app.DeliveryView, error) {
	if o.MerchantID == "" || o.Mode == "" { // it would list those of all merchants
		return nil, errNoOwner
	}
	list, err := s.deliveries(ctx, o, f, limit)
	if err != nil {
		return nil, err
	}
	return list, s.attempts(ctx, list)
}

var errNoOwner = errors.New("list deliveries: the owner is missing")

func (s *Store) deliveries(ctx context.Context, o tenant.Owner, f app.DeliveryFilter, limit int) ([]app.DeliveryView, error) {
	sql, args := deliveriesSQL(o, f, limit)
	rows, err := s.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v app.DeliveryView, err error) {
		var endpoint *string
		var only first
		err = row.Scan(&v.Owner.MerchantID, &v.Owner.Mode, &v.ID, &v.EventID, &endpoint, &v.URL, &v.Type, &v.ObjectID, &v.Sequence, &v.Status, &v.Made, &v.NextAt, &v.CreatedAt, &v.DoneAt,
			&only.trigger, &only.at, &only.class, &only.status, &only.dns, &only.connect, &only.tls, &only.wait, &only.total, &only.excerpt)
		if endpoint != nil {
			v.EndpointID = *endpoint
		}
		if only.trigger != nil {
			v.Attempts = []app.AttemptView{only.view()}
		}
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// first is the attempt that lies in the row of a delivery that ended with it, as an earlier version wrote them.
// Without a trigger there is none.
type first struct {
	trigger, class                 *string
	at                             *time.Time
	status                         *int16
	dns, connect, tls, wait, total *int64
	excerpt                        []byte
}

func (f *first) view() app.AttemptView {
	a := app.AttemptView{
		Number: 1, Trigger: *f.trigger, At: *f.at, Class: *f.class,
		DNS: micro(*f.dns), Connect: micro(*f.connect), TLS: micro(*f.tls), Wait: micro(*f.wait), Total: micro(*f.total), Excerpt: f.excerpt,
	}
	if f.status != nil {
		a.Status = int(*f.status)
	}
	return a
}

// attempts adds what the log of attempts holds.
func (s *Store) attempts(ctx context.Context, list []app.DeliveryView) error {
	if len(list) == 0 {
		return nil
	}
	places, ids := make(map[string]int, len(list)), make([]string, len(list))
	for i := range list {
		places[list[i].ID], ids[i] = i, list[i].ID
	}
	rows, err := s.db.Query(ctx, attemptsSQL, ids)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	var id string
	var a app.AttemptView
	var dns, connect, tls, wait, total int64
	_, err = pgx.ForEachRow(rows, []any{&id, &a.Number, &a.Trigger, &a.At, &a.Class, &a.Status, &dns, &connect, &tls, &wait, &total, &a.Excerpt}, func() error {
		a.DNS, a.Connect, a.TLS, a.Wait, a.Total = micro(dns), micro(connect), micro(tls), micro(wait), micro(total)
		v := &list[places[id]]
		v.Attempts = append(v.Attempts, a)
		a.Excerpt = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	return nil
}

func micro(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Events implements app.Log.
func (s *Store) Events(ctx context.Context, o tenant.Owner, f app.EventFilter, limit int) ([]app.EventView, error) {
	var from *time.Time
	if !f.From.IsZero() {
		from = &f.From
	}
	var list []app.EventView
	err := pgx.BeginTxFunc(ctx, s.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, inOrderSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, eventsSQL, o.MerchantID, o.Mode, strconv.FormatUint(f.AfterTx, 10), f.AfterID, f.Type, from, limit)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (v app.EventView, err error) {
			var tx string
			if err = row.Scan(&v.ID, &tx, &v.Body); err == nil {
				v.Tx, err = strconv.ParseUint(tx, 10, 64)
			}
			return v, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return list, nil
}

// Retry implements app.Log.
func (s *Store) Retry(ctx context.Context, o tenant.Owner, id string, k idempotency.Key, body func(state string) ([]byte, error)) (idempotency.Answer, error) {
	return s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		state, err := retry(ctx, tx, o, id)
		if err != nil {
			return nil, err
		}
		return body(state)
	})
}

// retry makes a delivery due at once, and returns its state before.
func retry(ctx context.Context, tx pgx.Tx, o tenant.Owner, id string) (state string, err error) {
	var target string
	var taken, left bool
	err = tx.QueryRow(ctx, whereSQL, o.MerchantID, o.Mode, id).Scan(&state, &target, &taken, &left)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", app.ErrDeliveryUnknown
	case err != nil:
		return "", fmt.Errorf("look for the delivery: %w", err)
	case !taken:
		return "", app.ErrEndpointDisabled
	case left:
		return "", app.ErrURLLeft
	}
	if _, err := tx.Exec(ctx, retrySQL, o.MerchantID, o.Mode, id); err != nil {
		return "", fmt.Errorf("make the delivery due: %w", err)
	}
	if _, err := tx.Exec(ctx, probeSQL, target); err != nil {
		return "", fmt.Errorf("release the delivery: %w", err)
	}
	return state, nil
}
