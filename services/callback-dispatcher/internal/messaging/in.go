// Package messaging turns broker messages into calls of package app. It checks what a message must be and decides
// nothing else.
package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// Parallel is how many messages of the broker are in the intake at a time, each with one event or a pack of them;
// they share its commits.
const Parallel = 64

const (
	bodyMax = 64 << 10
	textMax = 255

	reasonMax = 1000
	tokenMax  = 4 << 10
)

// Rules are what messages are read by.
type Rules struct {
	Policies map[tenant.Mode]guard.Policy // of callback URLs
	Bodies   Opener
}

// Opener opens bodies that were sealed by their producer, and gives back those in the clear (libs/wire, StatusChanged).
type Opener interface {
	Open(body []byte, place string) ([]byte, error)
}

// Accepter takes events in; it returns when they are durable, with an error for each, or nil when none has any.
type Accepter interface {
	Accept(ctx context.Context, events []app.Event) []error
}

// StatusChanged handles the three status messages that share the intake queue. A message that can
// never be taken in is kept with its reason, and acknowledged: the broker's dead queue gets only messages that crash a
// process again and again.
func StatusChanged(intake Accepter, graves app.Graveyard, rules Rules) func(context.Context, []bus.Message) []error {
	return func(ctx context.Context, pack []bus.Message) []error {
		errs := Take(ctx, intake, pack, rules)
		for n, err := range errs {
			if fault.IsPermanent(err) {
				errs[n] = bury(ctx, graves, pack[n], err)
			}
		}
		return errs
	}
}

func bury(ctx context.Context, graves app.Graveyard, m bus.Message, reason error) error {
	return graves.Bury(ctx, app.DeadMessage{
		MessageID: clean(m.ID, textMax), Name: clean(m.Name, textMax), Reason: clean(reason.Error(), reasonMax), Body: m.Body, Trace: traceOf(m),
	})
}

// Take reads messages and takes their events in. It answers as Accept does; a permanent fault says that a message can
// never be taken in as things are.
func Take(ctx context.Context, intake Accepter, pack []bus.Message, rules Rules) (errs []error) {
	events, places := make([]app.Event, 0, len(pack)), make([]int, 0, len(pack))
	fail := func(n int, err error) {
		if errs == nil {
			errs = make([]error, len(pack))
		}
		errs[n] = err
	}
	for n, m := range pack {
		e, err := read(m, rules)
		if err != nil {
			fail(n, fault.Permanent(fmt.Errorf("read %s: %w", m.Name, err)))
			continue
		}
		events, places = append(events, e), append(places, n)
	}
	if len(events) == 0 {
		return errs
	}
	for n, err := range intake.Accept(ctx, events) {
		fail(places[n], err)
	}
	return errs
}

func clean(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

func read(m bus.Message, rules Rules) (app.Event, error) {
	var p wire.StatusChanged
	if err := json.Unmarshal(m.Body, &p); err != nil {
		return app.Event{}, err
	}
	e := app.Event{
		ID: p.EventID, Type: p.Type, MerchantID: p.MerchantID, Mode: p.Mode, ObjectID: p.ObjectID, Sequence: p.Sequence,
		OccurredAt: p.OccurredAt, Trace: traceOf(m), Body: p.Body, Token: p.Token,
	}
	body, err := rules.Bodies.Open(p.Body, wire.BodyPlace(p.EventID))
	switch {
	case err != nil:
		return e, fmt.Errorf("open the body: %w", err)
	case !delivery.ValidID(p.EventID):
		return e, errors.New("the event id is not 1 to 64 visible ASCII characters without a dot")
	case p.Mode != tenant.Live && p.Mode != tenant.Test:
		return e, fmt.Errorf("unknown mode %q", p.Mode)
	case !wire.IsEventType(p.Type):
		return e, fmt.Errorf("event type %q is unknown", p.Type)
	case !wire.Name(m.Name).MayTell(p.Type, p.ObjectID):
		return e, fmt.Errorf("%s may not carry event %s of object %s", m.Name, p.Type, clean(p.ObjectID, textMax))
	case !plain(p.MerchantID) || !plain(p.ObjectID):
		return e, errors.New("merchant or object id is empty, too long or no text")
	case p.Sequence < 1:
		return e, fmt.Errorf("sequence %d is below 1", p.Sequence)
	case p.OccurredAt.IsZero():
		return e, errors.New("the time of occurrence is missing")
	case len(body) == 0 || len(body) > bodyMax:
		return e, fmt.Errorf("the body has %d bytes", len(body))
	case !json.Valid(body):
		return e, errors.New("the body is not JSON")
	case len(p.Token) > tokenMax || len(p.Token) > 0 && !bytes.Contains(body, []byte(wire.TokenMask)):
		return e, errors.New("the settlement token has no place in the body, or is too long")
	}
	if p.CallbackURL == "" {
		return e, nil
	}
	// Live mode refused bad URLs at create already. One that is refused only now, because the allow-list has changed,
	// is kept as it is: the socket refuses it, and the merchant sees the failed delivery.
	e.CallbackURL = clip(p.CallbackURL)
	if u, err := guard.Normalize(p.Mode, p.CallbackURL, rules.Policies[p.Mode]); err == nil {
		e.CallbackURL = u.String()
	}
	return e, nil
}

// traceOf keeps the W3C trace parent alone; the broker's other headers are not ours to store.
func traceOf(m bus.Message) string {
	if t := m.Headers[telemetry.TraceHeader]; len(t) <= 64 && plain(t) {
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
