package bus

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
)

// keyPair returns a key as MESSAGE_KEY and as MESSAGE_PUBLIC_KEYS hold it.
func keyPair(id, producer string, fill byte) (private config.Secret, public string) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = fill
	}
	key := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return config.Secret(id + ":" + base64.StdEncoding.EncodeToString(seed)), producer + "/" + id + ":" + base64.StdEncoding.EncodeToString(key)
}

// keyed is a link of billing that trusts these keys.
func keyed(t *testing.T, required bool, public ...string) *Link {
	t.Helper()
	_, verifies, err := readKeys(Config{Trusted: public, Required: required}, billing, lines())
	if err != nil {
		t.Fatal(err)
	}
	return &Link{service: billing, lines: lines(), verifier: verifies, metrics: newMetrics(prometheus.NewRegistry())}
}

// signedBy is a message as a consumer receives it.
func signedBy(t *testing.T, private config.Secret, id, body string) Message {
	t.Helper()
	s, err := readSigner(private.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	m := message.NewMessage(id, []byte(body))
	s.sign(string(placed), []*message.Message{m})
	return Message{ID: id, Name: string(placed), Body: []byte(body), Headers: m.Metadata}
}

func TestAuthentic(t *testing.T) {
	first, firstPublic := keyPair("k1", orders, 1)
	second, secondPublic := keyPair("k2", orders, 2)
	others, othersPublic := keyPair("k1", "reports", 3)
	good := signedBy(t, first, "m1", `{"amount":1}`)
	change := func(f func(*Message)) Message {
		m := good
		m.Headers = maps.Clone(good.Headers)
		f(&m)
		return m
	}
	header := good.Headers[signatureHeader]
	for name, c := range map[string]struct {
		message  Message
		required bool
		fine     bool
	}{
		"signed":                             {good, true, true},
		"signed by the next key":             {signedBy(t, second, "m1", "{}"), true, true},
		"another payload":                    {change(func(m *Message) { m.Body = []byte(`{"amount":2}`) }), true, false},
		"another id":                         {change(func(m *Message) { m.ID = "m2" }), true, false},
		"another name":                       {change(func(m *Message) { m.Name = "orders.cancelled.v1" }), true, false},
		"another time":                       {change(func(m *Message) { m.Headers[signatureHeader] = strings.Replace(header, ".1", ".2", 1) }), true, false},
		"no signature":                       {change(func(m *Message) { delete(m.Headers, signatureHeader) }), true, false},
		"garbage":                            {change(func(m *Message) { m.Headers[signatureHeader] = "1.k1.x.y" }), true, false},
		"another producer's key":             {signedBy(t, others, "m1", "{}"), true, false},
		"not required, no signature":         {change(func(m *Message) { delete(m.Headers, signatureHeader) }), false, true},
		"not required, another payload":      {change(func(m *Message) { m.Body = []byte(`{"amount":2}`) }), false, false},
		"not required, garbage":              {change(func(m *Message) { m.Headers[signatureHeader] = "1.k1.x.y" }), false, false},
		"not required, other producer's key": {signedBy(t, others, "m1", "{}"), false, false},
	} {
		l := keyed(t, c.required, firstPublic, secondPublic, othersPublic)
		if err := l.authentic(queue, c.message); (err == nil) != c.fine || err != nil && !fault.IsPermanent(err) {
			t.Errorf("verify a message (%s): got %v, want accepted %t", name, err, c.fine)
		}
	}
}

// A key that is taken away ends what it signed; an unknown key counts as unsigned while signatures are not required.
func TestAuthentic_keyTakenAway(t *testing.T) {
	first, _ := keyPair("k1", orders, 1)
	_, secondPublic := keyPair("k2", orders, 2)
	m := signedBy(t, first, "m1", "{}")
	if err := keyed(t, true, secondPublic).authentic(queue, m); err == nil || !strings.Contains(err.Error(), `knows no key "k1" of orders`) {
		t.Errorf("required: %v", err)
	}
	l := keyed(t, false, secondPublic)
	if err := l.authentic(queue, m); err != nil || testutil.ToFloat64(l.metrics.unsigned.WithLabelValues(queue)) != 1 {
		t.Errorf("not required: %v", err)
	}
}

// The inbox forgets ids after fourteen days: a copy that arrives later is refused, unless an operator has put it back.
func TestCheck_refusesWhatTheInboxHasForgotten(t *testing.T) {
	private, public := keyPair("k1", orders, 1)
	m, v := signedBy(t, private, "m1", "{}"), keyed(t, true, public).verifier
	late := time.Now().Add(signatureAge + time.Minute)
	if err := v.check(orders, m, late.Add(-2*time.Minute)); err != nil {
		t.Errorf("in time: %v", err)
	}
	if err := v.check(orders, m, late); !errors.Is(err, errForged) || !strings.Contains(err.Error(), "13 days") {
		t.Errorf("late: %v", err)
	}
	m.Returned = true
	if err := v.check(orders, m, late); err != nil {
		t.Errorf("put back: %v", err)
	}
}

func TestReadKeys_refusals(t *testing.T) {
	private, public := keyPair("k1", orders, 1)
	for name, c := range map[string]struct {
		cfg     Config
		service string
		want    string
	}{
		"no id":                   {Config{Key: "c2VjcmV0"}, orders, "MESSAGE_KEY is not"},
		"short":                   {Config{Key: "k1:c2VjcmV0"}, orders, "MESSAGE_KEY is not"},
		"dot in the id":           {Config{Key: config.Secret(strings.Replace(private.Reveal(), "k1", "k.1", 1))}, orders, "MESSAGE_KEY is not"},
		"no producer":             {Config{Trusted: []string{strings.TrimPrefix(public, "orders/")}}, billing, "MESSAGE_PUBLIC_KEYS"},
		"required, does not sign": {Config{Required: true}, orders, "MESSAGE_KEY is missing"},
		"required, knows nobody":  {Config{Required: true}, billing, "no key of orders"},
	} {
		if _, _, err := readKeys(c.cfg, c.service, lines()); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("read keys (%s): got %v, want an error that names %s", name, err, c.want)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	private, _ := keyPair("k1", orders, 1)
	s, _ := readSigner(private.Reveal())
	m := []*message.Message{message.NewMessage("msg_06fv8m1jq5r7t2c9k3x4n8w1ya", make([]byte, 1000))}
	for b.Loop() {
		s.sign(string(placed), m)
	}
}

func BenchmarkVerify(b *testing.B) {
	private, public := keyPair("k1", orders, 1)
	s, v, err := readKeys(Config{Key: private, Trusted: []string{public}}, billing, lines())
	if err != nil {
		b.Fatal(err)
	}
	m := message.NewMessage("msg_06fv8m1jq5r7t2c9k3x4n8w1ya", make([]byte, 1000))
	s.sign(string(placed), []*message.Message{m})
	got := Message{ID: m.UUID, Name: string(placed), Body: m.Payload, Headers: m.Metadata}
	for b.Loop() {
		if err := v.check(orders, got, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
