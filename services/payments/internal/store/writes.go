package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
)

// writes are what one change writes, or several of different payments. The rows that they add to the history, the
// ledger and the outbox are one statement each, after those that change rows: a change locks the payments first, and
// then their accounts by code.
type writes struct {
	batch    pgx.Batch
	history  history
	journals journals
	messages []outbox.Message // those of one payment in their order
}

// send sends everything in one round trip.
func (w *writes) send(ctx context.Context, tx pgx.Tx) error {
	w.history.queue(&w.batch)
	w.journals.queue(&w.batch)
	if len(w.messages) > 0 {
		sql, args := outbox.Statement(w.messages)
		w.batch.Queue(sql, args...)
	}
	if w.batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &w.batch).Close()
}

// insertHistory returns the microseconds since the previous change, 0 within one write.
const insertHistory = `INSERT INTO history AS h (payment_id, version, n, trigger, from_state, to_state, exception)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[])
RETURNING h.payment_id, h.n, CASE WHEN h.n > 1 THEN 0 ELSE
	coalesce(1000000 * extract(epoch FROM now() - (SELECT max(b.at) FROM history b WHERE b.payment_id = h.payment_id AND b.version < h.version)), 0) END::bigint`

// history are rows of the table history.
type history struct {
	ids, triggers, from, to, exceptions []string
	versions                            []int64
	places                              []int
	moves                               map[step]move
}

// step names a change of a payment within one write.
type step struct {
	id string
	n  int
}

// move is a change of state, for the metrics and logs that follow the commit.
type move struct {
	Move
	done *effects
}

func (h *history) add(next payment.Payment, n int, c payment.Change, done *effects) {
	h.ids, h.versions, h.places = append(h.ids, next.ID), append(h.versions, next.Version), append(h.places, n)
	h.triggers, h.exceptions = append(h.triggers, string(c.Trigger)), append(h.exceptions, string(c.Exception))
	h.from, h.to = append(h.from, string(c.From)), append(h.to, string(c.To))
	if c.From == c.To {
		return
	}
	if h.moves == nil {
		h.moves = map[step]move{}
	}
	h.moves[step{next.ID, n}] = move{Move{Mode: next.Mode, Type: next.Type, From: c.From, To: c.To}, done}
}

func (h *history) queue(batch *pgx.Batch) {
	if len(h.ids) == 0 {
		return
	}
	batch.Queue(insertHistory, h.ids, h.versions, h.places, h.triggers, h.from, h.to, h.exceptions).Query(func(rows pgx.Rows) error {
		var at step
		var microseconds int64
		_, err := pgx.ForEachRow(rows, []any{&at.id, &at.n, &microseconds}, func() error {
			if m, ok := h.moves[at]; ok {
				m.After = time.Duration(microseconds) * time.Microsecond
				m.done.moves = append(m.done.moves, m.Move)
			}
			return nil
		})
		return wrap(err, "write history")
	})
}

// accountPrefix begins the keys of test mode's journals and the codes of its accounts.
func accountPrefix(mode tenant.Mode) string {
	if mode == tenant.Test {
		return "test:"
	}
	return ""
}

// journals are rows of the ledger. Each journal is written once: a second one with the same key changes nothing.
// Accounts of test mode have a prefix.
type journals struct {
	keys, events, payments, of, codes, assets, sides, normals, owners, amounts []string
	lines                                                                      []int
}

func (w *journals) add(mode tenant.Mode, all ...ledger.Journal) {
	prefix := accountPrefix(mode)
	for _, j := range all {
		key := prefix + j.Key
		if slices.Contains(w.keys, key) {
			continue
		}
		w.keys, w.events, w.payments = append(w.keys, key), append(w.events, j.Event), append(w.payments, j.Payment)
		for i, e := range j.Entries {
			w.of, w.lines = append(w.of, key), append(w.lines, i+1)
			w.codes, w.assets, w.sides = append(w.codes, prefix+e.Account.Code), append(w.assets, e.Account.Asset), append(w.sides, string(e.Side))
			w.normals, w.owners, w.amounts = append(w.normals, string(e.Account.Normal)), append(w.owners, e.Account.Payment), append(w.amounts, e.Amount.String())
		}
	}
}

func (w *journals) queue(batch *pgx.Batch) {
	if len(w.keys) > 0 {
		batch.Queue(insertJournals, w.keys, w.events, w.payments, w.of, w.lines, w.codes, w.assets, w.sides, w.normals, w.owners, w.amounts)
	}
}

// queueJournals queues journals alone.
func queueJournals(batch *pgx.Batch, mode tenant.Mode, all ...ledger.Journal) {
	var w journals
	w.add(mode, all...)
	w.queue(batch)
}
