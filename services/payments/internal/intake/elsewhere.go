package intake

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
)

// errElsewhere is the answer that is stored under a key of a create that another shard makes. A gateway that does not
// know yet of the move gives it to its caller.
var errElsewhere = fault.New(fault.Unavailable, "payment_elsewhere",
	"New payments of this merchant are made in another part of the system. Try again with the same Idempotency-Key.").After(time.Second)

// The answer that lets the other shard go on, and the stored one of a key that was given away: no other 503 is stored.
const (
	statusGiven = 204
	statusMoved = 503
)

// Elsewhere answers for a create that another shard makes, because the merchant's new payments moved there. It returns
// the stored answer of the key, and the refusal of a merchant's reference that a payment here has. Otherwise it gives
// key and reference away, so that no create here can use them any more, and returns 204: the other shard decides. A
// create here that still runs has the key first, or fails on it (docs/decisions/0025-shards.md).
func (a *Intake) Elsewhere(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key) (idempotency.Answer, error) {
	given, moved := idempotency.Answer{Status: statusGiven}, a.Access.Refusal(ctx, errElsewhere)
	moved.Status = statusMoved
	earlier, found, err := a.Access.Replay(ctx, k)
	if err != nil || found {
		return orGiven(earlier, given), err
	}
	err = a.Store.GiveAway(ctx, o, reference, k, moved)
	if errors.Is(err, idempotency.ErrTaken) {
		earlier, err = a.Access.Settled(ctx, k)
		return orGiven(earlier, given), err
	}
	return given, err
}

// orGiven is an earlier answer, unless it is that of a key that was given away.
func orGiven(earlier, given idempotency.Answer) idempotency.Answer {
	if earlier.Status == statusMoved {
		return given
	}
	return earlier
}
