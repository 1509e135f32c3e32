package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

const endpointColumns = `p.id, p.merchant_id, p.mode, p.url, p.description, p.types, p.enabled, coalesce(p.disabled_reason, ''), p.disabled_at,
	l.failing_since, p.created_at, p.updated_at, false`

// The statements of endpoints. Every one names merchant and mode, but the intake's, which asks for many at once and
// also for the earlier URLs at which no endpoint is now.
const (
	registeredSQL = `SELECT ` + endpointColumns + ` FROM unnest($1::text[], $2::text[]) AS o(merchant_id, mode)
JOIN endpoint p ON p.merchant_id = o.merchant_id AND p.mode = o.mode LEFT JOIN lane l ON l.target = p.id
WHERE p.deleted_at IS NULL
UNION ALL
SELECT x.endpoint_id, x.merchant_id, x.mode, x.url, '', '{}', true, '', NULL, NULL, x.until, x.until, true
FROM unnest($1::text[], $2::text[]) AS o(merchant_id, mode) JOIN earlier_url x ON x.merchant_id = o.merchant_id AND x.mode = o.mode
WHERE x.until > now() AND NOT EXISTS (
	SELECT FROM endpoint p WHERE p.id = x.endpoint_id AND p.url = x.url AND p.enabled AND p.deleted_at IS NULL)
ORDER BY 1, 4`
	endpointsSQL = `SELECT ` + endpointColumns + ` FROM endpoint p LEFT JOIN lane l ON l.target = p.id
WHERE p.merchant_id = $1 AND p.mode = $2 AND p.deleted_at IS NULL AND p.id > $3 ORDER BY p.id LIMIT $4`
	endpointSQL = `SELECT ` + endpointColumns + ` FROM endpoint p LEFT JOIN lane l ON l.target = p.id
WHERE p.merchant_id = $1 AND p.mode = $2 AND p.deleted_at IS NULL AND p.id = $3`
	lockEndpointSQL = `SELECT true FROM endpoint WHERE merchant_id = $1 AND mode = $2 AND deleted_at IS NULL AND id = $3 FOR UPDATE`
	lockOwnersSQL   = `SELECT pg_advisory_xact_lock(hashtextextended('endpoints' || chr(31) || $1 || chr(31) || $2, 0))`
	countOwnedSQL   = `SELECT count(*) FROM endpoint WHERE merchant_id = $1 AND mode = $2 AND deleted_at IS NULL`
	addEndpointSQL  = `INSERT INTO endpoint (id, merchant_id, mode, url, description, types, enabled, disabled_reason, disabled_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''), CASE WHEN $7 THEN NULL ELSE $9::timestamptz END, $9, $9)`
	// leaveURLSQL notes where a live endpoint was, before it is there no more, and says where.
	leaveURLSQL = `INSERT INTO earlier_url (endpoint_id, merchant_id, mode, url, until)
SELECT id, merchant_id, mode, url, now() + $4::bigint * interval '1 microsecond' FROM endpoint
WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND mode = 'live' AND enabled AND deleted_at IS NULL AND url_since < now() - interval '1 day'
ON CONFLICT (endpoint_id, url) DO UPDATE SET until = excluded.until RETURNING url`
	// fewURLsSQL keeps the last two: more do not fit into 48 hours, but an endpoint that comes back could renew older
	// ones.
	fewURLsSQL = `DELETE FROM earlier_url WHERE endpoint_id = $1 AND url IN (
	SELECT url FROM earlier_url WHERE endpoint_id = $1 ORDER BY until DESC OFFSET 2)`
	forgetURLsSQL = `DELETE FROM earlier_url WHERE until < now()`
	// guardedSQL has the deliveries of some types that an endpoint has yet to take. Older ones are not sent any more:
	// no schedule is longer than a week.
	guardedSQL = `SELECT id FROM delivery
WHERE endpoint_id = $1 AND target = $1 AND type = ANY($2::text[]) AND created_at > now() - interval '7 days'`
	// An endpoint that comes back to a URL that it left has had it for a day.
	changeEndpointSQL = `UPDATE endpoint SET url = $4, url_since = CASE WHEN url = $4 THEN url_since
		WHEN EXISTS (SELECT FROM earlier_url x WHERE x.endpoint_id = $3 AND x.url = $4 AND x.until > now()) THEN '-infinity' ELSE now() END,
	description = $5, types = $6, updated_at = now(), announced = true,
	disabled_reason = CASE WHEN $7 THEN NULL WHEN enabled THEN 'merchant' ELSE disabled_reason END,
	disabled_at = CASE WHEN $7 THEN NULL WHEN enabled THEN now() ELSE disabled_at END, enabled = $7
WHERE merchant_id = $1 AND mode = $2 AND id = $3`
	deleteEndpointSQL = `UPDATE endpoint SET deleted_at = now(), enabled = false, announced = true
WHERE merchant_id = $1 AND mode = $2 AND deleted_at IS NULL AND id = $3`
	// holdSQL holds a lane, or lets it go with a clean slate.
	holdSQL = `INSERT INTO lane (target, due_at, held) VALUES ($1, 'infinity', $2)
ON CONFLICT (target) DO UPDATE SET held = excluded.held, used_at = now(),
	failures = CASE WHEN excluded.held THEN lane.failures ELSE 0 END,
	failing_since = CASE WHEN excluded.held THEN lane.failing_since END,
	probe_at = CASE WHEN excluded.held THEN lane.probe_at END, warned = CASE WHEN excluded.held THEN lane.warned ELSE 0 END
WHERE lane.held <> excluded.held`
)

