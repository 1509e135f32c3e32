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
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
)

// Move is a committed change of a payment's state, for metrics.
type Move struct {
	Mode     tenant.Mode
	Type     payment.Type
	From, To payment.State // From is "none" for a create
	After    time.Duration // spent in From; 0 for a create
}

// tell counts and logs a committed change of state. about carries the payment's ids. A create is logged at level debug,
// because creates outnumber all other changes and a line costs one a fiftieth of its time.
func (s *Store) tell(about context.Context, m Move) {
	s.Moved(m)
	level := slog.LevelInfo
	if m.From == payment.StateNone {
		level = slog.LevelDebug
	}
	s.Log.Log(about, level, "payment moved", "mode", m.Mode, "type", m.Type, "from", m.From, "to", m.To, "seconds", telemetry.Seconds(m.After))
}

// about adds a payment's ids to ctx, for log lines and messages.
func about(ctx context.Context, p payment.Payment) context.Context {
	return telemetry.With(ctx, telemetry.PaymentID, p.ID, telemetry.MerchantID, p.MerchantID)
}

// continued is about within the trace of the payment's create, so that later changes by transfers, timers and operators
// belong to the same trace.
func continued(ctx context.Context, p payment.Payment) (context.Context, trace.Span) {
	ctx, span := telemetry.Continue(ctx, p.Trace, "payment update", trace.WithAttributes(attribute.String("payment.id", p.ID)))
	return about(ctx, p), span
}

// Unknown counts the payouts of a mode whose outcome is unknown.
type Unknown struct {
	Mode    tenant.Mode
	Payouts int
	Oldest  time.Duration // since the oldest of them was first sent
	Open    int           // open payouts of any state
	Waits   time.Duration // since the oldest open payout was created
	Frozen  int           // open payouts whose rail's answer does not match
	Stuck   int           // other open payouts that an operator has to conclude
}

// Unknowns counts the payouts of unknown outcome, for every mode that has open payouts. It reads open payouts only.
func (s *Store) Unknowns(ctx context.Context) ([]Unknown, error) {
	rows, err := s.pool.Query(ctx, selectUnknowns)
	if err != nil {
		return nil, fmt.Errorf("count unknown payouts: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (u Unknown, err error) {
		var mode string
		var oldest, waits int64
		err = row.Scan(&mode, &u.Payouts, &oldest, &u.Open, &waits, &u.Frozen, &u.Stuck)
		u.Mode, u.Oldest, u.Waits = tenant.Mode(mode), time.Duration(oldest)*time.Microsecond, time.Duration(waits)*time.Microsecond
		return u, err
	})
}

// CountedMost is how many payments of one status, type and mode Open counts at most.
const CountedMost = 20_000

// Open counts the payments in a status that they will leave.
type Open struct {
	Status   payment.Status
	Type     payment.Type
	Mode     tenant.Mode
	Payments int // CountedMost means as many or more
}

// Open counts the open payments for every status, type and mode, also where there are none.
func (s *Store) Open(ctx context.Context) (open []Open, err error) {
	under := []payment.Status{
		payment.StatusCreated, payment.StatusPending, payment.StatusConfirming, payment.StatusConfirmed, payment.StatusSettling, payment.StatusNeedsReview,
	}
	batch := &pgx.Batch{}
	batch.Queue(noWholeTable)
	batch.Queue(countOpen, statusNames(under), typeNames("", payment.StoredTypes()), CountedMost).Query(func(rows pgx.Rows) error {
		open, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Open])
		return err
	})
	return open, wrap(s.pool.SendBatch(ctx, batch).Close(), "count open payments")
}
