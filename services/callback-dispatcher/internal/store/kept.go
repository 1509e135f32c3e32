package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// keptSQL reads events in the order in which they were taken in.
	keptSQL = `SELECT id, type, merchant_id, mode, object_id, sequence, occurred_at, body FROM event
WHERE (id = $1 OR $1 = '' AND occurred_at >= $2 AND occurred_at < $3) AND starts_with(type, $4) ORDER BY tx, id`

	// patientSQL lets it read a whole month, which no request does.
	patientSQL = `SET LOCAL statement_timeout = '30min'`
)

// KeptFilter is one event, or those of a time.
type KeptFilter struct {
	ID       string
	From, To time.Time
	Type     string // how types begin
}

// KeptEvent is a stored event without its body.
type KeptEvent struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	MerchantID string    `json:"merchantId"`
	Mode       string    `json:"mode"`
	ObjectID   string    `json:"objectId"`
	Sequence   int64     `json:"sequence"`
	OccurredAt time.Time `json:"occurredAt"`
}

// Kept gives an operator's command each stored event with its body as it is stored.
func (s *Store) Kept(ctx context.Context, f KeptFilter, each func(e KeptEvent, body []byte) error) error {
	err := pgx.BeginTxFunc(ctx, s.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patientSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, keptSQL, f.ID, f.From, f.To, f.Type)
		if err != nil {
			return err
		}
		var e KeptEvent
		var body []byte
		_, err = pgx.ForEachRow(rows, []any{&e.ID, &e.Type, &e.MerchantID, &e.Mode, &e.ObjectID, &e.Sequence, &e.OccurredAt, &body}, func() error {
			return each(e, body)
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}