// alsoSQL adds, for the deliveries $1, those of the same events to the target $3 at the URL $4, with the ids $2. The
// list of ids keeps the join from reading the whole table, as in recordSQL.
var alsoSQL = `WITH i AS (
	INSERT INTO delivery (id, event_id, event_slot, merchant_id, mode, endpoint_id, target, url, type, object_id, sequence, state, next_at)
	SELECT n.fresh, d.event_id, d.event_slot, d.merchant_id, d.mode, d.endpoint_id, $3::text, $4::text, d.type, d.object_id, d.sequence, 'due', now()
	FROM unnest($1::text[], $2::text[]) AS n(id, fresh) JOIN delivery d ON d.id = n.id
	WHERE d.id = ANY($1::text[])
	ON CONFLICT (event_id, target) DO NOTHING RETURNING target, next_at
)
` + touch("i")

const alsoMost = 500 // deliveries in one statement

// guarding are the types of the events that go to earlier URLs.
var guarding = guardingTypes()

func guardingTypes() (types []string) {
	for _, e := range wire.EventTypes() {
		if wire.IsGuarding(e.Type) {
			types = append(types, e.Type)
		}
	}
	return types
}

func scanEndpoint(row pgx.CollectableRow) (e app.Endpoint, err error) {
	var disabled, failing *time.Time
	err = row.Scan(&e.ID, &e.MerchantID, &e.Mode, &e.URL, &e.Description, &e.Types, &e.Enabled, &e.DisabledReason, &disabled,
		&failing, &e.CreatedAt, &e.UpdatedAt, &e.Earlier)
	if disabled != nil {
		e.DisabledAt = *disabled
	}
	if failing != nil {
		e.FailingSince = *failing
	}
	return e, err
}

