package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/telemetry"
	"causeway.internal/services/payments/internal/payment"
)

// Move is a committed change of a payment's state, for metrics.
type Move struct {
	Mode     payment.Mode
	Type     payment.Type
	From, To payment.State // From is "none" for a create
	After    time.Duration // spent in From; 0 for a create
}

// OnMove sets what is called after the commit of every change of state; set it before the store is used.
func (s *Store) OnMove(f func(Move)) { s.moved = f }

// tell counts and logs a change of state that is committed. about carries the payment's ids. A create is told at the level
// debug alone: there are more of them than of all other changes, and a line costs one a fiftieth of its time.
func (s *Store) tell(about context.Context, m Move) {
	s.moved(m)
	level := slog.LevelInfo
	if m.From == payment.StateNone {
		level = slog.LevelDebug
	}
	s.log.Log(about, level, "payment moved", "mode", m.Mode, "type", m.Type, "from", m.From, "to", m.To, "seconds", telemetry.Seconds(m.After))
}

// about is ctx for log lines and messages about a payment.
func about(ctx context.Context, p payment.Payment) context.Context {
	return telemetry.With(ctx, telemetry.PaymentID, p.ID, telemetry.MerchantID, p.MerchantID)
}

// continued is about within the trace in which the payment was created: whatever finds a payment later, a transfer, a timer,
// an operator, the payment's whole life is one trace.
func continued(ctx context.Context, p payment.Payment) (context.Context, trace.Span) {
	ctx, span := telemetry.Continue(ctx, p.Trace, "payment update", trace.WithAttributes(attribute.String("payment.id", p.ID)))
	return about(ctx, p), span
}

// Unknown says how many payouts of a mode are of unknown outcome.
type Unknown struct {
	Mode    payment.Mode
	Payouts int
	Oldest  time.Duration // since the oldest of them was first sent
	Open    int           // payouts under way, of any state
	Waits   time.Duration // since the oldest of those was entered
	Frozen  int           // of them, those whose rail's answer does not match ours
	Stuck   int           // of them, other ones that a person has to conclude
}

// Unknowns counts the payouts of unknown outcome, for every mode that has payouts under way. It reads what is under way only.
func (s *Store) Unknowns(ctx context.Context) ([]Unknown, error) {
	rows, err := s.pool.Query(ctx, selectUnknowns)
	if err != nil {
		return nil, fmt.Errorf("count unknown payouts: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (u Unknown, err error) {
		var mode string
		var oldest, waits int64
		err = row.Scan(&mode, &u.Payouts, &oldest, &u.Open, &waits, &u.Frozen, &u.Stuck)
		u.Mode, u.Oldest, u.Waits = payment.Mode(mode), time.Duration(oldest)*time.Microsecond, time.Duration(waits)*time.Microsecond
		return u, err
	})
}

// CountedMost is how many payments of one status, type and mode Open counts at most.
const CountedMost = 20_000

// Open is how many payments are in a status that they will leave.
type Open struct {
	Status   payment.Status
	Type     payment.Type
	Mode     payment.Mode
	Payments int // CountedMost stands for as many or more
}

// Open counts the payments that are under way, for every status, type and mode, none included.
func (s *Store) Open(ctx context.Context) ([]Open, error) {
	under := []payment.Status{
		payment.StatusCreated, payment.StatusPending, payment.StatusConfirming, payment.StatusConfirmed, payment.StatusSettling, payment.StatusNeedsReview,
	}
	rows, err := s.pool.Query(ctx, countOpen, statusNames(under), typeNames(""), CountedMost)
	if err != nil {
		return nil, fmt.Errorf("count open payments: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Open])
}

// movedBy queues a history row and notes the move for after the commit.
func movedBy(batch *pgx.Batch, next payment.Payment, n int, c payment.Change, done *effects) {
	batch.Queue(insertHistory, next.ID, next.Version, n, string(c.Trigger), string(c.From), string(c.To), string(c.Exception)).QueryRow(func(row pgx.Row) error {
		var microseconds int64
		if err := row.Scan(&microseconds); err != nil {
			return fmt.Errorf("write history: %w", err)
		}
		if c.From != c.To {
			done.moves = append(done.moves, Move{next.Mode, next.Type, c.From, c.To, time.Duration(microseconds) * time.Microsecond})
		}
		return nil
	})
}
