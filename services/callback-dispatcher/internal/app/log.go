package app

import (
	"context"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
)

// The refusals of webhook management.
var (
	ErrEndpointUnknown  = fault.New(fault.NotFound, "endpoint_not_found", "No such endpoint.")
	ErrDeliveryUnknown  = fault.New(fault.NotFound, "delivery_not_found", "No such delivery.")
	ErrReplayUnknown    = fault.New(fault.NotFound, "replay_not_found", "No such replay.")
	ErrDeadUnknown      = fault.New(fault.NotFound, "dead_message_not_found", "No such dead message.")
	ErrStillDead        = fault.New(fault.Conflict, "dead_message_refused", "The message is refused again. The list says why.")
	ErrEndpointsFull    = fault.New(fault.Conflict, "endpoint_limit", "A merchant may register %d endpoints in each mode.", EndpointsMax)
	ErrEndpointDisabled = fault.New(fault.Conflict, "endpoint_disabled", "The endpoint is disabled. Enable it first; what it missed is sent then.")
	ErrURLLeft          = fault.New(fault.Conflict, "endpoint_disabled", "The endpoint left this URL two days ago or more.")
	ErrSecretsFull      = fault.New(fault.Conflict, "rotation_limit",
		"%d secrets sign already. Wait until the oldest expires, or send revokePrevious: true, which ends them all.", SecretsMost)
	ErrReplaysFull = fault.New(fault.Conflict, "replay_limit", "A merchant may have %d replays at a time in each mode.", ReplaysMax)
)

// DeliveryFilter narrows a list of deliveries; empty fields do not. Before is the id that the list begins before.
type DeliveryFilter struct {
	ID, Before, EndpointID, EventID, ObjectID, Type, Status string
}

// DeliveryView is a delivery as its merchant sees it.
type DeliveryView struct {
	Owner                                        tenant.Owner // without a key
	ID, EventID, EndpointID, URL, Type, ObjectID string
	Sequence                                     int64
	Status                                       string // pending, retrying, held, delivered, exhausted
	Made                                         int
	NextAt, DoneAt                               *time.Time
	CreatedAt                                    time.Time
	Attempts                                     []AttemptView
}

// ExcerptPlace is where the sealed excerpt of an attempt at a delivery opens; it opens nowhere else.
func ExcerptPlace(deliveryID string) string { return "attempt-excerpt/" + deliveryID }

// AttemptView is one attempt as its merchant sees it, but for its excerpt, which is as it is kept (ExcerptPlace).
type AttemptView struct {
	Number                         int
	Trigger                        string
	At                             time.Time
	Class                          string
	Status                         int
	DNS, Connect, TLS, Wait, Total time.Duration
	Excerpt                        []byte
}

// EventFilter narrows a list of events. AfterTx and AfterID are where the page before ended.
type EventFilter struct {
	AfterTx uint64
	AfterID string
	Type    string
	From    time.Time
}

// EventView is an event with its place in the order of the list. Body never holds a settlementToken.
type EventView struct {
	ID   string
	Tx   uint64
	Body []byte
}

// Log is what a merchant may read of its events and deliveries, and may ask to be sent again.
type Log interface {
	// Deliveries lists the newest first, with their attempts.
	Deliveries(ctx context.Context, o tenant.Owner, f DeliveryFilter, limit int) ([]DeliveryView, error)
	// Events lists in the order in which events became visible: a reader that goes on from the last one misses none.
	Events(ctx context.Context, o tenant.Owner, f EventFilter, limit int) ([]EventView, error)
	// Retry makes a delivery due at once, with its schedule begun anew, and stores the answer that body makes.
	Retry(ctx context.Context, o tenant.Owner, id string, k idempotency.Key, body func(state string) ([]byte, error)) (idempotency.Answer, error)
}

// Act is what an operator had done again, and why.
type Act struct{ Operator, Act, Object, Reason string }

// Operated is what operators read of all merchants, and have sent or taken in again.
type Operated interface {
	// AllDeliveries lists the newest first, of the owner where one is named, without their attempts but the last.
	AllDeliveries(ctx context.Context, o tenant.Owner, f DeliveryFilter, limit int) ([]DeliveryView, error)
	// RetryAny is Retry for a delivery of any merchant.
	RetryAny(ctx context.Context, id string, by Act, k idempotency.Key, body func(state string) ([]byte, error)) (idempotency.Answer, error)
	// Graves lists dead messages before an id, the newest first, without their bodies.
	Graves(ctx context.Context, before int64, limit int) ([]DeadMessage, error)
	// Raise takes a dead message in by a function under its lock, and stores the answer. The message stays, with the new
	// reason, where the function refuses it for good.
	Raise(ctx context.Context, id int64, by Act, k idempotency.Key, take func(context.Context, DeadMessage) error, body func() ([]byte, error)) (idempotency.Answer, error)
}