// Registered implements app.Registry.
func (s *Store) Registered(ctx context.Context, owners []tenant.Owner) (map[tenant.Owner][]app.Endpoint, error) {
	merchants, modes := make([]string, len(owners)), make([]string, len(owners))
	for i, o := range owners {
		merchants[i], modes[i] = o.MerchantID, string(o.Mode)
	}
	rows, err := s.db.Query(ctx, registeredSQL, merchants, modes)
	if err != nil {
		return nil, fmt.Errorf("read registered endpoints: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanEndpoint)
	if err != nil {
		return nil, fmt.Errorf("read registered endpoints: %w", err)
	}
	found := map[tenant.Owner][]app.Endpoint{}
	for _, e := range all {
		o := e.Owner()
		found[o] = append(found[o], e)
	}
	return found, nil
}

// Endpoints implements app.EndpointStore.
func (s *Store) Endpoints(ctx context.Context, o tenant.Owner, after string, limit int) ([]app.Endpoint, error) {
	rows, err := s.db.Query(ctx, endpointsSQL, o.MerchantID, o.Mode, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return pgx.CollectRows(rows, scanEndpoint)
}

// Endpoint implements app.EndpointStore.
func (s *Store) Endpoint(ctx context.Context, o tenant.Owner, id string) (app.Endpoint, error) {
	return readEndpoint(ctx, s.db, o, id)
}

func readEndpoint(ctx context.Context, q postgres.Querier, o tenant.Owner, id string) (app.Endpoint, error) {
	rows, err := q.Query(ctx, endpointSQL, o.MerchantID, o.Mode, id)
	if err != nil {
		return app.Endpoint{}, fmt.Errorf("read an endpoint: %w", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEndpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return app.Endpoint{}, app.ErrEndpointUnknown
	}
	return e, err
}

// AddEndpoint implements app.EndpointStore.
func (s *Store) AddEndpoint(ctx context.Context, e app.Endpoint, most int, k idempotency.Key, body []byte) (idempotency.Answer, error) {
	return s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		if _, err := tx.Exec(ctx, lockOwnersSQL, e.MerchantID, e.Mode); err != nil {
			return nil, fmt.Errorf("lock the merchant's endpoints: %w", err)
		}
		var have int
		if err := tx.QueryRow(ctx, countOwnedSQL, e.MerchantID, e.Mode).Scan(&have); err != nil {
			return nil, fmt.Errorf("count endpoints: %w", err)
		}
		if have >= most {
			return nil, app.ErrEndpointsFull
		}
		if _, err := tx.Exec(ctx, addEndpointSQL, e.ID, e.MerchantID, e.Mode, e.URL, e.Description, e.Types, e.Enabled, e.DisabledReason, e.CreatedAt); err != nil {
			return nil, fmt.Errorf("store the endpoint: %w", err)
		}
		if !e.Enabled {
			if err := hold(ctx, tx, e.ID, true); err != nil {
				return nil, err
			}
		}
		return body, nil
	})
}

// ChangeEndpoint implements app.EndpointStore.
func (s *Store) ChangeEndpoint(ctx context.Context, o tenant.Owner, id string, change func(app.Endpoint) app.Endpoint) (e app.Endpoint, err error) {
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockEndpointSQL, o.MerchantID, o.Mode, id); err != nil {
			return fmt.Errorf("lock the endpoint: %w", err)
		}
		old, err := readEndpoint(ctx, tx, o, id)
		if err != nil {
			return err
		}
		e = change(old)
		if e.URL != old.URL || !e.Enabled {
			if err := leaveURL(ctx, tx, o, id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, changeEndpointSQL, o.MerchantID, o.Mode, id, e.URL, e.Description, e.Types, e.Enabled); err != nil {
			return fmt.Errorf("change the endpoint: %w", err)
		}
		if err := hold(ctx, tx, id, !e.Enabled); err != nil {
			return err
		}
		e, err = readEndpoint(ctx, tx, o, id)
		return err
	})
	return e, err
}

// DeleteEndpoint implements app.EndpointStore.
func (s *Store) DeleteEndpoint(ctx context.Context, o tenant.Owner, id string) error {
	return postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockEndpointSQL, o.MerchantID, o.Mode, id); err != nil {
			return fmt.Errorf("lock the endpoint: %w", err)
		}
		if err := leaveURL(ctx, tx, o, id); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, deleteEndpointSQL, o.MerchantID, o.Mode, id)
		if err != nil {
			return fmt.Errorf("delete the endpoint: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return app.ErrEndpointUnknown
		}
		return hold(ctx, tx, id, true)
	})
}

