package bus

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
)

// sender is a publisher of a producer that signs packs, or not.
func sender(t *testing.T, packs bool) *Publisher {
	t.Helper()
	private, _ := keyPair("k1", orders, 1)
	signs, _, err := readKeys(Config{Key: private, SignPacks: packs}, orders, lines())
	if err != nil {
		t.Fatal(err)
	}
	return newPublisher(&Link{service: orders, lines: lines(), signer: signs, metrics: newMetrics(prometheus.NewRegistry())})
}

// several are so many messages of a producer.
func several(n int) []*message.Message {
	messages := make([]*message.Message, n)
	for i := range messages {
		messages[i] = message.NewMessage(fmt.Sprintf("m%d", i), fmt.Appendf(nil, `{"amount":%d}`, i))
	}
	return messages
}

// onWire is what the broker carries, as its consumer reads it.
func onWire(p *Publisher, messages []*message.Message) []Message {
	var out []Message
	for _, one := range p.publishings(wire.Route{Name: placed, Exchange: orders, Packed: true}, messages) {
		m := Message{ID: one.MessageId, Name: one.Type, Body: one.Body, Headers: map[string]string{}}
		for key, value := range one.Headers {
			m.Headers[key] = value.(string)
		}
		out = append(out, m)
	}
	return out
}

