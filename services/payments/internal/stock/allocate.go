package stock

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
)

// Most bounds the stock of one family in one mode.
const Most = 200_000

// answerSoon is how long after a request its answer is looked for at every look. It usually comes within a second; one
// that waits for an operator to import addresses may take days.
const answerSoon = 10 * time.Second

// askAgain is how long an unanswered request for addresses waits before it is repeated under its own id.
const askAgain = 30 * time.Second

// countPause is the pause before the next count of a shelf, for each free address. A count reads all of them, and they
// last that long at up to 4 000 payments a second.
const countPause = 250 * time.Microsecond

// Shelf is the addresses of one family in one mode.
type Shelf struct {
	Mode   tenant.Mode
	Family money.Family
}

// Level is the number of addresses on a shelf, and their use.
type Level struct {
	Shelf
	Free int // not leased
	Peak int // most leased in one minute of the last hour
	Hour int // leased in the last hour
	Open *Request
}

// Target is the number of free addresses that a shelf should have.
func (l Level) Target(least int) int { return min(max(least, l.Peak*10), Most) }

// Request is a request that wallets has not answered in full.
type Request struct {
	ID    string
	Count int
	Stale bool // wallets has not answered in time
}

// Shelves is the table of addresses, as the replenisher sees it.
type Shelves interface {
	// Levels counts the given shelves. A request older than stale is stale.
	Levels(ctx context.Context, of []Shelf, stale time.Duration) ([]Level, error)
	// Request stores a request and sends its command in one transaction; it does nothing while a request is open.
	// Repeat sends an open request again.
	Request(ctx context.Context, mode tenant.Mode, family money.Family, count int, c change.Command) error
	Repeat(ctx context.Context, mode tenant.Mode, family money.Family, c change.Command) error
}

// Replenisher keeps the stock of addresses full (docs/architecture.md#addresses). It runs on one replica at a time.
type Replenisher struct {
	shelves Shelves
	wanted  []Shelf
	least   int
	now     func() time.Time
	gauge   func(mode tenant.Mode, family money.Family, free int)
	primed  map[Shelf]bool
	next    map[Shelf]time.Time // not before this is it counted
	asked   map[Shelf]time.Time // when it got a request that wallets had not answered when it was counted
}

// NewReplenisher makes a replenisher for the given families of each open mode. least is the smallest target; gauge gets
// each level.
func NewReplenisher(s Shelves, wanted map[tenant.Mode][]money.Family, least int, now func() time.Time, gauge func(tenant.Mode, money.Family, int)) *Replenisher {
	r := &Replenisher{
		shelves: s, least: least, now: now, gauge: gauge,
		primed: map[Shelf]bool{}, next: map[Shelf]time.Time{}, asked: map[Shelf]time.Time{},
	}
	for mode, families := range wanted {
		for _, f := range families {
			r.wanted = append(r.wanted, Shelf{mode, f})
		}
	}
	return r
}

// Look asks wallets for addresses where the stock is at or below half of its target; the first call asks wherever it is
// below the target. It does not count a shelf again before its addresses can be used up.
func (r *Replenisher) Look(ctx context.Context) error {
	now := r.now()
	var due []Shelf
	for _, k := range r.wanted {
		if !now.Before(r.next[k]) {
			due = append(due, k)
		}
	}
	if len(due) == 0 {
		return nil
	}
	levels, err := r.shelves.Levels(ctx, due, askAgain)
	if err != nil {
		return err
	}
	known := map[Shelf]Level{}
	for _, l := range levels {
		known[l.Shelf] = l
	}
	for _, k := range due {
		l := known[k]
		r.gauge(k.Mode, k.Family, l.Free)
		asked, err := r.ask(ctx, k, l, l.Target(r.least))
		if err != nil {
			return fmt.Errorf("ask for %s %s addresses: %w", k.Mode, k.Family, err)
		}
		if asked {
			r.asked[k] = now
		} else if l.Open == nil {
			delete(r.asked, k)
		}
		r.next[k] = now.Add(time.Duration(l.Free) * countPause)
	}
	return nil
}

// Awaits reports whether wallets is about to answer a request. The next look is due soon then: until a shelf is
// counted, nobody sees that it is full.
func (r *Replenisher) Awaits() bool {
	for _, at := range r.asked {
		if r.now().Sub(at) < answerSoon {
			return true
		}
	}
	return false
}

// ask sends or repeats a request where the level is low, and reports whether it sent one. Each request begins a trace,
// in which wallets answers.
func (r *Replenisher) ask(ctx context.Context, k Shelf, l Level, target int) (asked bool, err error) {
	repeats := l.Open != nil && l.Open.Stale
	asks := l.Open == nil && (l.Free <= target/2 || (l.Free < target && !r.primed[k]))
	if !repeats && !asks {
		return false, nil
	}
	ctx, span := otel.Tracer("causeway.internal/services/payments").Start(ctx, "ask for addresses",
		trace.WithAttributes(attribute.String("mode", string(k.Mode)), attribute.String("family", string(k.Family))))
	defer span.End()
	if repeats {
		return false, r.shelves.Repeat(ctx, k.Mode, k.Family, r.command(k, l.Open.ID, l.Open.Count))
	}
	r.primed[k] = true
	count := min(target-l.Free, wire.AllocateMax)
	return true, r.shelves.Request(ctx, k.Mode, k.Family, count, r.command(k, id.New(id.Message, r.now()), count))
}

// command carries the request's id in its payload; the message has an id of its own, because a repeated request must
// not look like a duplicate message.
func (r *Replenisher) command(k Shelf, requestID string, count int) change.Command {
	return change.Command{
		Name: wire.AllocateAddressesV1, ID: id.New(id.Message, r.now()),
		Payload: wire.AllocateAddresses{RequestID: requestID, Mode: k.Mode, Family: k.Family, Count: count},
	}
}