// leaveURL notes the URL that an endpoint is about to leave. The events that warn of money and wait for the endpoint go
// there too, or a thief of a key would let them wait, and then move or delete the endpoint.
func leaveURL(ctx context.Context, tx pgx.Tx, o tenant.Owner, endpoint string) error {
	var url string
	err := tx.QueryRow(ctx, leaveURLSQL, o.MerchantID, o.Mode, endpoint, app.EarlierFor.Microseconds()).Scan(&url)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("note the earlier URL of the endpoint: %w", err)
	}
	if _, err := tx.Exec(ctx, fewURLsSQL, endpoint); err != nil {
		return fmt.Errorf("forget older URLs of the endpoint: %w", err)
	}
	rows, err := tx.Query(ctx, guardedSQL, endpoint, guarding)
	if err != nil {
		return fmt.Errorf("look for what waits for the endpoint: %w", err)
	}
	waiting, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for what waits for the endpoint: %w", err)
	}
	for some := range slices.Chunk(waiting, alsoMost) {
		fresh := make([]string, len(some))
		for n := range fresh {
			fresh[n] = id.Beside(id.Delivery, endpoint, time.Now())
		}
		if _, err := tx.Exec(ctx, alsoSQL, some, fresh, delivery.EarlierTargetOf(endpoint, url), url); err != nil {
			return fmt.Errorf("send what waits for the endpoint to its earlier URL: %w", err)
		}
	}
	return nil
}

func hold(ctx context.Context, tx pgx.Tx, target string, held bool) error {
	if _, err := tx.Exec(ctx, holdSQL, target, held); err != nil {
		return fmt.Errorf("block or release the lane: %w", err)
	}
	return nil
}

// once does what a request asks for and stores its answer, in one transaction, unless the request was answered before.
func (s *Store) once(ctx context.Context, k idempotency.Key, f func(tx pgx.Tx) (body []byte, err error)) (idempotency.Answer, error) {
	a, found, err := idempotency.Find(ctx, s.db, k)
	if err != nil || found {
		return a, err
	}
	const statusOK = 200
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		body, err := f(tx)
		if err != nil {
			return err
		}
		a = idempotency.Answer{Status: statusOK, Body: body}
		return idempotency.Put(ctx, tx, k, a)
	})
	if k.Sent() && idempotency.IsTaken(err) {
		return idempotency.Replay(ctx, s.db, k)
	}
	return a, err
}

const nextSequenceSQL = `UPDATE endpoint SET sequence = sequence + 1 WHERE merchant_id = $1 AND mode = $2 AND id = $3 RETURNING sequence`

// Test implements app.EndpointStore.
func (s *Store) Test(ctx context.Context, o tenant.Owner, id string, k idempotency.Key,
	make func(e app.Endpoint, sequence int64) (app.Arrival, []byte, error),
) (idempotency.Answer, error) {
	return s.once(ctx, k, func(tx pgx.Tx) ([]byte, error) {
		e, err := readEndpoint(ctx, tx, o, id)
		if err != nil {
			return nil, err
		}
		if !e.Enabled {
			return nil, app.ErrEndpointDisabled
		}
		var sequence int64
		if err := tx.QueryRow(ctx, nextSequenceSQL, o.MerchantID, o.Mode, id).Scan(&sequence); err != nil {
			return nil, fmt.Errorf("count the endpoint's events: %w", err)
		}
		arrival, body, err := make(e, sequence)
		if err != nil {
			return nil, err
		}
		if _, err := s.accept(ctx, tx, []app.Arrival{arrival}, delivery.Manual); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, unwaitSQL, arrival.Deliveries[0].ID); err != nil {
			return nil, fmt.Errorf("send the test at once: %w", err)
		}
		_, err = tx.Exec(ctx, probeSQL, id)
		if err != nil {
			err = fmt.Errorf("release the test delivery: %w", err)
		}
		return body, err
	})
}

// unwaitSQL lets a test go without waiting for an earlier one.
var unwaitSQL = `WITH u AS (UPDATE delivery SET waits = false, next_at = now() WHERE id = $1 AND waits RETURNING target, next_at) ` + touch("u")
