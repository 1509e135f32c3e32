package app

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// DeadMessage is a message that can never be taken in, with the reason.
type DeadMessage struct {
	ID        int64     `json:"id"`
	At        time.Time `json:"at"`
	MessageID string    `json:"messageId"`
	Name      string    `json:"name"`
	Reason    string    `json:"reason"`
	Body      []byte    `json:"-"`
	Trace     string    `json:"-"`
}

// Graveyard keeps such messages until an operator has them taken in again.
type Graveyard interface {
	Bury(ctx context.Context, m DeadMessage) error
}

// Direct takes events in one by one, without lanes: the sender finds them in the table. It serves the replay command.
type Direct struct {
	Store    Inbound
	Registry Registry
	Now      func() time.Time
}

// Accept implements messaging.Accepter.
func (d Direct) Accept(ctx context.Context, events []Event) []error {
	errs := make([]error, len(events))
	for n, e := range events {
		errs[n] = d.accept(ctx, e)
	}
	return errs
}

func (d Direct) accept(ctx context.Context, e Event) error {
	owner := e.Owner()
	found, err := d.Registry.Registered(ctx, []tenant.Owner{owner})
	if err != nil {
		return err
	}
	a := arrivalOf(e, found[owner], d.Now())
	clear(a.Leased) // this process sends nothing
	_, err = d.Store.Accept(ctx, []Arrival{a})
	if err != nil && d.Store.Poison(err) {
		return fault.Permanent(err)
	}
	return err
}
