package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/payment"
)

// writes are what one change writes, or a pack of several of different payments. The rows that they add to the ledger
// and the outbox are one statement each, after those that change rows: a change locks the payments first, and then
// their accounts by code. Of what every payment writes a pack makes one statement, too.
type writes struct {
	pack                    bool
	batch                   pgx.Batch
	payments, usual, marks  group
	held, payouts, verdicts group
	journals                journals
	messages                []outbox.Message // those of one payment in their order
}

func newWrites(pack bool) *writes {
	return &writes{
		pack:     pack,
		payments: group{one: updatePayment, several: updatePayments, otherwise: errPaymentStale},
		usual:    group{one: usualPayment, several: usualPayments, otherwise: errPaymentStale},
		marks:    group{one: markDeposit, several: markDeposits, otherwise: errDepositStale},
		held:     group{one: insertPayout, several: insertPayouts, otherwise: errPayoutExists},
		payouts:  group{one: savePayoutNoted, several: savePayoutsNoted, otherwise: errPayoutStale},
		verdicts: group{one: insertScreening, several: insertScreenings, otherwise: errScreeningStale},
	}
}

// sender is a transaction, or a pool, on which everything is a transaction of its own.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// send sends everything in one round trip.
func (w *writes) send(ctx context.Context, on sender) error {
	all := &pgx.Batch{}
	w.payments.queue(all)
	w.usual.queue(all)
	w.marks.queue(all)
	all.QueuedQueries = append(all.QueuedQueries, w.batch.QueuedQueries...)
	w.held.queue(all)
	w.payouts.queue(all)
	w.verdicts.queue(all)
	w.journals.queue(all)
	if len(w.messages) > 0 {
		sql, args := outbox.Statement(w.messages)
		all.Queue(sql, args...)
	}
	if all.Len() == 0 {
		return nil
	}
	return on.SendBatch(ctx, all).Close()
}

// group is a statement that writes one row, whose arguments a pack gathers for a statement over lists of them. Where a
// row is read, that statement returns its place in the lists first.
type group struct {
	one, several string
	otherwise    error // when a row is not written
	rows         [][]any
	read         []func(pgx.Row) error
}

// add has a row written, and read called with what the statement returns, unless it is nil.
func (g *group) add(w *writes, args []any, read func(pgx.Row) error) {
	if w.pack {
		g.rows, g.read = append(g.rows, args), append(g.read, read)
		return
	}
	g.queueOne(&w.batch, args, read)
}

func (g *group) queueOne(batch *pgx.Batch, args []any, read func(pgx.Row) error) {
	if read == nil {
		batch.Queue(g.one, args...).Exec(exactlyOne(g.otherwise))
		return
	}
	batch.Queue(g.one, args...).QueryRow(func(row pgx.Row) error {
		err := read(row)
		if errors.Is(err, pgx.ErrNoRows) {
			return g.otherwise
		}
		return err
	})
}

func (g *group) queue(batch *pgx.Batch) {
	switch len(g.rows) {
	case 0:
		return
	case 1:
		g.queueOne(batch, g.rows[0], g.read[0])
		return
	}
	batch.Queue(g.several, lists(g.rows)...).Query(func(rows pgx.Rows) error {
		var place int
		into := make([]any, len(rows.FieldDescriptions()))
		into[0] = &place
		n := 0
		for ; rows.Next(); n++ {
			if g.read[0] == nil {
				continue
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if err := g.read[place-1](placed{rows, &place}); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if n != len(g.rows) {
			return g.otherwise
		}
		return nil
	})
}

// lists are the columns of rows, as arguments of a statement over lists. Decimals become texts, which PostgreSQL makes
// numbers of, and a list of texts becomes their lines.
func lists(rows [][]any) []any {
	args := make([]any, len(rows[0]))
	for i := range args {
		list := make([]any, len(rows))
		for n, row := range rows {
			switch v := row[i].(type) {
			case decimal.Decimal:
				list[n] = v.String()
			case []string:
				list[n] = strings.Join(v, "\n")
			default:
				list[n] = v
			}
		}
		args[i] = list
	}
	return args
}

// past is what one write adds to the changes of a payment.
type past struct {
	changes []string
	moves   []Move // for the metrics and logs that follow the commit
	first   bool   // the first change is the first move
}

func pastOf(next payment.Payment, facts []payment.Fact) past {
	p := past{changes: []string{}}
	for _, f := range facts {
		c, ok := f.(payment.Change)
		if !ok {
			continue
		}
		p.changes = append(p.changes, fmt.Sprintf("%d %d %s %s %s %s", next.Version, len(p.changes)+1, c.Trigger, c.From, c.To, c.Exception))
		if c.From != c.To {
			p.first = p.first || len(p.changes) == 1
			p.moves = append(p.moves, Move{Mode: next.Mode, Type: next.Type, From: c.From, To: c.To})
		}
	}
	return p
}

// written reads what updatePayment returns. The changes of one write come at one time.
func (p past) written(done *effects) func(pgx.Row) error {
	return func(row pgx.Row) error {
		var since int64
		if err := row.Scan(&since); err != nil {
			return err
		}
		if p.first {
			p.moves[0].After = microseconds(since)
		}
		done.moves = append(done.moves, p.moves...)
		return nil
	}
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
	keys, events, payments                      []string
	first, last                                 []int // places of a journal's entries in the lists of entries, from 1
	of, codes, assets, amounts, normals, owners []string
	lines                                       bool // the entries are to be rows
}

func (w *journals) add(mode tenant.Mode, all ...ledger.Journal) {
	prefix := accountPrefix(mode)
	for _, j := range all {
		key := prefix + j.Key
		if slices.Contains(w.keys, key) {
			continue
		}
		w.keys, w.events, w.payments = append(w.keys, key), append(w.events, j.Event), append(w.payments, j.Payment)
		w.first, w.last = append(w.first, len(w.of)+1), append(w.last, len(w.of)+len(j.Entries))
		for _, e := range j.Entries {
			amount := e.Amount
			if e.Side == ledger.Credit {
				amount = amount.Neg()
			}
			w.of, w.codes, w.assets = append(w.of, key), append(w.codes, prefix+e.Account.Code), append(w.assets, e.Account.Asset)
			w.amounts, w.normals, w.owners = append(w.amounts, amount.String()), append(w.normals, string(e.Account.Normal)), append(w.owners, e.Account.Payment)
			w.lines = w.lines || e.Account.Sought()
		}
	}
}

// queue writes all journals in one way, because one statement locks the accounts in their order.
func (w *journals) queue(batch *pgx.Batch) {
	switch {
	case len(w.keys) == 0:
	case w.lines:
		batch.Queue(insertJournalLines, w.keys, w.events, w.payments, w.of, w.codes, w.assets, w.amounts, w.normals, w.owners)
	default:
		batch.Queue(insertJournals, w.keys, w.events, w.payments, w.first, w.last, w.of, w.codes, w.assets, w.amounts, w.normals, w.owners)
	}
}

// queueJournals queues journals alone.
func queueJournals(batch *pgx.Batch, mode tenant.Mode, all ...ledger.Journal) {
	var w journals
	w.add(mode, all...)
	w.queue(batch)
}
