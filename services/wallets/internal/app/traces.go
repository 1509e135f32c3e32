package app

import (
	"context"
	"fmt"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
)

// NoteTraces stores the traces of payments by address, so that the scanner continues them. Each address leaves a span
// in its trace; an invalid trace is omitted.
func (a *App) NoteTraces(ctx context.Context, used []wire.UsedAddress) error {
	if len(used) > wire.AddressesMax {
		return fault.Permanent(fmt.Errorf("%d used addresses in one message, of at most %d", len(used), wire.AddressesMax))
	}
	good := make([]wire.UsedAddress, 0, len(used))
	for _, u := range used {
		if telemetry.SpanContext(u.Trace).IsSampled() {
			good = append(good, u)
		}
	}
	if len(good) == 0 {
		return nil
	}
	if err := a.book.NoteTraces(ctx, good); err != nil {
		return err
	}
	for _, u := range good {
		_, span := telemetry.Continue(ctx, u.Trace, "address is a payment's")
		span.End()
	}
	return nil
}
