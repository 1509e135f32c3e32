package bus

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"
)

func packOf(p *Publisher, messages ...*message.Message) []Message {
	var out []Message
	for _, one := range p.pack("orders.placed.v1", messages) {
		headers := make(map[string]string, len(one.Headers))
		for key, value := range one.Headers {
			headers[key] = value.(string)
		}
		out = append(out, Message{ID: one.MessageId, Name: one.Type, Body: one.Body, Headers: headers})
	}
	return out
}

// Unpacking returns every packed message once and in order.
func TestPack_losesNothing(t *testing.T) {
	p := newPublisher(&Link{service: "orders"})
	rapid.Check(t, func(t *rapid.T) {
		var sent []*message.Message
		var want []Message
		large := strings.Repeat("x", packBytes/7)
		for n := range rapid.IntRange(1, 3*packMax).Draw(t, "messages") {
			body := []byte(rapid.SampledFrom([]string{"", "{}", "a body", large}).Draw(t, "body"))
			headers := rapid.SampledFrom([]map[string]string{{}, {"a": "1"}, {"a": "", "traceparent": "00"}}).Draw(t, "headers")
			m := message.NewMessage(strconv.Itoa(n), body)
			m.Metadata = headers
			sent = append(sent, m)
			want = append(want, Message{ID: strconv.Itoa(n), Name: "orders.placed.v1", Body: body, Headers: headers})
		}
		var got []Message
		for _, one := range packOf(p, sent...) {
			if one.Headers[packHeader] == "" {
				got = append(got, one)
				continue
			}
			parts, err := split(one)
			if err != nil || len(parts) < 2 || len(parts) > packMax || len(one.Body) > 2*packBytes {
				t.Fatalf("a pack of %d messages and %d bytes: %v", len(parts), len(one.Body), err)
			}
			got = append(got, parts...)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%d messages became %d, or others", len(want), len(got))
		}
	})
}

// A message without company is what it always was, so that a consumer of the version before reads it.
func TestPack_aloneIsNoPack(t *testing.T) {
	p := newPublisher(&Link{service: "orders"})
	for _, body := range []string{"{}", strings.Repeat("x", 2*packBytes)} {
		got := packOf(p, message.NewMessage("1", []byte(body)))
		if len(got) != 1 || got[0].ID != "1" || string(got[0].Body) != body || len(got[0].Headers) != 0 {
			t.Errorf("pack one message of %d bytes: got %.80v, want it alone and unchanged", len(body), got)
		}
	}
}

func TestSplit_neverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pack := Message{Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"), Headers: map[string]string{packHeader: packVersion}}
		if messages, err := split(pack); err != nil && !errors.Is(err, errPack) || err == nil && len(messages) == 0 {
			t.Fatalf("%d messages, %v", len(messages), err)
		}
	})
	if _, err := split(Message{Body: []byte("{}"), Headers: map[string]string{packHeader: "3"}}); !errors.Is(err, errPack) {
		t.Errorf("a pack of a later version: %v", err)
	}
}
