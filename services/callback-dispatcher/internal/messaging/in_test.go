package messaging

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

type intake struct {
	got []app.Event
	err error
}

func (i *intake) Accept(_ context.Context, events []app.Event) []error {
	i.got = append(i.got, events...)
	if i.err == nil {
		return nil
	}
	return slices.Repeat([]error{i.err}, len(events))
}

// graves remembers what was buried.
type graves struct {
	got  []app.DeadMessage
	fail error
}

func (g *graves) Bury(_ context.Context, m app.DeadMessage) error {
	g.got = append(g.got, m)
	return g.fail
}

// eventKeys open the bodies of sealed events.
var eventKeys, _ = keyring.ParseOptional("p1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))

// A sealed body is kept as it came. One that does not open, or that holds no JSON, is buried as it came.
func TestStatusChanged_sealed(t *testing.T) {
	i, g := &intake{}, &graves{}
	m := good()
	plain := m.Body
	m.Body = eventKeys.Seal(plain, wire.BodyPlace(m.EventID))
	if err := handleWith(t, i, g, m, nil); err != nil || len(i.got) != 1 || !bytes.Equal(i.got[0].Body, m.Body) || bytes.Contains(i.got[0].Body, plain) {
		t.Fatalf("take a sealed event in: got %+v, %v, want it once, as it came", i.got, err)
	}
	other, err := keyring.ParseOptional("p2:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"of another event": eventKeys.Seal(plain, wire.BodyPlace("evt_2")), "under an unknown key": other.Seal(plain, wire.BodyPlace(m.EventID)),
		"no JSON": eventKeys.Seal([]byte("{"), wire.BodyPlace(m.EventID)), "a token without a place": m.Body,
	} {
		bad := m
		if bad.Body = body; name == "a token without a place" {
			bad.Token = []byte("x")
		}
		before := len(g.got)
		if err := handleWith(t, i, g, bad, nil); err != nil || len(i.got) != 1 || len(g.got) != before+1 {
			t.Errorf("%s: %d taken, %d buried, %v", name, len(i.got), len(g.got), err)
		}
	}
}

func good() wire.StatusChanged {
	return wire.StatusChanged{
		EventID: "evt_1", Type: "payment.settled", MerchantID: "m", Mode: tenant.Live, ObjectID: "pay_1", Sequence: 3,
		CallbackURL: "HTTPS://Example.COM.:443/hook", OccurredAt: time.Now(), Body: []byte(`{"id":"evt_1"}`),
	}
}

func handle(t *testing.T, i *intake, body any, headers map[string]string) error {
	t.Helper()
	return handleWith(t, i, &graves{}, body, headers)
}

func handleWith(t *testing.T, i *intake, g *graves, body any, headers map[string]string) error {
	t.Helper()
	raw, ok := body.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	policies := map[tenant.Mode]guard.Policy{tenant.Test: {Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	return errors.Join(StatusChanged(i, g, Rules{policies, eventKeys})(t.Context(), []bus.Message{
		{ID: "evt_1", Name: string(wire.PaymentStatusChangedV1), Body: raw, Headers: headers},
	})...)
}

func TestStatusChanged_passesOnWhatItMeans(t *testing.T) {
	i := &intake{}
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if err := handle(t, i, good(), map[string]string{"traceparent": trace, "other": "x"}); err != nil {
		t.Fatal(err)
	}
	e := i.got[0]
	if e.CallbackURL != "https://example.com/hook" || e.Trace != trace || string(e.Body) != `{"id":"evt_1"}` || e.Mode != "live" || e.Sequence != 3 {
		t.Fatalf("got %+v", e)
	}
	without := good()
	without.CallbackURL = ""
	refused := good()
	refused.CallbackURL = "https://10.0.0.1/x" // accepted at create under another allow-list: the socket will say no
	for _, m := range []wire.StatusChanged{without, refused} {
		if err := handle(t, i, m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if i.got[1].CallbackURL != "" || i.got[2].CallbackURL != "https://10.0.0.1/x" {
		t.Fatalf("got %+v", i.got[1:])
	}
}

func TestStatusChanged_poisonIsBuried(t *testing.T) {
	bad := func(f func(m *wire.StatusChanged)) wire.StatusChanged {
		m := good()
		f(&m)
		return m
	}
	for name, m := range map[string]any{
		"no JSON":         []byte(`{`),
		"wrong type":      []byte(`{"eventId":7}`),
		"no id":           bad(func(m *wire.StatusChanged) { m.EventID = "" }),
		"dotted id":       bad(func(m *wire.StatusChanged) { m.EventID = "a.b" }),
		"unknown type":    bad(func(m *wire.StatusChanged) { m.Type = "payment.lost" }),
		"mode":            bad(func(m *wire.StatusChanged) { m.Mode = "both" }),
		"no merchant":     bad(func(m *wire.StatusChanged) { m.MerchantID = "" }),
		"NUL in merchant": bad(func(m *wire.StatusChanged) { m.MerchantID = "a\x00" }),
		"no object":       bad(func(m *wire.StatusChanged) { m.ObjectID = "" }),
		"long object":     bad(func(m *wire.StatusChanged) { m.ObjectID = strings.Repeat("x", 256) }),
		"sequence":        bad(func(m *wire.StatusChanged) { m.Sequence = 0 }),
		"no time":         bad(func(m *wire.StatusChanged) { m.OccurredAt = time.Time{} }),
		"no body":         bad(func(m *wire.StatusChanged) { m.Body = nil }),
		"large body":      bad(func(m *wire.StatusChanged) { m.Body = make([]byte, bodyMax+1) }),
		"body no JSON":    bad(func(m *wire.StatusChanged) { m.Body = []byte("{") }),
		"token misplaced": bad(func(m *wire.StatusChanged) { m.Token = []byte("sealed") }),
	} {
		i, g := &intake{}, &graves{}
		if err := handleWith(t, i, g, m, nil); err != nil || len(i.got) != 0 || len(g.got) != 1 || g.got[0].Reason == "" || len(g.got[0].Body) == 0 {
			t.Errorf("%s: %v, buried %+v", name, err, g.got)
		}
		g.fail = errors.New("database is away")
		if err := handleWith(t, i, g, m, nil); err == nil || fault.IsPermanent(err) { // the message waits
			t.Errorf("%s, while the database is away: %v", name, err)
		}
	}
	i := &intake{err: errors.New("database is away")}
	if err := handle(t, i, good(), nil); err == nil || fault.IsPermanent(err) {
		t.Errorf("an outage: %v", err)
	}
}

// The poison of a pack is buried alone, and each error belongs to its message.
func TestStatusChanged_packs(t *testing.T) {
	pack := make([]bus.Message, 4)
	for n := range pack {
		m := good()
		m.EventID = fmt.Sprint("evt_", n)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		pack[n] = bus.Message{ID: m.EventID, Name: string(wire.PaymentStatusChangedV1), Body: raw}
	}
	pack[1].Body = []byte("{")
	i, g := &intake{}, &graves{}
	if err := errors.Join(StatusChanged(i, g, Rules{nil, eventKeys})(t.Context(), pack)...); err != nil || len(i.got) != 3 || len(g.got) != 1 || g.got[0].MessageID != "evt_1" {
		t.Errorf("%v, %d taken in, buried %+v", err, len(i.got), g.got)
	}
	i.err, g.fail = errors.New("database is away"), errors.New("no grave")
	for n, err := range StatusChanged(i, g, Rules{nil, eventKeys})(t.Context(), pack) {
		if want := map[bool]error{true: g.fail, false: i.err}[n == 1]; !errors.Is(err, want) {
			t.Errorf("message %d: %v", n, err)
		}
	}
}