// sealed are the messages of a pack as a consumer receives them: n messages of a producer that signs packs, and what
// happens to the pack on its way.
func sealed(t *testing.T, n int, change func(*Message)) []Message {
	t.Helper()
	packs := onWire(sender(t, true), several(n))
	if len(packs) != 1 {
		t.Fatalf("%d messages became %d packs, want 1", n, len(packs))
	}
	if change != nil {
		change(&packs[0])
	}
	got, err := split(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// forwarded is a message that left its pack for a dead queue, and came back.
func forwarded(m Message, change func(fields []string)) Message {
	fields := strings.Split(m.seal.alone(m.place), ".")
	if change != nil {
		change(fields)
	}
	m.Headers = maps.Clone(m.Headers)
	m.Headers[signatureHeader] = strings.Join(fields, ".")
	m.seal, m.place, m.Returned = nil, 0, true
	return m
}

// The messages of a signed pack are authentic in it, and alone after a redrive, and nothing else is.
func TestSeal(t *testing.T) {
	_, public := keyPair("k1", orders, 1)
	_, other := keyPair("k1", orders, 2)
	const n = packMax
	private, _ := keyPair("k1", orders, 1)
	single := signedBy(t, private, "m1", `{"amount":1}`).Headers[signatureHeader]
	genuine := func() []Message { return sealed(t, n, nil) }
	all := func(f func(*Message)) []Message {
		messages := genuine()
		for i := range messages {
			f(&messages[i])
		}
		return messages
	}
	alone := func(change func(fields []string)) []Message {
		return all(func(m *Message) { *m = forwarded(*m, change) })
	}
	const version, key, at, signature, place, digests = 0, 1, 2, 3, 4, 5
	for name, c := range map[string]struct {
		public   string
		messages []Message
		fine     bool
	}{
		"in the pack":             {public, genuine(), true},
		"alone":                   {public, alone(nil), true},
		"with another key":        {other, genuine(), false},
		"alone, with another key": {other, alone(nil), false},
		"a pack with another time": {public, sealed(t, n, func(m *Message) {
			m.Headers[signatureHeader] = strings.Replace(m.Headers[signatureHeader], ".1", ".2", 1)
		}), false},
		"a pack with garbage":            {public, sealed(t, n, func(m *Message) { m.Headers[signatureHeader] = "2.k1.x.y" }), false},
		"a pack with a single signature": {public, sealed(t, n, func(m *Message) { m.Headers[signatureHeader] = single }), false},
		"a pack with another body":       {public, sealed(t, n, func(m *Message) { m.Body = []byte(strings.Replace(string(m.Body), `:3}`, `:9}`, 1)) }), false},
		"a pack with another id":         {public, sealed(t, n, func(m *Message) { m.Body = []byte(strings.Replace(string(m.Body), "m3", "m9", 1)) }), false},
		"a pack without signature":       {public, sealed(t, n, func(m *Message) { delete(m.Headers, signatureHeader) }), false},
		"alone, another body":            {public, all(func(m *Message) { *m = forwarded(*m, nil); m.Body = []byte(`{"amount":99}`) }), false},
		"alone, another id":              {public, all(func(m *Message) { *m = forwarded(*m, nil); m.ID = "m99" }), false},
		"alone, another place": {public, alone(func(f []string) {
			f[place] = map[bool]string{true: "1", false: "0"}[f[place] == "0"]
		}), false},
		"alone, a place out of bounds":   {public, alone(func(f []string) { f[place] = "50" }), false},
		"alone, a negative place":        {public, alone(func(f []string) { f[place] = "-1" }), false},
		"alone, no digests":              {public, alone(func(f []string) { f[digests] = "" }), false},
		"alone, one digest too many":     {public, alone(func(f []string) { f[digests] = f[digests] + strings.Repeat("A", 43) }), false},
		"alone, half of a digest":        {public, alone(func(f []string) { f[digests] = f[digests][:22] }), false},
		"alone, digests of another pack": {public, alone(func(f []string) { f[digests] = strings.Split(sealed(t, 3, nil)[0].seal.alone(0), ".")[digests] }), false},
		"alone, another time":            {public, alone(func(f []string) { f[at] = "1" }), false},
		"alone, another signature":       {public, alone(func(f []string) { f[signature] = strings.Repeat("A", 86) }), false},
		"alone, another version":         {public, alone(func(f []string) { f[version] = "3" }), false},
		"alone, an unknown key":          {public, alone(func(f []string) { f[key] = "k7" }), false},
	} {
		for _, required := range []bool{true, false} {
			l := keyed(t, required, c.public)
			for _, m := range c.messages {
				unknown := !required && strings.HasPrefix(name, "alone, an unknown key") || !required && name == "a pack without any signature"
				if err := l.authentic(queue, m); (err == nil) != (c.fine || unknown) || err != nil && !fault.IsPermanent(err) {
					t.Fatalf("%s, required %t: message %s: %v, want accepted %t", name, required, m.ID, err, c.fine)
				}
			}
		}
	}
	for name, m := range map[string]Message{"in a pack": genuine()[3], "alone": forwarded(genuine()[3], nil)} {
		if m.seal != nil {
			m.seal.name = "orders.cancelled.v1"
		}
		m.Name = "orders.cancelled.v1"
		if err := keyed(t, true, public).verifier.check(orders, m, time.Now()); !errors.Is(err, errForged) {
			t.Errorf("%s, under another name: %v, want a forgery", name, err)
		}
	}
}

// A publish that is tried again may join other messages. Each try signs anew, and a message of a sealed pack carries no
// signature of its own.
func TestSeal_anew(t *testing.T) {
	_, public := keyPair("k1", orders, 1)
	l, messages := keyed(t, true, public), several(3)
	for _, try := range []struct {
		packs bool
		n     int
		own   bool // signatures
	}{{false, 3, true}, {true, 3, false}, {true, 1, true}, {true, 2, false}, {false, 3, true}} {
		for _, m := range onWire(sender(t, try.packs), messages[:try.n]) {
			got, err := []Message{m}, error(nil)
			if m.Headers[packHeader] != "" {
				if got, err = split(m); err != nil {
					t.Fatal(err)
				}
				bare, _ := split(Message{Name: m.Name, Body: m.Body, Headers: map[string]string{packHeader: packVersion}})
				for _, one := range bare {
					if _, own := one.Headers[signatureHeader]; own != try.own {
						t.Errorf("%+v: a message of the pack has a signature of its own: %t", try, own)
					}
				}
			}
			for _, one := range got {
				if err := l.authentic(queue, one); err != nil {
					t.Errorf("%+v: message %s: %v, want accepted", try, one.ID, err)
				}
			}
		}
	}
}

// A pack is refused as a whole if one of its messages could not be moved to a dead queue alone. A message in the pack
// of an earlier release is verified by its own signature.
func TestSeal_bounds(t *testing.T) {
	private, public := keyPair("k1", orders, 1)
	many := several(packMax + 1)
	with := func(change func(m *message.Message)) []*message.Message {
		pair := several(2)
		change(pair[1])
		return pair
	}
	for name, c := range map[string]struct {
		version, header string
		messages        []*message.Message
		taken           bool
	}{
		"as many messages as fit":        {packSealed, "2.k1.1.x", many[:packMax], true},
		"too many messages":              {packSealed, "2.k1.1.x", many, false},
		"too many messages, signed each": {packVersion, "", many, false},
		"a long signature":               {packSealed, strings.Repeat("2", sealMost+1), many[:2], false},
		"a long id":                      {packVersion, "", with(func(m *message.Message) { m.UUID = strings.Repeat("x", textMost+1) }), false},
		"a long key":                     {packVersion, "", with(func(m *message.Message) { m.Metadata.Set(strings.Repeat("x", textMost+1), "") }), false},
		"long headers":                   {packVersion, "", with(func(m *message.Message) { m.Metadata.Set("x", strings.Repeat("x", headersMost)) }), false},
	} {
		got, err := split(Message{Name: string(placed), Body: join(c.messages), Headers: map[string]string{packHeader: c.version, signatureHeader: c.header}})
		if c.taken != (err == nil) || err == nil && len(got) != len(c.messages) {
			t.Errorf("%s: %d messages, %v, want taken %t", name, len(got), err, c.taken)
		}
	}
	m := signedBy(t, private, "m1", "{}")
	m.Headers[signatureHeader] = strings.Repeat(".", 1<<20)
	if err := keyed(t, false, public).authentic(queue, m); err == nil {
		t.Error("a signature of a megabyte was taken")
	}
	m.Headers = map[string]string{signatureHeader: "1.k1.1.x", wire.RowHeader: "7", "x-large": strings.Repeat("x", keptMost)}
	if headers := kept(m.Headers); len(headers) != 2 || headers[signatureHeader] != "1.k1.1.x" || headers[wire.RowHeader] != "7" {
		t.Errorf("a dead message with headers of %d bytes keeps %d of them", keptMost, len(headers))
	}
	s, err := readSigner(private.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	s.sign(string(placed), many[:2])
	got, err := split(Message{Name: string(placed), Body: join(many[:2]), Headers: map[string]string{packHeader: packVersion}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range got {
		if err := keyed(t, true, public).authentic(queue, m); err != nil {
			t.Errorf("message %s of a pack without a seal: %v, want accepted by its own signature", m.ID, err)
		}
	}
}

// The seal ages as a signature does.
func TestSeal_refusesWhatTheInboxHasForgotten(t *testing.T) {
	_, public := keyPair("k1", orders, 1)
	v, m := keyed(t, true, public).verifier, sealed(t, 2, nil)[0]
	late, copied := time.Now().Add(signatureAge+time.Minute), forwarded(m, nil)
	copied.Returned = false
	for name, one := range map[string]Message{"in its pack": m, "alone": copied} {
		if err := v.check(orders, one, late); err == nil || !strings.Contains(err.Error(), "13 days") {
			t.Errorf("late, %s: %v, want a refusal", name, err)
		}
	}
	if err := v.check(orders, forwarded(m, nil), late); err != nil {
		t.Errorf("put back: %v, want accepted", err)
	}
}

// A pack costs one signature and one check.
func BenchmarkSeal(b *testing.B) {
	private, public := keyPair("k1", orders, 1)
	s, v, err := readKeys(Config{Key: private, Trusted: []string{public}}, billing, lines())
	if err != nil {
		b.Fatal(err)
	}
	messages := make([]*message.Message, 20)
	for i := range messages {
		messages[i] = message.NewMessage("msg_06fv8m1jq5r7t2c9k3x4n8w1ya", make([]byte, 1000))
	}
	for b.Loop() {
		got, err := split(Message{Name: string(placed), Body: join(messages), Headers: map[string]string{packHeader: packSealed, signatureHeader: s.seal(string(placed), messages)}})
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range got {
			if err := v.check(orders, m, time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
