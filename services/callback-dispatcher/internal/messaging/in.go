// Package messaging turns broker messages into calls of package app. It checks what a message must be and decides
// nothing else.
package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Parallel is how many messages are in the intake at a time; they share its commits.
const Parallel = 64

const (
	bodyMax = 64 << 10
	textMax = 255
)

// Accepter takes events in; it returns when they are durable.
type Accepter interface {
	Accept(ctx context.Context, e app.Event) error
}

// StatusChanged handles the three status messages that share the intake queue.
func StatusChanged(intake Accepter, policies map[wire.Mode]guard.Policy) func(context.Context, bus.Message) error {
	return func(ctx context.Context, m bus.Message) error {
		e, err := read(m, policies)
		if err != nil {
			return fault.Permanent(fmt.Errorf("read %s: %w", m.Name, err))
		}
		return intake.Accept(ctx, e)
	}
}

func read(m bus.Message, policies map[wire.Mode]guard.Policy) (app.Event, error) {
	var p wire.StatusChanged
	if err := json.Unmarshal(m.Body, &p); err != nil {
		return app.Event{}, err
	}
	e := app.Event{
		ID: p.EventID, Type: p.Type, MerchantID: p.MerchantID, Mode: string(p.Mode), ObjectID: p.ObjectID, Sequence: p.Sequence,
		OccurredAt: p.OccurredAt, Trace: traceOf(m), Body: p.Body,
	}
	switch {
	case !delivery.ValidID(p.EventID):
		return e, errors.New("the event id is not 1 to 64 visible ASCII characters without a dot")
	case p.Mode != wire.Live && p.Mode != wire.Test:
		return e, fmt.Errorf("mode %q", p.Mode)
	case !wire.IsEventType(p.Type):
		return e, fmt.Errorf("event type %q is unknown", p.Type)
	case !plain(p.MerchantID) || !plain(p.ObjectID):
		return e, errors.New("merchant or object id is empty, too long or no text")
	case p.Sequence < 1:
		return e, fmt.Errorf("sequence %d", p.Sequence)
	case p.OccurredAt.IsZero():
		return e, errors.New("no time of occurrence")
	case len(p.Body) == 0 || len(p.Body) > bodyMax:
		return e, fmt.Errorf("a body of %d bytes", len(p.Body))
	}
	if p.CallbackURL == "" {
		return e, nil
	}
	// Live mode refused bad URLs at create already. One that is refused only now, because the allow-list has changed,
	// is kept as it is: the socket refuses it, and the merchant sees the failed delivery.
	e.CallbackURL = clip(p.CallbackURL)
	if u, err := guard.Normalize(p.Mode, p.CallbackURL, policies[p.Mode]); err == nil {
		e.CallbackURL = u.String()
	}
	return e, nil
}

// traceOf keeps the W3C trace parent alone; the broker's other headers are not ours to store.
func traceOf(m bus.Message) string {
	if t := m.Headers["traceparent"]; len(t) <= 64 && plain(t) {
		return t
	}
	return ""
}

func plain(s string) bool {
	return s != "" && len(s) <= textMax && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

func clip(url string) string {
	url = strings.ReplaceAll(strings.ToValidUTF8(url, ""), "\x00", "")
	return url[:min(len(url), 3*guard.MaxURL)]
}
