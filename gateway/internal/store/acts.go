package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/audit"
)

const actColumns = `SELECT id, at, actor, act, object, request_id, host(client_ip), detail FROM audit
WHERE at >= $1 AND at < $2 AND (at, id) < ($3, $4) AND ($5 = '' OR act = $5)`

// A filter by actor or object has its own statement, so that each uses its index.
const (
	actsSQL         = actColumns + ` ORDER BY at DESC, id DESC LIMIT $6`
	actsByActorSQL  = actColumns + ` AND actor = $7 AND ($8 = '' OR object = $8) ORDER BY at DESC, id DESC LIMIT $6`
	actsOfObjectSQL = actColumns + ` AND object = $7 ORDER BY at DESC, id DESC LIMIT $6`

	appendActsSQL = `INSERT INTO audit (at, actor, act, object, request_id, detail)
SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[])`
)

// Acts lists the audit's records, newest first, and whether there are more.
func (s *Store) Acts(ctx context.Context, f audit.Filter) (acts []audit.Record, more bool, err error) {
	if f.To.IsZero() {
		f.To = time.Now().AddDate(100, 0, 0)
	}
	if f.Before.IsZero() {
		f.Before = f.To
	}
	statement, args := actsSQL, []any{f.From, f.To, f.Before, f.BeforeID, f.Act, f.Limit + 1}
	switch {
	case f.Actor != "":
		statement, args = actsByActorSQL, append(args, f.Actor, f.Object)
	case f.Object != "":
		statement, args = actsOfObjectSQL, append(args, f.Object)
	}
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, false, fmt.Errorf("list the audit: %w", err)
	}
	acts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r audit.Record, err error) {
		var ip *string
		var detail []byte
		if err := row.Scan(&r.ID, &r.At, &r.Actor, &r.Act, &r.Object, &r.RequestID, &ip, &detail); err != nil {
			return r, err
		}
		if ip != nil {
			r.ClientIP = *ip
		}
		return r, json.Unmarshal(detail, &r.Detail)
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the audit: %w", err)
	}
	if len(acts) > f.Limit {
		return acts[:f.Limit], true, nil
	}
	return acts, false, nil
}

// Append implements audit.Writer: many acts in one statement.
func (s *Store) Append(ctx context.Context, acts []audit.Record) error {
	at, actor, act := make([]time.Time, len(acts)), make([]string, len(acts)), make([]string, len(acts))
	object, request, detail := make([]string, len(acts)), make([]string, len(acts)), make([]string, len(acts))
	for i, r := range acts {
		r.Add(r.Detail)
		text, err := json.Marshal(r.Detail)
		if err != nil {
			return fmt.Errorf("encode the audit entry: %w", err)
		}
		at[i], actor[i], act[i], object[i], request[i], detail[i] = r.At, r.Actor, string(r.Act), r.Object, r.RequestID, string(text)
	}
	if _, err := s.pool.Exec(ctx, appendActsSQL, at, actor, act, object, request, detail); err != nil {
		return fmt.Errorf("append %d acts to the audit: %w", len(acts), err)
	}
	return nil
}
